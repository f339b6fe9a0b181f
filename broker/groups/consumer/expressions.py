"""When the regular expressions of a group's members are resolved, and what follows from the topics they match.

Owns: Kafka's conditions for it (GroupMetadataManager.maybeUpdateRegularExpressions): a heartbeat that brings an
expression is answered with the topics that are known by then; the expressions of the group are resolved behind it, all
at once, never twice at a time and at most every ten seconds, and what they match comes with a heartbeat after that.
Must not know: requests, how an expression is matched.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping

from odradek.broker.groups.consumer import records
from odradek.broker.groups.consumer.draft import Draft
from odradek.broker.groups.consumer.state import ConsumerGroupState
from odradek.broker.groups.consumer.steps import HeartbeatContext
from odradek.broker.groups.consumer.subscriptions import REFRESH_MIN_INTERVAL_MS, match_topics, metadata_hash
from odradek.broker.metadata.image import MetadataImage, TopicImage
from odradek.protocol.errors import KafkaError

Found = Mapping[str, frozenset[str] | KafkaError]
"""By expression: the names of the topics it matches, or why that cannot be found out."""


class Expressions:
    """What a group remembers of its expressions, beside its records."""

    __slots__ = ("_is_resolving", "_refused", "_resolved_at", "_seen_topics", "_state")

    def __init__(self, state: ConsumerGroupState) -> None:
        self._state = state
        self._is_resolving = False
        self._refused: dict[str, KafkaError] = {}
        """Expressions that were too much work to match, for as long as members subscribe to them."""
        self._resolved_at: int | None = None
        """When they were last resolved, in milliseconds since 1970 UTC; None: not since this start."""
        self._seen_topics: Mapping[str, TopicImage] | None = None
        """The topics among which they were looked for."""

    def check(self, regex: str | None) -> None:
        """Raise KafkaError INVALID_REGULAR_EXPRESSION for one that was too much work to match."""
        if regex in self._refused:
            raise self._refused[regex]

    def are_due(self, environment: HeartbeatContext) -> bool:
        """Whether to resolve them now; whoever is told so does."""
        if self._is_resolving:
            return False
        state, at = self._state, self._resolved_at
        if at is not None and (state.expressions or self._refused):
            age = environment.now - at
            if 0 <= age <= REFRESH_MIN_INTERVAL_MS:
                return False
            is_old = not 0 <= age <= environment.settings.regex_refresh_interval_ms
            known = len(state.expressions) + len(self._refused)
            if not is_old and known == len(state.regexes) and self._seen_topics is environment.image.topics_by_name:
                return False
        self._is_resolving = True
        return True

    def resolve(self, environment: HeartbeatContext) -> Generator[None, None, Found]:
        """Match all expressions that members subscribe to, in slices, with the topics that the member may know of whose
        heartbeat began it, as in Kafka."""
        found: dict[str, frozenset[str] | KafkaError] = {}
        try:
            for expression in list(self._state.regexes):
                topics = yield from match_topics(expression, environment.image)
                if environment.sees is not None and not isinstance(topics, KafkaError):
                    topics = frozenset(filter(environment.sees, topics))
                found[expression] = topics
                yield
        finally:
            self._is_resolving = False
        return found

    def write(self, draft: Draft, found: Found, environment: HeartbeatContext, image: MetadataImage) -> None:
        """Write what was found for the expressions that members still subscribe to, and a new epoch if that is news."""
        state = draft.state
        self._resolved_at, self._seen_topics = environment.now, environment.image.topics_by_name
        self._refused = {}
        is_news = False
        for expression, topics in found.items():
            if not state.subscribers(expression):
                continue
            if isinstance(topics, KafkaError):
                self._refused[expression] = topics
                continue
            before = state.expressions.get(expression)
            is_news = is_news or topics != (frozenset() if before is None else before.topics)
            draft.emit(
                records.regular_expression(
                    state.group_id, expression, topics, environment.image.offset, environment.now
                )
            )
        digest = metadata_hash(draft.state, image)
        if is_news or digest != state.metadata_hash:
            draft.emit(records.group_epoch(state.group_id, state.epoch + 1, digest))
