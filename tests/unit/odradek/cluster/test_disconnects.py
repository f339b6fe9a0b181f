"""What a person is told of a lost connection."""

from confluent_kafka import KafkaError

from odradek.cluster.disconnects import Disconnects

ALL_DOWN = KafkaError(KafkaError._ALL_BROKERS_DOWN)


def test_a_loss_and_its_end_are_told_once_each() -> None:
    """However often the client reports it."""
    told: list[str] = []
    disconnects = Disconnects("there:9092", told.append)
    disconnects.over()
    for _ in range(2):
        disconnects.on_error(KafkaError(KafkaError._TRANSPORT))
        disconnects.on_error(ALL_DOWN)
        disconnects.on_error(ALL_DOWN)
        disconnects.over()
        disconnects.over()
    lost, again = "the connection to there:9092 is lost; trying on", "connected to there:9092 again"
    assert told == [lost, again, lost, again]
