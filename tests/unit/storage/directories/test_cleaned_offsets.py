"""How far logs are compacted, as it is written down."""

from uuid import UUID

from odradek.storage.checkpoints.checkpoint_file import read_offset_checkpoint
from odradek.storage.directories.manager import LogManager
from odradek.storage.names import CLEANER_OFFSET_FILE
from tests.support.log_directories import open_log_directories
from tests.support.logs import NOW_MS, PARTITION, TOPIC_ID, append_values, small_config
from tests.support.memory_files import MemoryFiles

ROOT = "/data"
OTHER_ID = UUID("b3f0c1de-0000-4000-8000-0123456789ab")


def a_manager(fs: MemoryFiles) -> LogManager:
    """A node with one log directory."""
    manager = LogManager(fs, open_log_directories(fs, [ROOT], 1, lambda: UUID(int=1 << 100)), lambda: NOW_MS)
    manager.load_all(lambda _: (TOPIC_ID, small_config()))
    return manager


def written(fs: MemoryFiles) -> dict[object, int]:
    """What the checkpoint says."""
    return dict(read_offset_checkpoint(fs, f"{ROOT}/{CLEANER_OFFSET_FILE}"))


def note(manager: LogManager, offset: int) -> None:
    """Note and write down."""
    write = manager.checkpoints.note_cleaned(PARTITION, offset)
    assert write is not None
    write()


def test_it_is_known_after_a_restart() -> None:
    """In Kafka's checkpoint file, and only written where it says something new."""
    fs = MemoryFiles()
    manager = a_manager(fs)
    append_values(manager.get_or_create(PARTITION, TOPIC_ID, small_config()), [b"a"] * 10)
    note(manager, 7)
    assert written(fs) == {PARTITION: 7}
    assert manager.checkpoints.note_cleaned(PARTITION, 7) is None
    assert manager.close() == []
    assert a_manager(fs).checkpoints.cleaned_offsets == {PARTITION: 7}


def test_it_goes_back_with_the_end_of_the_log() -> None:
    """What is written where the log was cut is dirty."""
    fs = MemoryFiles()
    manager = a_manager(fs)
    log = manager.get_or_create(PARTITION, TOPIC_ID, small_config())
    for _ in range(10):
        append_values(log, [b"a"])
    note(manager, 7)
    manager.truncate_to(PARTITION, 8)
    assert written(fs) == {PARTITION: 7}
    manager.truncate_to(PARTITION, 5)
    assert written(fs) == {PARTITION: 5}
    manager.truncate_fully(PARTITION, 3)
    assert written(fs) == {}


def test_it_does_not_outlive_its_topic() -> None:
    """A topic of the same name that is made later begins anew."""
    fs = MemoryFiles()
    manager = a_manager(fs)
    append_values(manager.get_or_create(PARTITION, TOPIC_ID, small_config()), [b"a"] * 10)
    note(manager, 7)
    manager.delete(PARTITION)
    manager.get_or_create(PARTITION, OTHER_ID, small_config())
    assert written(fs) == {}
    assert manager.checkpoints.cleaned_offsets == {}
