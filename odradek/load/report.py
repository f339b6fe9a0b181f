"""What a load came to: throughput and latencies, for people and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from odradek.load.histogram import Histogram
from odradek.terminal.human import count_text, duration_text, plural, size_text
from odradek.terminal.output import CommandOutput

PERCENTILES: Mapping[str, float] = {"p50": 50, "p95": 95, "p99": 99, "p99.9": 99.9}
_MICROSECONDS = 1_000


@dataclass(slots=True)
class Report:
    """What happened so far; latencies are in microseconds, `bytes` are those of values.

    `commits` is how long those of transactions took, None where there are none.
    """

    topic: str
    records: int = 0
    bytes: int = 0
    failed: int = 0
    seconds: float = 0.0
    latency: Histogram = field(default_factory=Histogram)
    commits: Histogram | None = None

    def show(self, output: CommandOutput, verb: str, latency_name: str) -> None:
        """Print it; `latency_name` says from when to when was measured."""
        if output.json:
            output.document(self.as_json())
            return
        output.line(
            f"{plural(self.records, 'record')} ({size_text(self.bytes)}) {verb} {self.topic} "
            f"in {duration_text(self.seconds)}: {count_text(self._per_second(self.records))} records/s, "
            f"{size_text(self._per_second(self.bytes))}/s"
        )
        _show_latency(output, latency_name, _milliseconds(self.latency))
        if self.commits is not None:
            count = self.commits.count
            output.line(f"{plural(count, 'transaction')}: {count_text(self._per_second(count))} a second")
            _show_latency(output, "from asking for a commit to its answer", _milliseconds(self.commits))

    def as_json(self) -> dict[str, object]:
        """Return it with stable names; `latency_ms` is null where nothing could be measured."""
        return {
            "topic": self.topic,
            "records": self.records,
            "bytes": self.bytes,
            "failed": self.failed,
            "seconds": round(self.seconds, 3),
            "records_per_second": round(self._per_second(self.records), 1),
            "bytes_per_second": round(self._per_second(self.bytes), 1),
            "latency_ms": _milliseconds(self.latency),
            "transactions": None
            if self.commits is None
            else {"committed": self.commits.count, "commit_ms": _milliseconds(self.commits)},
        }

    def _per_second(self, amount: int) -> float:
        return amount / self.seconds if self.seconds else 0.0


def _milliseconds(found: Histogram) -> dict[str, float] | None:
    """Return a histogram's figures by their names, None where nothing was measured."""
    if not found.count:
        return None
    values = {"mean": found.mean} | {name: found.percentile(each) for name, each in PERCENTILES.items()}
    return {name: round(each / _MICROSECONDS, 3) for name, each in (values | {"max": found.max}).items()}


def _show_latency(output: CommandOutput, name: str, milliseconds: Mapping[str, float] | None) -> None:
    if milliseconds is not None:
        output.line(f"milliseconds {name}:")
        figures = [f"{each:,.2f}" for each in milliseconds.values()]
        output.table([f">{each.upper()}" for each in milliseconds], [figures])
