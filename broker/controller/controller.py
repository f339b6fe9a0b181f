"""Changing the cluster: every request that alters metadata ends here.

Owns: turning wishes into proposals, several wishes of one request into one proposal, and an answer for each of them;
itself those of topics and configs. What brokers say of themselves is in `broker_control`, what becomes of partitions in
`replication_control`; both propose through `Controller.change`.
Must not know: wire versions, files. A wish is planned on all that was proposed before it, durable or not, and answered
when it is durable, after all before it; also where nothing is to be changed, since what was planned on may fail yet. So
does Kafka's `QuorumController`.

Thousands of partitions cost a quarter of a second of planning: that is done on a thread, and whatever would change the
metadata meanwhile waits for its turn, so that the order stays that of the requests.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final, TypeVar

from odradek.broker.controller.configs import Alteration, check_registered, plan_alteration
from odradek.broker.controller.controller_view import BrokersOf, ControllerView, count_partitions
from odradek.broker.controller.topic_creation import Charge, free
from odradek.broker.controller.topics import (
    MAX_PARTITIONS_PER_REQUEST,
    TOO_MANY,
    NewPartitions,
    NewTopic,
    PlacementRules,
    PlannedTopic,
    TopicPlanner,
    check_total,
    plan_deletion,
    plan_partitions,
)
from odradek.broker.metadata.broker_configs import BrokerConfigs
from odradek.broker.metadata.errors import StaleMetadataError
from odradek.broker.metadata.image import BrokerImage, ConfigResource, MetadataImage, ResourceType, TopicImage
from odradek.broker.metadata.records import MetadataRecord
from odradek.broker.metadata.source import MetadataSource, Stored
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.deferred import Deferred, then
from odradek.broker.runtime.disk_threads import InPlace, Threads
from odradek.broker.runtime.logging import get_logger
from odradek.config.errors import UnknownOperationError
from odradek.protocol.errors import ErrorCode, KafkaError

log = get_logger("controller")

MANY_PARTITIONS: Final = 500
"""New partitions of one request from which on it is planned on a thread; they take some ten milliseconds."""
_CONTROLLERS = frozenset({ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLIENT_METRICS})
"""Kinds of resources of which Kafka leaves all but the form of a change to its controller."""

R = TypeVar("R")
Refusals = list[KafkaError | None]
"""Why each of several wishes was refused, None where it was done."""
Plan = Callable[[ControllerView], tuple[Sequence[MetadataRecord], R]]
"""Makes records and an answer of the cluster as it is; raises KafkaError where nothing can be done."""
_Planned = tuple[Sequence[MetadataRecord], list[R | KafkaError]]
"""The records of what can be done, and what becomes of each wish, in order."""


class Controller:
    """Creates, deletes and extends topics; changes configs.

    What comes later is resolved once the change is durable and all of the broker follows it. A change that cannot be
    stored is an error for every wish of the request.
    """

    def __init__(
        self,
        source: MetadataSource,
        rules: PlacementRules,
        configs: BrokerConfigs,
        brokers_of: BrokersOf,
        *,
        configures_all: bool = False,
    ) -> None:
        """`configures_all`: whether the configs of other brokers are kept here, and not those of this node alone."""
        self._configured_node = None if configures_all else configs.node_id
        self._source = source
        self._rules = rules
        self._configs = configs
        self._brokers_of = brokers_of
        self._threads: Threads = InPlace()
        self._is_planning = False
        """Whether a thread plans on the image `proposed`, which must stay the newest until it has."""
        self._in_line: deque[Callable[[], object]] = deque()

    def use_threads(self, threads: Threads) -> None:
        """Plan what is large on these threads."""
        self._threads = threads

    def in_turn(self, work: Callable[[], R | Deferred[R]]) -> R | Deferred[R]:
        """Do what proposes a change, now or after what is being planned on a thread, and return what it comes to."""
        if not self._is_planning:
            return work()
        later: Deferred[R] = Deferred()
        self._in_line.append(lambda: _hand_over(work(), later))
        return later

    @property
    def image(self) -> MetadataImage:
        """The newest image that is durable."""
        return self._source.image

    @property
    def proposed(self) -> MetadataImage:
        """The image after all changes that are under way: what a request names is looked up in it."""
        return self._source.proposed

    def view(self, image: MetadataImage) -> ControllerView:
        """Return what decisions on an image are based on."""
        return ControllerView(image, self._brokers_of(image), lambda: self._configs.layers_with(image).effective)

    def brokers(self) -> Mapping[int, BrokerImage]:
        """Return the brokers as they are after all changes that are under way."""
        return self._brokers_of(self._source.proposed)

    def change(self, plan: Plan[R], refused: Callable[[KafkaError], R], *, wishes: int = 0) -> R | Deferred[R]:
        """Propose what `plan` makes of the newest image; return its answer once that is durable.

        Where `plan` raises a KafkaError nothing is proposed, and the answer is what `refused` makes of the error; so it
        is where the records could not be stored. In a cluster of many partitions, and for many `wishes`, the plan is
        made on a thread: it must not touch what the event loop changes.
        """

        def plan_one(image: MetadataImage) -> _Planned[R]:
            try:
                records, answer = plan(self.view(image))
            except KafkaError as error:
                return [], [error.detached()]
            return records, [answer]

        def answer(results: list[R | KafkaError]) -> R:
            (result,) = results
            return refused(result) if isinstance(result, KafkaError) else result

        return then(self._change(plan_one, max(wishes, count_partitions(self._source.proposed)), 1), answer)

    def create_topics(
        self,
        topics: Sequence[NewTopic],
        *,
        validate_only: bool = False,
        charge: Charge = free,
        client: RequestContext | None = None,  # noqa: ARG002  # `charge` knows it
    ) -> list[PlannedTopic | KafkaError] | Deferred[list[PlannedTopic | KafkaError]]:
        """Create the topics that can be created, all in one change; return what became of each, in order.

        Names must not repeat. `charge` is told of the partitions of each topic that can be created, and raises
        KafkaError where they are too many. Raises KafkaError if the request as a whole is refused.
        """

        def plan(image: MetadataImage) -> _Planned[PlannedTopic]:
            planner = TopicPlanner(self.view(image), self._rules)
            results = [_attempt(planner, topic, charge) for topic in topics]
            records = [record for topic in results if isinstance(topic, PlannedTopic) for record in topic.records]
            return [] if validate_only else records, results

        return self._change(plan, check_total(topics, self._rules), len(topics))

    def delete_topics(self, topics: Iterable[TopicImage]) -> KafkaError | Deferred[KafkaError | None] | None:
        """Delete topics of the image `proposed`, all in one change; return why it could not be stored."""
        image = self._source.proposed
        stored = self._source.propose([plan_deletion(topic) for topic in topics], image)
        return then(stored, lambda outcome: outcome if isinstance(outcome, KafkaError) else None)

    def create_partitions(
        self, wishes: Sequence[NewPartitions], *, validate_only: bool = False, charge: Charge = free
    ) -> Refusals | Deferred[Refusals]:
        """Add partitions to the topics where it can be done, all in one change; return the error of each, in order.

        Names must not repeat; `charge` as for `create_topics`.
        """

        def plan(image: MetadataImage) -> _Planned[None]:
            total = 0
            view = self.view(image)

            def plan_one(wish: NewPartitions) -> list[MetadataRecord]:
                nonlocal total
                added = plan_partitions(view, wish, self._rules) if total <= MAX_PARTITIONS_PER_REQUEST else []
                total += len(added)
                if total > MAX_PARTITIONS_PER_REQUEST:
                    raise KafkaError(ErrorCode.POLICY_VIOLATION, TOO_MANY)
                charge(len(added))
                return added

            records, results = _plan_all([partial(plan_one, wish) for wish in wishes])
            return [] if validate_only else records, results

        return self._change(plan, sum(max(0, wish.total) for wish in wishes), len(wishes))

    def alter_configs(
        self, wishes: Sequence[tuple[ConfigResource, Alteration]], *, validate_only: bool = False
    ) -> Refusals | Deferred[Refusals]:
        """Change configs where it can be done, all in one change; return the error of each, in order.

        Resources must not repeat. An operation that there is not ends the request, as in Kafka: nothing is changed,
        and every resource has that error but those that Kafka's broker refuses before its controller is asked.
        """

        def plan(image: MetadataImage) -> _Planned[None]:
            layers, node_id = self._configs.layers_with(image), self._configured_node
            unknown: KafkaError | None = None

            def plan_one(resource: ConfigResource, alteration: Alteration) -> list[MetadataRecord]:
                nonlocal unknown
                try:
                    if node_id is None:
                        check_registered(resource, {*image.brokers, self._configs.node_id})
                    usable = self._configs.usable_for(resource.name)
                    return plan_alteration(image, resource, alteration, node_id, layers, usable)
                except UnknownOperationError as error:
                    unknown = KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, str(error))
                    raise unknown from error

            plans = [partial(plan_one, resource, alteration) for resource, alteration in wishes]
            records, results = _plan_all(plans)
            if unknown is not None:
                records = []
                results = [
                    result if result is not None and resource.type not in _CONTROLLERS else unknown
                    for (resource, _), result in zip(wishes, results, strict=True)
                ]
            return [] if validate_only else records, results

        return self._change(plan, 0, len(wishes))

    def _change(
        self, plan: Callable[[MetadataImage], _Planned[R]], partitions: int, wishes: int
    ) -> list[R | KafkaError] | Deferred[list[R | KafkaError]]:
        """Propose what `plan` makes of the newest image; return its results, or the error for all of the wishes.

        `partitions` are how many it may come to: many are planned on a thread.
        """

        def prepare() -> tuple[Callable[[], Stored | Deferred[Stored]], list[R | KafkaError]]:
            image = self._source.proposed
            records, results = plan(image)
            return self._source.prepare(records, image), results

        def propose(
            propose_prepared: Callable[[], Stored | Deferred[Stored]], results: list[R | KafkaError]
        ) -> list[R | KafkaError] | Deferred[list[R | KafkaError]]:
            return then(
                propose_prepared(), lambda stored: [stored] * wishes if isinstance(stored, KafkaError) else results
            )

        def plan_on_thread() -> list[R | KafkaError] | Deferred[list[R | KafkaError]]:
            later: Deferred[list[R | KafkaError]] = Deferred()
            prepared: list[tuple[Callable[[], Stored | Deferred[Stored]], list[R | KafkaError]]] = []

            def proposed(failed: BaseException | None) -> None:
                self._is_planning = False
                try:
                    if failed is not None:
                        raise failed
                    _hand_over(propose(*prepared[0]), later)
                except Exception as error:  # noqa: BLE001 - whoever waits must not wait for ever
                    later.resolve([_refusal(error)] * wishes)
                while self._in_line and not self._is_planning:
                    self._in_line.popleft()()

            self._is_planning = True
            self._threads.submit(lambda: prepared.append(prepare()), proposed)
            return later.now_or_later()

        return self.in_turn(plan_on_thread if partitions > MANY_PARTITIONS else lambda: propose(*prepare()))


def _hand_over(outcome: R | Deferred[R], later: Deferred[R]) -> None:
    if isinstance(outcome, Deferred):
        outcome.on_done(later.resolve)
    else:
        later.resolve(outcome)


def _refusal(failed: Exception) -> KafkaError:
    if isinstance(failed, StaleMetadataError):  # the disk refused what it was planned on
        return KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, str(failed))
    log.error("a change of many partitions could not be planned", exc_info=failed)
    return KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)


def _attempt(planner: TopicPlanner, topic: NewTopic, charge: Charge) -> PlannedTopic | KafkaError:
    try:
        planned = planner.plan(topic)
        charge(planned.num_partitions)
        return planned
    except KafkaError as error:
        return error.detached()


def _plan_all(
    plans: Iterable[Callable[[], list[MetadataRecord]]],
) -> tuple[list[MetadataRecord], Refusals]:
    """Return the records of the plans that can be carried out, and the error of each plan, in order."""
    records: list[MetadataRecord] = []
    results: Refusals = []
    for plan in plans:
        try:
            records += plan()
            results.append(None)
        except KafkaError as error:
            results.append(error.detached())
    return records, results
