"""The empty record of a controller that has nothing to write."""

from odradek.broker.raft.idle_records import IdleRecords
from tests.unit.broker.raft.support import add_topic, new_files, open_leading


def test_an_empty_record_is_written_only_where_nothing_else_was() -> None:
    """It changes nothing but the offset, and survives a start."""
    files = new_files()
    log = open_leading(files)
    idle = IdleRecords(log, lambda propose: propose())
    end = log.high_watermark
    idle.look()
    assert log.high_watermark == end + 1
    add_topic(log, 1)
    end = log.high_watermark
    idle.look()
    assert log.high_watermark == end
    idle.look()
    assert log.high_watermark == end + 1
    topics = log.image.topics_by_name
    log.close()
    assert open_leading(files).image.topics_by_name == topics
