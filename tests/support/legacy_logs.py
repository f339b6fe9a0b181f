"""Logs in the old record formats: those that Apache Kafka 2.8 wrote, and what its own tool says of them."""

import re
from pathlib import Path

from odradek.protocol.records.record import Record
from odradek.storage.files import FileSystem

DATA = Path(__file__).parent.parent / "data" / "legacy"
NAMES = tuple(sorted(path.name for path in DATA.iterdir() if path.is_dir()))
FILES = ("00000000000000000000.log", "00000000000000000000.index", "00000000000000000000.timeindex")
INDEX_INTERVAL = 100
"""`index.interval.bytes` of the broker that wrote them."""
_RECORD = re.compile(
    r"^[|] offset: (?P<offset>\d+) (?=.*?(?:CreateTime|LogAppendTime|NoTimestampType): (?P<timestamp>-?\d+))"
    r"(?=.*?keySize: (?P<key_size>-?\d+))(?=.*?valueSize: (?P<value_size>-?\d+))"
    r".*?(?: key: (?P<key>.*?))?(?: payload: (?P<value>.*))?$"
)
"""A line about a record; the order of its fields is not the same in all versions of the tool."""


def read_file(name: str, file: str = FILES[0]) -> bytes:
    """Return the bytes of a file of one of the logs."""
    return (DATA / name / file).read_bytes()


def put(fs: FileSystem, directory: str, name: str) -> None:
    """Copy the files of a log into a partition directory, which is made."""
    fs.mkdir(directory)
    for file in FILES:
        fs.open(f"{directory}/{file}", create=True).write(read_file(name, file))


def dumped_records(name: str) -> list[Record]:
    """Return the records that Kafka 2.8's DumpLogSegments has printed of one of the logs."""
    return records_of_dump((DATA / name / "dump.txt").read_text())


def records_of_dump(dump: str) -> list[Record]:
    """Return the records that DumpLogSegments has printed, all of which are of versions 0 and 1."""
    records = []
    for line in dump.splitlines():
        found = _RECORD.match(line)
        if found is None:
            continue
        key = None if found["key_size"] == "-1" else (found["key"] or "").encode()
        value = None if found["value_size"] == "-1" else (found["value"] or "").encode()
        records.append(Record(int(found["offset"]), int(found["timestamp"]), key, value))
    return records
