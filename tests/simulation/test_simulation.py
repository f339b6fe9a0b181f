"""Lives of clusters that seeds decide on: no promise of a cluster is broken, whatever happens to its nodes.

As many as there is time for; `python -m tests.simulation --seeds 0-10000` for more, `--seed N` for one again.
"""

import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
SECONDS = 45
MOST_SEEDS = 1_000


@pytest.mark.timeout(SECONDS + 120)
def test_no_promise_is_broken_in_as_many_lives_as_there_is_time_for() -> None:
    """Nothing acknowledged is missing from a leader, nobody leads in the epoch of another, replicas are equal, nothing
    that a consumer saw changes, no idempotent record is there twice, and everything serves again once faults end."""
    lives = subprocess.run(
        [sys.executable, "-m", "tests.simulation", "--seeds", f"0-{MOST_SEEDS}", "--seconds", str(SECONDS)],
        capture_output=True,
        text=True,
        cwd=REPOSITORY,
        check=False,
    )
    assert lives.returncode == 0, lives.stdout + lives.stderr
    assert " 0 broken" in lives.stdout
    assert not lives.stdout.startswith("0 lives")


def test_a_life_repeats_exactly() -> None:
    """The seed decides on all of it, so that what went wrong can be looked into."""
    command = [sys.executable, "-m", "tests.simulation", "--seed", "3", "--story"]
    first, second = (subprocess.run(command, capture_output=True, text=True, cwd=REPOSITORY, check=True) for _ in "12")
    assert first.stdout == second.stdout
    assert " starts" in first.stdout or " healed" in first.stdout
