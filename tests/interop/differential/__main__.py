"""Compares two running brokers, the first of them the one that is right, or with `--clusters` three of each, which it
starts: for the work on a difference."""

import sys
from collections.abc import Sequence

from tests.interop.differential.clusters import pair_of_clusters, without_chance
from tests.interop.differential.compare import differences, summary
from tests.interop.differential.intended import unintended
from tests.interop.differential.play import play
from tests.interop.differential.scenarios import SCENARIOS

CLUSTERS = "--clusters"


def main(arguments: list[str]) -> int:
    """Play the scenarios named, or all, and print every difference; return how many there are, up to 100."""
    if arguments[0] == CLUSTERS:
        with pair_of_clusters() as (right, other):
            return compare(right, other, arguments[1:], of_clusters=True)
    return compare(int(arguments[0]), int(arguments[1]), arguments[2:], of_clusters=False)


def compare(right: int, other: int, names: Sequence[str], *, of_clusters: bool) -> int:
    """Play scenarios against the brokers on two ports, and print every difference; return how many, up to 100."""
    found = 0
    for name in names or SCENARIOS:
        kafka, ours = (play(SCENARIOS[name], port) for port in (right, other))
        if of_clusters:
            kafka, ours = without_chance(kafka), without_chance(ours)
        unequal = unintended(name, differences(kafka, ours))
        answers = {each.answer for each in unequal}
        sys.stdout.write(f"{name}: {len(kafka)} answers, {len(answers)} differ\n")
        sys.stdout.flush()
        if unequal:
            sys.stdout.write(summary(unequal) + "\n")
        found += len(answers)
    return min(found, 100)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
