"""The forms that batches are shown in."""

from odradek.logs.batch_values import BatchForm
from odradek.storage.segment.entry_walk import Fields

FORM = BatchForm(
    "%%s-%%s count %%s sequence %%s-%%s producer %d epoch %d leader %d %s %s horizon %%s at %%s %s %%s size %%s "
    "magic %d %s crc %%s %s",
    "",
    "%d",
    "-",
)


def _shown(producer: int, base: int, leader: int = 4, bits: int = 0, valid: bool = True) -> str:
    fields: Fields = (base, 100, leader, 2, 77, bits, 2, 5, 9, producer, 1, 10, 3)
    return FORM.show(base * 10, fields, valid)


def test_what_batches_do_not_share_is_shown_of_each() -> None:
    """With more producers than forms are kept of, and batches that differ in one thing, each has its own values."""
    for producer in [*range(1500), *range(1500)]:
        assert _shown(producer, producer + 1) == (
            f"{producer + 1}-{producer + 3} count 3 sequence 10-12 producer {producer} epoch 1 leader 4 false false "
            f"horizon - at {producer * 10 + 10} CreateTime 9 size 112 magic 2 none crc 77 true"
        )
    assert " leader 5 " in _shown(1, 1, leader=5)
    assert _shown(1, 1, valid=False).endswith(" crc 77 false")
    assert " true false horizon 5 at 10 LogAppendTime 9 size 112 magic 2 zstd " in _shown(1, 1, bits=0x5C)
