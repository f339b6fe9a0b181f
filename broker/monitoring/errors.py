"""Errors that clients are told, counted by API and code: Kafka's ErrorsPerSec, without the answers that have none.

Each partition or name in an answer that has an error code of its own counts by itself, as in Kafka. There are as many
series as APIs and codes that came together, whatever clients ask. Must not know: requests, and who asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Lock

from odradek.metrics.samples import Samples
from odradek.protocol.codec import Message
from odradek.protocol.codec.message import StructType
from odradek.protocol.errors import known_error
from odradek.protocol.registry import API, ApiKey

_CODE = "error_code"
_Look = Callable[[object, list[int]], None]


class ErrorCounts:
    """The errors of a node."""

    def __init__(self) -> None:
        self._counts: dict[tuple[int, int], int] = {}
        self._lock = Lock()
        """Answers to large requests are written on threads."""
        self._looks: dict[type, tuple[int, _Look | None]] = {}
        """For each class of answers its API, and what finds codes in it; None where there are none."""

    def answered(self, response: Message) -> None:
        """A client is about to be sent this."""
        known = self._looks.get(type(response))
        if known is None:
            schema = type(response).SCHEMA
            known = self._looks[type(response)] = schema.api_key, _look_for(type(response))
        api, look = known
        if look is None:
            return
        found: list[int] = []
        look(response, found)
        for code in found:
            self.refused(api, code)

    def refused(self, api: int, code: int) -> None:
        """Something of a request is refused."""
        key = api, code
        with self._lock:
            self._counts[key] = self._counts.get(key, 0) + 1

    def collect(self, samples: Samples, _now_s: float) -> Iterator[None]:
        """Add the counts."""
        by_name: dict[tuple[str, str], int] = {}
        for (api, code), count in list(self._counts.items()):
            key = API[ApiKey(api)].name, known_error(code).name
            by_name[key] = by_name.get(key, 0) + count
        for (name, error), count in by_name.items():
            samples.add("kafka_network_requestmetrics_errors_total", count, name, error)
        yield


def _look_for(kind: type) -> _Look | None:
    """Return what adds the error codes in a struct of this class, and in those inside it, to a list."""
    assert isinstance(kind, StructType)
    fields = kind.SCHEMA.fields  # type: ignore[attr-defined]  # every class of the type has one
    has_code = any(field.name == _CODE for field in fields)
    inside = [
        (field.name, field.is_array, look)
        for field in fields
        if isinstance(field.type, StructType) and (look := _look_for(field.type)) is not None
    ]
    if not has_code and not inside:
        return None

    def look_at(struct: object, found: list[int]) -> None:
        if has_code and (code := struct.error_code):  # type: ignore[attr-defined]  # it has such a field
            found.append(code)
        for name, is_array, look in inside:
            value = getattr(struct, name)
            if not is_array:
                if value is not None:
                    look(value, found)
            elif value:
                for one in value:
                    look(one, found)

    return look_at
