"""Records of an entry of any version."""

import pytest

from odradek.protocol.records.building import build_batch, make_records
from odradek.protocol.records.errors import CorruptRecord
from odradek.protocol.records.reading import iter_entry_records
from tests.unit.protocol.records.legacy_handmade import message


def test_each_version_is_read_as_what_it_is() -> None:
    """A batch gives its records, a message itself; what follows the entry is not looked at."""
    records = make_records([(b"a", b"1"), (b"b", None)], timestamp=7, first_offset=3)
    batch = bytes(build_batch(records))
    assert list(iter_entry_records(batch + b"rest")) == records
    assert [r.offset for r in iter_entry_records(memoryview(message(1, 9) + b"rest"))] == [9]


@pytest.mark.parametrize("data", [b"", b"\0" * 16, message(3), message(-1)])
def test_what_is_no_entry_is_corrupt(data: bytes) -> None:
    """Too few bytes to tell a version, or a version that there is not."""
    with pytest.raises(CorruptRecord):
        list(iter_entry_records(data))
