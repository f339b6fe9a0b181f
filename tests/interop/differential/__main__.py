"""Compares two running brokers, the first of them the one that is right: for the work on a difference."""

import sys

from tests.interop.differential.compare import differences, summary
from tests.interop.differential.intended import unintended
from tests.interop.differential.play import play
from tests.interop.differential.scenarios import SCENARIOS


def main(arguments: list[str]) -> int:
    """Play the scenarios named, or all, and print every difference; return how many there are, up to 100."""
    right, other = int(arguments[0]), int(arguments[1])
    found = 0
    for name in arguments[2:] or SCENARIOS:
        kafka, ours = play(SCENARIOS[name], right), play(SCENARIOS[name], other)
        unequal = unintended(name, differences(kafka, ours))
        answers = {each.answer for each in unequal}
        sys.stdout.write(f"{name}: {len(kafka)} answers, {len(answers)} differ\n")
        if unequal:
            sys.stdout.write(summary(unequal) + "\n")
        found += len(answers)
    return min(found, 100)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
