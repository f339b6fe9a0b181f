"""The differences from Apache Kafka that are meant to be; docs/compatibility.md holds the same table."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from tests.interop.differential.compare import Difference


@dataclass(frozen=True, slots=True)
class Intended:
    """Answers of one scenario that differ by intent; patterns are those of the shell."""

    scenario: str
    answers: str
    fields: str
    kafka: str
    odradek: str
    why: str

    def covers(self, scenario: str, difference: Difference) -> bool:
        """Return whether this is the reason for a difference."""
        return (
            scenario == self.scenario
            and fnmatchcase(difference.answer, self.answers)
            and fnmatchcase(difference.path, self.fields)
        )


INTENDED: Sequence[Intended] = (
    Intended(
        "client_quotas",
        "no number: AlterClientQuotas v1",
        "*",
        "takes a quota that is no number (NaN), which limits nothing",
        "INVALID_REQUEST",
        "it would look like a limit",
    ),
    Intended(
        "metadata",
        "a missing topic: Metadata v[0-3]",
        "*",
        "UNKNOWN_TOPIC_OR_PARTITION, although the topic is created",
        "the topic that was created",
        "the oldest clients take it for a mistake of their user",
    ),
    Intended(
        "times",
        "the rest, *",
        "*",
        "not found, until retention has removed the segment that the deleted records are in",
        "the first record from the new start on",
        "a consumer that begins at a time would be sent to the end",
    ),
    Intended(
        "transactions",
        "one twice: DescribeTransactions *",
        "*",
        "the same transaction twice",
        "once",
        "a small request would have an answer without bounds",
    ),
)


def unintended(scenario: str, found: Iterable[Difference]) -> list[Difference]:
    """Return the differences that no entry of the table covers."""
    return [each for each in found if not any(entry.covers(scenario, each) for entry in INTENDED)]


def outdated(scenario: str, found: Sequence[Difference]) -> list[Intended]:
    """Return the entries for a scenario that cover nothing any more."""
    entries = [entry for entry in INTENDED if entry.scenario == scenario]
    return [entry for entry in entries if not any(entry.covers(scenario, each) for each in found)]


def as_markdown() -> str:
    """Return the table as it stands in docs/compatibility.md."""
    if not INTENDED:
        return "None: every answer that is compared is equal.\n"
    lines = ["| Answers | Apache Kafka 4.3 | odradek | Why |", "|---|---|---|---|"]
    lines += [f"| {each.scenario}: {each.answers} | {each.kafka} | {each.odradek} | {each.why} |" for each in INTENDED]
    return "\n".join(lines) + "\n"
