"""Kafka Streams counts words exactly once, unmodified: its topics, its group and its transactions are the broker's."""

import random
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer, TopicPartition

from tests.conftest import BrokerFactory
from tests.integration.test_transactions import QUIET, new_consumer, send
from tests.interop import hand_over
from tests.support.broker import BrokerProcess
from tests.support.kafka_jars import ensure_streams_jars
from tests.support.waiting import eventually

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

PROGRAM = Path(__file__).parent / "clients" / "WordCount.java"
TIMEOUT_S = 90
PARTITIONS = 2
WORDS = ["how", "much", "wood", "would", "a", "woodchuck", "chuck"]


class WordCount:
    """The program as a process that is started, killed and started again."""

    def __init__(self, bootstrap: str, directory: Path) -> None:
        quick = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Xmx128m"]
        self._command = ["java", *quick, "-cp", f"{ensure_streams_jars()}/*", str(PROGRAM)]
        self._command += [bootstrap, "lines", "counts", str(directory / "state")]
        self._output = directory / "word-count.txt"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it."""
        with self._output.open("ab") as output:
            self._process = subprocess.Popen(self._command, stdout=output, stderr=subprocess.STDOUT)

    def kill(self) -> None:
        """Kill it, if it runs."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    @property
    def said(self) -> str:
        """Its last words."""
        return self._output.read_text()[-3000:]


class Counts:
    """A reader of what is committed of the counts: of each word, one after the other."""

    def __init__(self, bootstrap: str) -> None:
        self.found: defaultdict[str, list[int]] = defaultdict(list)
        self._consumer = new_consumer(bootstrap, "reader", **{"enable.partition.eof": False})
        self._consumer.assign([TopicPartition("counts", partition, 0) for partition in range(PARTITIONS)])

    def number(self) -> int:
        """Read on, and return how many there are."""
        for message in self._consumer.consume(1000, 0.2):
            if message.error() is None:
                self.found[(message.key() or b"").decode()].append(int.from_bytes(message.value() or b"", "big"))
        return sum(map(len, self.found.values()))


@pytest.fixture
def counting(new_broker: BrokerFactory, tmp_path: Path) -> Iterator[tuple[BrokerProcess, WordCount]]:
    """A broker with the topics, and the program."""
    broker = new_broker({"transaction.abort.timed.out.transaction.cleanup.interval.ms": "500"})
    broker.start()
    for topic in ("lines", "counts"):
        hand_over.create(broker, topic, PARTITIONS)
    program = WordCount(broker.bootstrap, tmp_path)
    yield broker, program
    program.kill()


def test_words_are_counted_exactly_once(counting: tuple[BrokerProcess, WordCount]) -> None:
    """Each count of each word is committed once, in order, though the program is killed, and the broker."""
    broker, program = counting
    chance = random.Random(1)
    counts = Counts(broker.bootstrap)
    expected: Counter[str] = Counter()

    def write(lines: int) -> None:
        producer = Producer({**QUIET, "bootstrap.servers": broker.bootstrap})
        for number in range(lines):
            words = chance.choices(WORDS, k=10)
            producer.produce("lines", " ".join(words), partition=number % PARTITIONS)
            expected.update(words)
        send(producer, "lines")

    def await_counted(number: int) -> None:
        eventually(lambda: counts.number() >= number, f"{number} are counted\n{program.said}", TIMEOUT_S)

    program.start()
    write(500)
    await_counted(1000)
    program.kill()
    write(500)
    program.start()
    await_counted(6000)
    broker.kill()
    broker.start()
    write(500)
    await_counted(expected.total())
    assert {word: times[-1] for word, times in counts.found.items()} == expected
    assert all(times == list(range(1, len(times) + 1)) for times in counts.found.values())
