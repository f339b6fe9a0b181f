"""What holds for the metadata log whatever is proposed and whenever it is restarted."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.broker.metadata.log import MetadataLog
from odradek.broker.metadata.opening import MetadataOptions, open_metadata_log
from odradek.broker.metadata.records import MetadataRecord
from odradek.config.topic import kafka_defaults
from odradek.protocol.messages.metadata_records import PartitionChangeRecord
from tests.property.metadata_changes import History
from tests.support.clock import ManualClock
from tests.support.memory_files import MemoryFiles


def open_log(files: MemoryFiles, clean: bool) -> MetadataLog:
    """Open the log of a single node."""
    options = MetadataOptions(node_id=1, topic_config=kafka_defaults(), clean=clean)
    return open_metadata_log(files, "/data", options, ManualClock())


def without_elections(batch: list[MetadataRecord]) -> list[MetadataRecord]:
    """Leave out what a restart of this node would change on its own."""
    return [record for record in batch if not isinstance(record.message, PartitionChangeRecord)]


@settings(max_examples=40)
@given(st.integers(0, 1 << 32), st.integers(1, 25))
def test_restarts_at_any_time_give_the_same_image(seed: int, changes: int) -> None:
    """Clean ones, kills of the process, and power cuts; the topics are those that were answered."""
    random = Random(seed)
    history = History(seed)
    history.grow(changes)
    files = MemoryFiles(seed)
    files.mkdir("/data")
    files.sync_dir("/")
    log = open_log(files, False)
    for batch in history.batches:
        wanted = without_elections(batch)
        log.propose(wanted, log.image)
        before = log.image
        how = random.choice(("go on", "go on", "clean", "killed", "power cut"))
        if how == "go on":
            continue
        if how == "clean":
            log.close()
        elif how == "power cut":
            files = files.crash()
        log = open_log(files, how == "clean")
        assert log.image.topics_by_name.keys() == before.topics_by_name.keys(), how
        assert log.image.configs == before.configs, how
        assert log.image.next_producer_id == before.next_producer_id, how
        assert all(p.leader == 1 for t in log.image.topics_by_name.values() for p in t.partitions), how
