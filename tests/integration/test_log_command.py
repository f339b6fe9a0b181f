"""`odradek log` on directories that a broker wrote: as they are, while it runs, and after something damaged them."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from confluent_kafka import Consumer, TopicPartition

from odradek.cli.app import run
from odradek.protocol.records.building import build_batch
from odradek.protocol.records.record import Record
from odradek.storage.files import PosixFiles
from tests.conftest import BrokerFactory
from tests.integration.clients import Codec, Confluent, FromOffset, ProduceSettings, Sent
from tests.support.broker import REPOSITORY, OdradekProcess
from tests.support.documents import check_documents
from tests.support.lookup_example import SOUGHT, make_example
from tests.support.small_batches import produce_in_small_batches

TOPIC = "lines"
RECORDS = [
    Sent(b"k%d" % number, b"line %d " % number * 9, (("h", b"x"),), 1_700_000_000_000 + number) for number in range(900)
]
CODECS = (Codec.NONE, Codec.ZSTD, Codec.LZ4)


class Done(NamedTuple):
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Command:
    """Runs `odradek log ...` in this process; JSON that it prints is held to its description."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: object) -> Done:
        self._capsys.readouterr()
        given = ["log", *map(str, arguments)]
        code = run(given)
        done = Done(code, *self._capsys.readouterr())
        if "--json" in given and done.out:
            check_documents(given, done.out)
        return done


@pytest.fixture
def log(capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(capsys)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The log directory of a broker that was stopped in order; not to be changed."""
    broker = OdradekProcess(tmp_path_factory.mktemp("written"), {"log.index.interval.bytes": "200"})
    try:
        broker.start()
        Confluent(broker.bootstrap).create_topic(TOPIC)
        for codec in CODECS:
            produce_in_small_batches(broker.bootstrap, TOPIC, RECORDS, codec, idempotent=codec is Codec.ZSTD)
        _commit(broker, 42)
        assert broker.stop() == 0
        yield broker.data
    finally:
        broker.discard()


def _commit(broker: OdradekProcess, offset: int) -> None:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "readers"})
    try:
        consumer.commit(offsets=[TopicPartition(TOPIC, 0, offset)], asynchronous=False)
    finally:
        consumer.close()


@pytest.fixture
def data(written: Path, tmp_path: Path) -> Path:
    """A copy of that directory, to be damaged."""
    return Path(shutil.copytree(written, tmp_path / "data"))


def _segment(data: Path, suffix: str = ".log") -> Path:
    return data / f"{TOPIC}-0" / f"{0:020d}{suffix}"


def test_verify_finds_nothing_wrong(log: Command, written: Path) -> None:
    """What a broker left when it was stopped is right, record by record."""
    done = log("verify", written, "--deep")
    assert (done.code, done.err) == (0, "")
    assert done.out.endswith("nothing is wrong\n")
    report = log("verify", written, "--json").json
    assert (report["ok"], report["clean_shutdown"], report["findings"]) == (True, True, [])
    [lines] = [each for each in report["partitions"] if each["directory"].endswith(f"/{TOPIC}-0")]
    assert (lines["start_offset"], lines["end_offset"]) == (0, len(RECORDS) * len(CODECS))


def test_dump_shows_the_records_that_were_sent(log: Command, written: Path) -> None:
    """Every record comes out of the document, in order, whatever its compression."""
    done = log("dump", _segment(written), "--print-data", "--json")
    assert done.code == 0
    [file] = done.json["files"]
    records = [record for batch in file["batches"] for record in batch["records"]]
    assert [record["offset"] for record in records] == list(range(len(records)))
    assert [record["value"].encode() for record in records] == [sent.value for sent in RECORDS] * len(CODECS)
    assert {batch["codec"] for batch in file["batches"]} == {"none", "zstd", "lz4"}
    assert all(batch["is_valid"] for batch in file["batches"])
    assert file["end"] == {"position": file["size"], "left": 0, "status": "end", "reason": ""}


def test_dump_decodes_metadata_and_offsets(log: Command, written: Path) -> None:
    """The topic is in the cluster's metadata, the committed offset in `__consumer_offsets`."""
    metadata = log("dump", "--print-data", *written.glob("__cluster_metadata-0/*.log"))
    assert f'"type":"TOPIC_RECORD","version":0,"data":{{"name":"{TOPIC}"' in metadata.out
    files = [path for path in written.glob("__consumer_offsets-*/*.log") if path.stat().st_size]
    [file] = log("dump", "--print-data", "--json", *files).json["files"]
    keyed = [record for batch in file["batches"] for record in batch["records"]]
    committed = [each["value"]["data"]["offset"] for each in keyed if each["key"]["type"] == "1"]
    assert committed == [42]


def test_dump_takes_every_file_of_the_directory(log: Command, written: Path) -> None:
    """Nothing that a broker keeps is unknown to it, as lines and as one document."""
    files = [path for path in sorted(written.rglob("*")) if path.is_file() and path.name != ".lock"]
    done = log("dump", *files)
    assert (done.code, done.err) == (0, "")
    assert done.out.count("Dumping ") == len(files)
    assert [file["path"] for file in log("dump", "--json", *files).json["files"]] == list(map(str, files))


def test_a_flipped_byte_is_named(log: Command, data: Path) -> None:
    """One changed bit in a record: the exit code is 1, and file, byte and offset of its batch are told."""
    path = _segment(data)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    done = log("verify", data, "--json")
    [found] = done.json["findings"]
    assert (done.code, done.json["ok"], found["path"], found["severity"]) == (1, False, str(path), "error")
    batches = log("dump", path, "--json").json["files"][0]["batches"]
    [damaged] = [batch for batch in batches if not batch["is_valid"]]
    assert (found["position"], found["offset"]) == (damaged["position"], damaged["base_offset"])
    assert f"error: {path}, byte {found['position']} (offset {found['offset']}): " in log("verify", data).out


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
@pytest.mark.parametrize("damage", ["flip", "cut", "zero", "garbage", "remove"])
def test_a_damaged_index_is_named_and_repaired(log: Command, data: Path, suffix: str, damage: str) -> None:
    """Whatever happened to an index, its file is named; --repair makes it anew, and then nothing is wrong."""
    path = _segment(data, suffix)
    content = path.read_bytes()
    half = len(content) // 2
    path.write_bytes(
        {
            "flip": content[:half] + bytes([content[half] ^ 0x10]) + content[half + 1 :],
            "cut": content[:-5],
            "zero": bytes(len(content) - 16) + content[-16:],
            "garbage": content + os.urandom(400),
            "remove": b"",
        }[damage]
    )
    if damage == "remove":
        path.unlink()
    others = {each: each.read_bytes() for each in data.rglob("*") if each.is_file() and each != path}
    done = log("verify", data, "--json")
    assert done.code == 1
    assert {found["path"] for found in done.json["findings"]} == {str(path)}
    repaired = log("verify", data, "--repair", "--index-interval-bytes", 200, "--json")
    assert (repaired.code, repaired.json["rebuilt"], repaired.json["findings"]) == (0, [str(path)], [])
    assert {each: each.read_bytes() for each in others} == others
    assert path.read_bytes() == content


def test_while_the_broker_runs(log: Command, new_broker: BrokerFactory) -> None:
    """Everything can be looked at while it is written to; a repair is refused, with the process in the way."""
    broker = new_broker()
    broker.start()
    Confluent(broker.bootstrap).produce(TOPIC, 0, RECORDS, ProduceSettings())
    partition = broker.data / f"{TOPIC}-0"
    checked = log("verify", broker.data, "--json")
    assert (checked.code, checked.json["broker_running"]) == (0, True)
    assert log("stat", broker.data, "--json").code == 0
    assert log("explain", partition, "--offset", 77, "--json").json["record"]["offset"] == 77
    assert log("dump", *partition.glob("*"), "--json").code == 0
    refused = log("verify", broker.data, "--repair")
    assert (refused.code, refused.out) == (1, "")
    assert f"process {broker.pid} " in refused.err
    assert len(refused.err.splitlines()) == 1


def test_a_directory_after_kill_9(log: Command, new_broker: BrokerFactory) -> None:
    """What a killed broker leaves is no error, but the last batch cut off by the test is told as what will go."""
    broker = new_broker()
    broker.start()
    Confluent(broker.bootstrap).produce(TOPIC, 0, RECORDS, ProduceSettings())
    broker.kill()
    assert log("verify", broker.data).code == 0
    path = _segment(broker.data)
    path.write_bytes(path.read_bytes()[:-7])
    done = log("verify", broker.data, "--json")
    [found] = [each for each in done.json["findings"] if each["path"] == str(path)]
    assert (done.code, done.json["clean_shutdown"], found["severity"]) == (0, False, "note")
    assert "the next start of a broker cuts it off" in found["reason"]


def test_explain_finds_what_was_sent(log: Command, written: Path) -> None:
    """By offset and by time, in a log with several compressions."""
    for offset in (0, 450, 899, 900, 2_699):
        told = log("explain", written / f"{TOPIC}-0", "--offset", offset, "--json").json
        assert told["record"]["value"].encode() == RECORDS[offset % 900].value
        assert told["bytes_read"] < 10_000
    told = log("explain", written / f"{TOPIC}-0", "--timestamp", 1_700_000_000_345, "--json").json
    assert told["record"]["offset"] == 345
    missing = log("explain", written / f"{TOPIC}-0", "--offset", 2_700)
    assert (missing.code, "the log ends before it" in missing.out) == (1, True)


def test_explain_tells_the_worked_example(log: Command, tmp_path: Path) -> None:
    """The numbers of the articles, in files: offset 368776 by the entry 3,497 of the segment 368769."""
    done = log("explain", make_example(tmp_path), "--offset", SOUGHT)
    assert done.code == 0
    assert "-> entry 3,497: the batch that ends at offset 368769 + 3 = 368772 begins at byte 497" in done.out


def test_stat_adds_up(log: Command, written: Path) -> None:
    """The sizes of a log directory and of a partition are those of their files."""
    sizes = {path: path.stat().st_size for path in written.rglob("*") if path.is_file()}
    whole = log("stat", written, "--json").json
    assert whole["size"] == sum(size for path, size in sizes.items() if path.parent != written)
    one = log("stat", written / f"{TOPIC}-0", "--json").json
    assert (one["size"], one["records"]) == (sizes[_segment(written)], len(RECORDS) * len(CODECS))
    assert one["segments"][0]["compression_ratio"] > 2
    assert "█" in log("stat", written).out
    assert f"{0:020d} 100% █" in log("stat", written / f"{TOPIC}-0").out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["dump", "nowhere/00000000000000000000.log"], "No such file or directory"),
        (["dump", "setup.cfg"], "Kafka has no file of such a name"),
        (
            ["dump", "a/00000000000000000000.log"],
            "none of Kafka's files is in this directory; give that of a partition",
        ),
        (["verify", "nowhere"], "No such file or directory"),
        (["verify", "setup.cfg"], "Not a directory"),
        (["verify", "a"], "neither a log directory nor the directory of a partition"),
        (["stat", "nowhere"], "No such file or directory"),
        (["explain", "a", "--offset", "1"], "there is no segment"),
        (["explain", "a"], "give either --offset or --timestamp"),
        (["explain", "a", "--offset", "1", "--timestamp", "1"], "give either --offset or --timestamp"),
    ],
)
def test_errors_are_one_sentence(
    log: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], sentence: str
) -> None:
    """What cannot be done is said in a line on standard error, without a traceback."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a" / "00000000000000000000.log").mkdir(parents=True) if "dump" in arguments else (
        tmp_path / "a"
    ).mkdir()
    (tmp_path / "setup.cfg").write_text("")
    done = log(*arguments)
    assert done.code in (1, 2)
    assert sentence in done.err
    assert len(done.err.splitlines()) == 1
    if arguments[0] == "dump":
        assert log(*arguments, "--json").json["files"][0]["error"]


def _start(*arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "odradek", "log", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def _big_segment(directory: Path, megabytes: int) -> Path:
    path = directory / f"big-{megabytes}" / f"{0:020d}.log"
    path.parent.mkdir()
    batch = bytes(build_batch([Record(0, 1, None, b"x" * 900)]))
    path.write_bytes(batch * (megabytes * 1024))
    return path


def test_ctrl_c_ends_a_dump_quietly(tmp_path: Path) -> None:
    """A dump that is interrupted ends with 130 and says nothing."""
    process = _start("dump", _big_segment(tmp_path, 8))
    assert process.stdout is not None
    assert process.stdout.readline().startswith("Dumping ")  # and from here on it waits for who reads
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (130, "")


@pytest.mark.parametrize("command", ["dump", "explain", "stat", "verify"])
def test_a_reader_that_goes_away_is_no_error(tmp_path: Path, command: str) -> None:
    """As with `| head`: when nobody reads any more, the command ends quietly."""
    path = _big_segment(tmp_path, 2)
    process = _start(command, path if command == "dump" else path.parent, *(["--offset=0"] * (command == "explain")))
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    with process.stderr:
        assert process.stderr.read() == ""
    assert process.wait(60) in (0, 1)  # 1 is what verify finds: there are no indexes


def test_progress_is_for_the_terminal_and_lines_are_for_the_file(tmp_path: Path) -> None:
    """With the errors on a terminal and the output in a file, each gets its own."""
    master, slave = os.openpty()
    command = [sys.executable, "-m", "odradek", "log", "dump", str(_big_segment(tmp_path, 2))]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "TERM": "xterm"}
    with (tmp_path / "out").open("wb") as out, os.fdopen(master, "rb", buffering=0) as terminal:
        process = subprocess.Popen(command, stdout=out, stderr=slave, env=environment)
        os.close(slave)
        shown = b""
        with contextlib.suppress(OSError):  # the end of a terminal is an error
            while piece := terminal.read(1 << 16):
                shown += piece
        assert process.wait(60) == 0
    assert b"MiB" in shown
    assert b"baseOffset" not in shown
    assert (tmp_path / "out").read_bytes().count(b"baseOffset: ") == 2048


def _peak_memory(*arguments: object) -> int:
    process = _start(*arguments)
    assert process.stdout is not None
    for _ in process.stdout:
        pass
    assert process.stderr is not None
    process.stderr.close()
    process.stdout.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_maxrss * 1024


@pytest.mark.parametrize("command", ["dump", "verify"])
def test_memory_does_not_grow_with_the_file(tmp_path: Path, command: str) -> None:
    """A file sixteen times as large takes no more memory."""
    paths = [_big_segment(tmp_path, megabytes) for megabytes in (1, 16)]
    small, large = (_peak_memory(command, path if command == "dump" else path.parent) for path in paths)
    assert large < small + (6 << 20)


def test_a_broker_starts_on_repaired_indexes(log: Command, data: Path, new_broker: BrokerFactory) -> None:
    """After a repair a broker serves every record of the log."""
    path = _segment(data, ".index")
    path.write_bytes(os.urandom(64))
    assert log("verify", data, "--repair").code == 0
    assert PosixFiles().size(str(path)) != 64
    broker = new_broker(directory=data.parent)
    broker.start()
    read = Confluent(broker.bootstrap).read(TOPIC, 0, FromOffset(1000), 1700)
    assert [item.record.value for item in read] == [RECORDS[number % 900].value for number in range(1000, 2700)]
