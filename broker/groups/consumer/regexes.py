"""Which topics a regular expression of a member matches, in time proportional to their names.

Owns: matching, in slices. An expression comes from a client and is matched on the broker's one thread, so nothing here
backtracks: an expression becomes a set of states that are followed side by side (Thompson), and each set of states
that comes up is remembered with where each character leads from it, up to a bound. Follows Kafka's TopicRegexResolver:
the whole name has to match. Must not know: groups, members.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Final

from odradek.broker.groups.consumer.regex_reader import read
from odradek.broker.groups.consumer.regex_syntax import (
    Accepts,
    Assertion,
    Character,
    Choice,
    InvalidExpressionError,
    Node,
    Repeat,
    Sequence,
)

MAX_STATES: Final = 2_000
"""Of one expression: `(.{100}){100}` and the like are refused. RE2 bounds its programs alike."""
MAX_PARTS: Final = 20_000
"""Parts of an expression with all repetitions written out, those without characters too: `((){1000}){1000}`."""
MAX_WORK: Final = 500_000
"""States looked at to match one expression: some tenths of a second of work in all."""
WORK_PER_NAME: Final = 100
"""Allowed on top of that: about as much as a name costs with an expression that people write."""
_WORK_PER_SLICE: Final = 2_000
"""States looked at before others get their turn: about a millisecond."""
_NAMES_PER_SLICE: Final = 20
"""Names looked at before others get their turn, where each is quick."""
_MAX_REMEMBERED: Final = 2_000
"""Sets of states whose ways on are remembered; more are found out anew each time."""

_Key = tuple[frozenset[int], str]


class Expression:
    """A regular expression, ready to match; raises InvalidExpressionError for a text that is none."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._parts_left = MAX_PARTS
        self._empty: list[list[int]] = []
        self._assertions: dict[int, Assertion] = {}
        self._characters: dict[int, tuple[Accepts, int]] = {}
        self._start = self._state()
        self._end = self._add(read(text), self._start)
        self._verdicts: dict[tuple[Accepts, str], bool] = {}
        self._ways: dict[_Key, dict[str, frozenset[int]]] = {}
        self._work_left = MAX_WORK

    def matching(self, names: Iterable[str]) -> Generator[None, None, frozenset[str]]:
        """Return those of the names that match as a whole, in slices: others get their turn at each yield.

        Raises:
            InvalidExpressionError: it takes too long to find out.
        """
        found: list[str] = []
        sliced_at = self._work_left
        for count, name in enumerate(names, 1):
            self._work_left += WORK_PER_NAME
            sliced_at += WORK_PER_NAME
            states = frozenset((self._start,))
            before = ""
            for c in name:
                states = self._after(states, before, c)
                if not states:
                    break
                before = c
                if sliced_at - self._work_left > _WORK_PER_SLICE:
                    sliced_at = self._work_left
                    yield
            if states and self._end in self._closure(states, before, ""):
                found.append(name)
            if count % _NAMES_PER_SLICE == 0:
                yield
        return frozenset(found)

    def _after(self, states: frozenset[int], before: str, c: str) -> frozenset[int]:
        before = before if self._assertions else ""
        ways = self._ways.get((states, before))
        if ways is None:
            ways = {}
            if len(self._ways) < _MAX_REMEMBERED:
                self._ways[states, before] = ways
        reached = ways.get(c)
        if reached is None:
            reached = ways[c] = frozenset(
                target
                for state in self._closure(states, before, c)
                if state in self._characters
                for accepts, target in (self._characters[state],)
                if self._is_accepted(accepts, c)
            )
        return reached

    def _is_accepted(self, accepts: Accepts, c: str) -> bool:
        # A class of hundreds of members, repeated hundreds of times, is asked once for each character.
        verdict = self._verdicts.get((accepts, c))
        if verdict is None:
            verdict = self._verdicts[accepts, c] = accepts(c)
        return verdict

    def _closure(self, states: frozenset[int], before: str, after: str) -> set[int]:
        """Return all states that are reached without a character, at that place."""
        reached = set(states)
        waiting = list(states)
        if self._work_left < 0:
            raise InvalidExpressionError("expression too expensive to match")
        while waiting:
            state = waiting.pop()
            assertion = self._assertions.get(state)
            if assertion is not None and not assertion.holds(before, after):
                continue
            for target in self._empty[state]:
                if target not in reached:
                    reached.add(target)
                    waiting.append(target)
        self._work_left -= len(reached)
        return reached

    def _state(self) -> int:
        if len(self._empty) >= MAX_STATES:
            raise InvalidExpressionError("expression too large")
        self._empty.append([])
        return len(self._empty) - 1

    def _add(self, node: Node, start: int) -> int:
        """Build the states of a node from `start` on; return the state behind it."""
        self._parts_left -= 1
        if self._parts_left < 0:
            raise InvalidExpressionError("expression too large")
        match node:
            case Character():
                end = self._state()
                inner = self._state()
                self._empty[start].append(inner)
                self._characters[inner] = (node.accepts, end)
                return end
            case Assertion():
                inner, end = self._state(), self._state()
                self._empty[start].append(inner)
                self._assertions[inner] = node
                self._empty[inner].append(end)
                return end
            case Sequence():
                for part in node.parts:
                    start = self._add(part, start)
                return start
            case Choice():
                end = self._state()
                for option in node.options:
                    branch = self._state()
                    self._empty[start].append(branch)
                    self._empty[self._add(option, branch)].append(end)
                return end
            case Repeat():
                return self._add_repeat(node, start)

    def _add_repeat(self, node: Repeat, start: int) -> int:
        for _ in range(node.least):
            start = self._add(node.part, start)
        end = self._state()
        if node.most is None:
            loop = self._state()
            self._empty[start].append(loop)
            self._empty[self._add(node.part, loop)].append(loop)
            self._empty[loop].append(end)
            return end
        self._empty[start].append(end)
        for _ in range(node.most - node.least):
            start = self._add(node.part, start)
            self._empty[start].append(end)
        return end
