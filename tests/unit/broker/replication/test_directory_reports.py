"""When a controller is told of the directories of replicas, and when again."""

from collections.abc import Mapping
from uuid import UUID

from odradek.broker.metadata.image import ImageDelta, MetadataImage
from odradek.broker.nodes.controller_channel import ControllerChannel
from odradek.broker.nodes.requests import Disconnected, NodeAddress
from odradek.broker.replication.directory_reports import DirectoryReports
from odradek.broker.replication.replica_directories import MOST_REPLICAS
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.assign_replicas_to_dirs import (
    AssignedDirectoryResult,
    AssignedPartitionResult,
    AssignedTopicResult,
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
)
from odradek.storage.names import TopicPartition
from tests.support.manual_loop import ManualLoop
from tests.support.memory_network import Answer, MemoryConnector
from tests.unit.broker.replication.directories import HERE, NODE, TOPIC_ID, a_partition, an_image

NO_REFUSALS: Mapping[int, ErrorCode] = {}


class Broker:
    """The reports of a broker with open logs, and a controller over a network in memory."""

    def __init__(self, partitions: int) -> None:
        self.loop = ManualLoop()
        self.network = MemoryConnector()
        self.image = MetadataImage()
        self.open = set(range(partitions))
        address = NodeAddress("controller", 1)
        channel = ControllerChannel(self.loop, self.network, lambda: address, "broker-1-directory-assignments", 30.0)
        self.reports = DirectoryReports(
            self.loop, channel.send, NODE, lambda: 7, lambda: self.image, lambda tp, _: self._locate(tp)
        )
        self.publish(an_image([a_partition() for _ in range(partitions)]))

    def _locate(self, partition: TopicPartition) -> UUID | None:
        return HERE if partition.partition in self.open else None

    def publish(self, image: MetadataImage) -> None:
        """Let the broker see newer metadata."""
        old, self.image = self.image, image
        self.reports.on_metadata(old, image, ImageDelta())
        self.loop.settle()

    def asked(self) -> list[int] | None:
        """Return the partitions that the request under way names, None where there is none."""
        waiting = self.network.waiting
        if not waiting:
            return None
        ((request, _),) = waiting[0].asked
        assert isinstance(request, AssignReplicasToDirsRequest)
        assert (request.broker_id, request.broker_epoch) == (NODE, 7)
        ((topic,),) = [directory.topics for directory in request.directories]
        return [one.partition_index for one in topic.partitions]

    def answer(self, refused: Mapping[int, ErrorCode] = NO_REFUSALS, code: ErrorCode = ErrorCode.NONE) -> None:
        """Answer the request under way."""
        results = [
            AssignedPartitionResult(partition_index=index, error_code=refused.get(index, ErrorCode.NONE))
            for index in self.asked() or []
        ]
        topic = AssignedTopicResult(topic_id=TOPIC_ID, partitions=results)
        directories = [] if code else [AssignedDirectoryResult(id=HERE, topics=[topic])]
        self.reply(AssignReplicasToDirsResponse(error_code=code, directories=directories))

    def reply(self, answer: Answer) -> None:
        """Answer the request under way with this."""
        self.network.waiting[0].answer(answer)
        self.loop.settle()


def test_all_that_differs_is_told_in_one_request_after_the_publish() -> None:
    """And not again once it was noted."""
    broker = Broker(3)
    assert broker.asked() == [0, 1, 2]
    broker.answer()
    broker.publish(an_image([a_partition(HERE) for _ in range(3)]))
    broker.loop.advance(60)
    assert broker.asked() is None


def test_a_log_that_is_opened_later_is_told_then() -> None:
    """Logs of a large topic are made little by little; those of one turn share a request."""
    broker = Broker(0)
    broker.publish(an_image([a_partition(), a_partition(), a_partition()]))
    assert broker.asked() is None
    broker.open |= {1, 2}
    broker.reports.opened(TOPIC_ID, 1)
    broker.reports.opened(TOPIC_ID, 2)
    assert broker.asked() is None
    broker.loop.settle()
    assert broker.asked() == [1, 2]


def test_a_request_has_no_more_than_a_controller_takes() -> None:
    """The rest follows at once when that is noted, one request at a time."""
    broker = Broker(MOST_REPLICAS + 5)
    assert broker.asked() == list(range(MOST_REPLICAS))
    broker.answer()
    assert broker.asked() == list(range(MOST_REPLICAS, MOST_REPLICAS + 5))


def test_what_is_refused_is_told_again_ever_more_rarely_and_alone() -> None:
    """After 100 ms, 200 ms and so on to ten seconds, and after 100 ms again once it went well."""
    broker = Broker(3)
    delay_s = 0.1
    broker.answer({1: ErrorCode.UNKNOWN_TOPIC_ID})
    for _ in range(9):
        broker.loop.advance(delay_s * 0.9)
        assert broker.asked() is None
        broker.loop.advance(delay_s * 0.2)
        assert broker.asked() == [1]
        broker.answer(code=ErrorCode.STALE_BROKER_EPOCH)
        delay_s = min(delay_s * 2, 10)
    broker.loop.advance(10)
    broker.answer()
    broker.publish(an_image([a_partition() for _ in range(3)]))
    broker.answer(code=ErrorCode.UNKNOWN_SERVER_ERROR)
    broker.loop.advance(0.11)
    assert broker.asked() == [0, 1, 2]


def test_what_is_known_by_then_is_not_told_again() -> None:
    """A deleted topic would be refused for ever."""
    broker = Broker(2)
    broker.answer({0: ErrorCode.UNKNOWN_TOPIC_ID, 1: ErrorCode.UNKNOWN_TOPIC_ID})
    broker.publish(an_image([a_partition(HERE), a_partition(HERE)]))
    broker.loop.advance(60)
    assert broker.asked() is None


def test_a_controller_that_is_gone_is_replaced_by_the_next() -> None:
    """The request is put again; nobody has to see the difference a second time."""
    broker = Broker(1)
    broker.reply(Disconnected("gone"))
    assert broker.asked() is None
    broker.loop.advance(0.2)
    assert broker.asked() == [0]
    broker.answer(code=ErrorCode.NOT_CONTROLLER)
    broker.loop.advance(0.2)
    assert broker.asked() == [0]


def test_nothing_is_told_after_a_stop() -> None:
    """Not even what waited for its next turn."""
    broker = Broker(1)
    broker.answer({0: ErrorCode.UNKNOWN_TOPIC_ID})
    broker.reports.stop()
    broker.loop.advance(60)
    assert broker.asked() is None
