"""What the commands of the Makefile promise."""

import re
from pathlib import Path

MAKEFILE = Path(__file__).parents[2] / "Makefile"


def test_an_audit_that_could_not_look_anything_up_fails() -> None:
    """pip-audit by itself ends well where the index knows of no vulnerabilities, as mirrors do."""
    rule = re.search(r"^audit:.*\n((?:\t.*\n)+)", MAKEFILE.read_text(), re.MULTILINE)
    assert rule is not None
    audits = [line for line in rule[1].splitlines() if "/pip-audit " in line]
    assert audits
    assert all(" --strict " in line for line in audits)
    assert "--skip-editable" not in rule[1], "strict takes what is skipped for a failure"
