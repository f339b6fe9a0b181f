"""Finds where the answers of two brokers differ."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from tests.interop.differential.normalise import Comparable
from tests.interop.differential.play import STOPPED

ABSENT = "<absent>"
NOT_ASKED = "<not asked>"


class Difference(NamedTuple):
    """One field in which Apache Kafka's answer and ours differ."""

    answer: str
    path: str
    kafka: Comparable
    ours: Comparable


def differences(kafka: Mapping[str, Comparable], ours: Mapping[str, Comparable]) -> list[Difference]:
    """Return every field that differs, in the order in which the requests were sent."""
    assert STOPPED not in kafka, f"the scenario itself is wrong: {kafka[STOPPED]}"
    labels = list(dict.fromkeys([*kafka, *ours]))
    return [
        Difference(label, path, left, right)
        for label in labels
        for path, left, right in _walk("", kafka.get(label, NOT_ASKED), ours.get(label, NOT_ASKED))
    ]


def summary(found: Sequence[Difference]) -> str:
    """Return differences for people to read: the same one at several versions is one line."""
    groups: dict[str, list[str]] = {}
    for each in found:
        label, _, version = each.answer.rpartition(" ")
        same = f"{label} {each.path}: Apache Kafka {_short(each.kafka)}, odradek {_short(each.ours)}"
        groups.setdefault(same, []).append(version)
    return "\n".join(f"{line} ({' '.join(versions)})" for line, versions in groups.items())


def _walk(path: str, kafka: Comparable, ours: Comparable) -> Iterator[tuple[str, Comparable, Comparable]]:
    if isinstance(kafka, dict) and isinstance(ours, dict):
        for key in dict.fromkeys([*kafka, *ours]):
            yield from _walk(f"{path}.{key}", kafka.get(key, ABSENT), ours.get(key, ABSENT))
    elif isinstance(kafka, list) and isinstance(ours, list) and len(kafka) == len(ours):
        for index, (left, right) in enumerate(zip(kafka, ours, strict=True)):
            yield from _walk(f"{path}[{index}]", left, right)
    elif kafka != ours or type(kafka) is not type(ours):
        yield path, kafka, ours


def _short(value: Comparable, limit: int = 200) -> str:
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 3] + "..."
