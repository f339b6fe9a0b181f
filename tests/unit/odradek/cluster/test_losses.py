"""What a person is told of a lost connection."""

from confluent_kafka import KafkaError

from odradek.cluster.losses import Losses

ALL_DOWN = KafkaError(KafkaError._ALL_BROKERS_DOWN)


def test_a_loss_and_its_end_are_told_once_each() -> None:
    """However often the client reports it."""
    told: list[str] = []
    losses = Losses("there:9092", told.append)
    losses.over()
    for _ in range(2):
        losses.on_error(KafkaError(KafkaError._TRANSPORT))
        losses.on_error(ALL_DOWN)
        losses.on_error(ALL_DOWN)
        losses.over()
        losses.over()
    lost, again = "the connection to there:9092 is lost; trying on", "connected to there:9092 again"
    assert told == [lost, again, lost, again]
