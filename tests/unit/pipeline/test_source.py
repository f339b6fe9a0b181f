"""What a job reads, beside what it produces to."""

import pytest

from odradek.pipeline.errors import WrongOptionError
from odradek.pipeline.source import checked, refuse_loop

CLUSTER = {"kafka.bootstrap.servers": "127.0.0.1:9092"}


@pytest.mark.parametrize(
    "read", [{"subscribe": "a,orders"}, {"subscribePattern": "ord.*"}, {"assign": '{"orders":[0]}'}]
)
def test_what_is_read_is_not_produced_to(read: dict[str, str]) -> None:
    """However a topic is named as one to read, it is refused as the one that is produced to."""
    options = checked(CLUSTER | read)
    with pytest.raises(WrongOptionError, match="--to orders is a topic that is read"):
        refuse_loop(options, "orders")
    for other in (None, "x-orders", "kept"):
        refuse_loop(options, other)
