"""What can go wrong for the person who runs a job: each message is a sentence that says what to do about it."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from odradek.protocol.errors import KafkaError


class SourceError(Exception):
    """A query cannot go on, and the message says why."""

    __suppress_context__ = False  # Spark takes the cause away to shorten the traceback; this keeps the context shown


class OptionError(SourceError, ValueError):
    """An option is missing, unknown or has a value that it cannot have; the message says which and what is expected."""


class ClusterError(SourceError):
    """The cluster cannot be reached, or refuses what it was asked."""


class BrokerUnreachableError(ClusterError):
    """A broker cannot be reached or does not answer; trying again may help."""


class UnknownTopicError(ClusterError):
    """There is no such topic or partition."""


class DataLostError(ClusterError):
    """Records that were to be read are no longer there."""


class DamagedRecordsError(ClusterError):
    """Records arrived that cannot be read."""


@contextmanager
def sentence_first() -> Iterator[None]:
    """Have Spark show the sentence of an error before the traceback, and records that cannot be read as such an error.

    Spark shows an exception as Python does: first the one in whose handling it came up, then the traceback, then its
    own message. So the error is given its own sentence to come from.
    """
    try:
        try:
            yield
        except KafkaError as damaged:
            raise DamagedRecordsError(f"records arrived that cannot be read: {damaged}") from damaged
    except SourceError as failed:
        failed.__cause__, failed.__context__ = None, type(failed)(*failed.args)
        raise


def report(losses: Sequence[str], fail: bool) -> None:
    """Say what cannot be read any more.

    Raises:
        DataLostError: it is to end the query (`failOnDataLoss`); else it is only logged.
    """
    if not losses:
        return
    message = "some records cannot be read any more: " + "; ".join(losses)
    if fail:
        raise DataLostError(f"{message}. With the option failOnDataLoss=false reading goes on with what there is")
    logging.getLogger(__name__).warning("%s", message)
