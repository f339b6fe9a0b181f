"""Writing one record."""

from __future__ import annotations

import base64
import binascii
from typing import Final

from starlette.responses import Response

from odradek.cluster.producing import SendRate, Tally, finish, producer_defaults, send
from odradek.cluster.topics import partitions_of
from odradek.console.pages.fields import assignments, whole_number
from odradek.console.pages.topic import address
from odradek.console.routes import action, view
from odradek.console.visit import Visit
from odradek.records.reading import NewRecord
from odradek.terminal.errors import CommandError, WrongUsageError

ACKNOWLEDGED_S: Final = 15.0
LARGEST_PARTITION: Final = (1 << 31) - 1
FORMS: Final = ("text", "hex", "base64")


def show_form(visit: Visit) -> Response:
    """Show the form of a new record."""
    name = visit.path("topic")
    with visit.cluster() as cluster:
        partitions = len(partitions_of(cluster, name))
    return visit.page("produce.html", name=name, partitions=partitions)


def produce(visit: Visit) -> Response:
    """Write the record and say where it is."""
    name, record = visit.path("topic"), new_record(visit)
    tally = Tally()
    with visit.cluster() as cluster:
        numbers = partitions_of(cluster, name)  # or it might be created by being written to
        if record.partition is not None and record.partition not in numbers:
            raise WrongUsageError(f"topic {name} has no partition {record.partition}; it has 0 to {max(numbers)}")
        producer = cluster.producer({}, defaults=producer_defaults(cluster.settings))
        send(producer, name, [record], tally, record.partition, SendRate(None))
        finish(producer, tally, ACKNOWLEDGED_S)
    if tally.error is not None or not tally.partitions:
        raise CommandError(f"the record was not acknowledged: {tally.problem(name).partition(': ')[2] or 'no answer'}")
    [(partition, found)] = tally.partitions.items()
    notice = f"written to partition {partition} at offset {found.first_offset}"
    return visit.go(address(name, "messages"), notice, partition=str(partition), start=str(found.first_offset))


def new_record(visit: Visit) -> NewRecord:
    """Return the record that was typed; WrongUsageError says what is wrong with it."""
    form = visit.field("form", FORMS[0])
    has_key, is_tombstone = bool(visit.field("has_key")), bool(visit.field("tombstone"))
    if is_tombstone and not has_key:
        raise WrongUsageError("a tombstone needs a key: it says that the record with this key is no longer there")
    return NewRecord(
        key=typed_bytes(visit.field("key"), form, "key") if has_key else None,
        value=None if is_tombstone else typed_bytes(visit.field("value"), form, "value"),
        headers=[(name, value.encode()) for name, value in assignments(visit.field("headers"))],
        partition=whole_number(visit.field("partition"), "partition", 0, LARGEST_PARTITION),
    )


def typed_bytes(text: str, form: str, what: str) -> bytes:
    """Return what was typed as text (its lines end with a line feed), hex or base64."""
    if form == FORMS[0]:
        return text.replace("\r\n", "\n").encode("utf-8", "surrogatepass")
    try:
        if form == FORMS[1]:
            return bytes.fromhex(text)
        return base64.b64decode("".join(text.split()), validate=True)
    except (ValueError, binascii.Error) as wrong:
        raise WrongUsageError(f"the {what} is no {form}: {wrong}") from None


ROUTES: Final = (
    view("/topics/{topic}/produce", show_form),
    action("/topics/{topic}/produce", produce),
)
