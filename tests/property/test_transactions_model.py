"""A partition with transactions against a list: what readers of committed records see, and up to where."""

from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.broker.partitions.transaction_marker import TransactionMarker
from tests.support.partitions import Node

PRODUCERS = (1, 2, 3)
Step = tuple[str, int]
steps = st.lists(st.tuples(st.sampled_from(["plain", "write", "commit", "abort"]), st.sampled_from(PRODUCERS)))


@settings(deadline=None, max_examples=150)
@given(steps)
def test_committed_records_are_what_the_list_says(done: list[Step]) -> None:
    """The last stable offset is where the oldest open transaction began; of what is before, aborted records are named
    by producer and first offset, as a consumer leaves them out."""
    node = Node()
    node.create("t")
    partition = node.table.get("t", 0)
    owners: list[int | None] = []  # of each offset: a producer's open or ended transaction; None: a plain record
    fates: dict[int, str] = {}  # what became of the record at an offset
    opened: dict[int, list[int]] = {}
    sequences = dict.fromkeys(PRODUCERS, 0)
    aborted: list[tuple[int, int]] = []
    for kind, producer in done:
        offset = len(owners)
        if kind == "plain":
            node.append("t", b"x")
            owners.append(None)
            fates[offset] = "committed"
        elif kind == "write":
            node.begin_transaction("t", producer, b"x", sequence=sequences[producer])
            sequences[producer] += 1
            owners.append(producer)
            opened.setdefault(producer, []).append(offset)
        else:
            partition.append_marker(TransactionMarker(producer, 0, 0, kind == "commit", 0), node.clock.now_ms())
            owners.append(producer)
            fates[offset] = "marker"
            ended = opened.pop(producer, [])
            fates.update(dict.fromkeys(ended, "committed" if kind == "commit" else "aborted"))
            if ended and kind == "abort":
                aborted.append((producer, ended[0]))
    stable = min((offsets[0] for offsets in opened.values()), default=len(owners))
    assert (partition.high_watermark, partition.last_stable_offset) == (len(owners), stable)
    named = [(each.producer_id, each.first_offset) for each in partition.log.aborted_transactions(0, stable)]
    assert named == [each for each in aborted if each[1] < stable]
    assert all(fates[offset] for offset in range(stable))
