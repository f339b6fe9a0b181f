"""A log directory with something of everything, as the log engine leaves it: for tests of those who look into files.

Several segments with indexes, an idempotent producer, an aborted transaction, two leader epochs, producer snapshots,
checkpoints, the identity of the directory and the marker of a clean stop.
"""

from uuid import UUID

from odradek.protocol.records.building import BatchFields
from odradek.protocol.records.control import EndTransactionMarker, build_end_transaction_batch
from odradek.storage.checkpoints.checkpoint_file import write_offset_checkpoint
from odradek.storage.directories.clean_shutdown import write_clean_shutdown
from odradek.storage.directories.meta_properties import MetaProperties, write_meta_properties
from odradek.storage.files import FileSystem
from odradek.storage.log.log import Log
from odradek.storage.names import HIGH_WATERMARK_FILE, LOG_SUFFIX, RECOVERY_POINT_FILE, file_name
from tests.support.logs import NOW_MS, PARTITION, a_batch, open_at

DATA = "/data"
SPOOL = "/data/spool-0"
_TRANSACTIONAL = 7
_IDEMPOTENT = 9


def make_log_directory(fs: FileSystem, data: str = DATA) -> Log:
    """Write the directory, and return the log that was in it, closed."""
    fs.mkdir(data)
    directory = f"{data}/{PARTITION}"
    log = open_at(fs, directory=directory)
    log.producers.verify_transactions = False
    sequence = 0
    for number in range(40):
        epoch = 0 if number < 20 else 3
        time = NOW_MS + number * 1000
        fields = BatchFields(producer_id=_IDEMPOTENT, producer_epoch=0, base_sequence=sequence)
        log.append(a_batch([b"value %d" % number, b"x" * 100], time, fields), epoch, time)
        sequence += 2
        if number in (10, 30):
            _transaction(log, epoch, time, aborted=number == 10, sequence=0 if number == 10 else 3)
    log.flush()
    log.close()
    write_meta_properties(fs, data, MetaProperties("cluster", 1, UUID(int=77)))
    write_offset_checkpoint(fs, f"{data}/{RECOVERY_POINT_FILE}", {PARTITION: log.log_end_offset})
    write_offset_checkpoint(fs, f"{data}/{HIGH_WATERMARK_FILE}", {PARTITION: log.log_end_offset})
    write_clean_shutdown(fs, data)
    return log


def segment_paths(log: Log, suffix: str = LOG_SUFFIX) -> list[str]:
    """Return the paths of the files of all segments that have that suffix."""
    return [f"{log.directory}/{file_name(segment.base_offset, suffix)}" for segment in log.segments]


def flip(fs: FileSystem, path: str, position: int, bits: int = 0xFF) -> None:
    """Change one byte of a file."""
    content = bytearray(fs.read_bytes(path))
    content[position] ^= bits
    fs.write_bytes(path, content)


def _transaction(log: Log, epoch: int, time: int, aborted: bool, sequence: int) -> None:
    fields = BatchFields(producer_id=_TRANSACTIONAL, producer_epoch=0, base_sequence=sequence, transactional=True)
    log.append(a_batch([b"one", b"two", b"three"], time, fields), epoch, time)
    marker = build_end_transaction_batch(EndTransactionMarker(not aborted, 0), _TRANSACTIONAL, 0, time)
    log.append_marker(marker, epoch, time, 0)
