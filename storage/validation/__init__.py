"""What a client's batch must be before it may enter a log: Kafka's LogValidator. Old messages become a batch first.

A produce request's records go through `check_produce_records` (is there exactly one batch, of a version that this
request may carry), then `validate_client_batch` (everything else, and the changes the topic asks for: timestamps,
compression), and once the log has decided on an offset, `assign_offsets`. All of it works on the request's own bytes,
in place where it can.

    batch      the header's rules, and the three outcomes: as it came, header patched, written anew
    records    records one by one, as Kafka looks at them
    framing    records by their lengths only, which is all that a large batch has the time for
    renumbering  records written anew with offsets in a row
    effort     how much of this is done at once
    rules      what the topic's configuration asks
    errors     how a batch is refused, with Kafka's codes and messages
    messages   what old clients send instead, made into such a batch
    request    what the version of the produce request allows

Knows nothing of logs, producers' states or requests. Follows Kafka's log behaviour, produce path and offset assignment.
"""

from odradek.storage.validation.batch import ValidatedBatch, assign_offsets, validate_client_batch
from odradek.storage.validation.effort import Effort, TakesLonger
from odradek.storage.validation.errors import RecordError, RejectedRecords
from odradek.storage.validation.messages import convert_message_set
from odradek.storage.validation.request import check_produce_records
from odradek.storage.validation.rules import ValidationRules, validation_rules

__all__ = [
    "Effort",
    "RecordError",
    "RejectedRecords",
    "TakesLonger",
    "ValidatedBatch",
    "ValidationRules",
    "assign_offsets",
    "check_produce_records",
    "convert_message_set",
    "validate_client_batch",
    "validation_rules",
]
