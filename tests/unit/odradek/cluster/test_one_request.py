"""Requests over a connection of our own."""

from odradek.cluster.one_request import can_ask


def test_only_plaintext_listeners_can_be_asked() -> None:
    """Others need what only librdkafka has."""
    assert can_ask({})
    assert can_ask({"security.protocol": "PLAINTEXT"})
    assert not can_ask({"security.protocol": "SASL_SSL"})
