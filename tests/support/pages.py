"""The parts of docs/ that are written from tables, so that they cannot be wrong.

`python -m tests.support.pages` writes them anew; tests/unit/test_pages.py fails when that is due.
"""

import csv
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from odradek.broker.routes import SERVED
from odradek.protocol.registry import API
from tests.interop.differential import intended
from tests.support import tour

REPOSITORY = Path(__file__).resolve().parents[2]


def versions_table() -> str:
    """Return the table of APIs that have a handler, beside Apache Kafka's."""
    with (REPOSITORY / "tests" / "data" / "apis.tsv").open(newline="") as file:
        kafka = {int(row["key"]): row for row in csv.DictReader(file, delimiter="\t")}
    lines = ["| Key | API | Versions | Apache Kafka 4.3 | Flexible |", "|---|---|---|---|---|"]
    for api in (API[key] for key in SERVED):
        theirs = kafka[api.key]
        first = theirs["versions"].partition("-")[0]
        flexible = "never" if api.first_flexible is None else str(api.first_flexible)
        ours, stable = f"{api.served.first}-{api.served.last}", theirs["stable"]
        lines.append(f"| {api.key.value} | {api.name} | {ours} | {first}-{stable} | {flexible} |")
    return "\n".join(lines) + "\n"


PARTS: Mapping[tuple[str, str], Callable[[], str]] = {
    ("docs/protocol.md", "versions"): versions_table,
    ("docs/compatibility.md", "differences"): intended.as_markdown,
    ("docs/inside-a-log.md", "names"): tour.names,
    ("docs/inside-a-log.md", "dump"): tour.dump,
    ("docs/inside-a-log.md", "index"): tour.index,
    ("docs/inside-a-log.md", "explain"): tour.explain,
    ("docs/inside-a-log.md", "stat"): tour.stat,
    ("docs/inside-a-log.md", "verify"): tour.verify,
}


def with_part(page: str, name: str, content: str) -> str:
    """Return a page with what stands between the marks of a part replaced; ValueError where they are missing."""
    begin, end = f"<!-- begin: {name} -->\n", f"<!-- end: {name} -->"
    before, found_begin, rest = page.partition(begin)
    _, found_end, after = rest.partition(end)
    if not (found_begin and found_end):
        raise ValueError(f"the marks {begin.strip()} and {end} are missing")
    return f"{before}{begin}{content}{end}{after}"


def main() -> int:
    """Write all parts."""
    for (path, name), content in PARTS.items():
        page = REPOSITORY / path
        page.write_text(with_part(page.read_text(), name, content()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
