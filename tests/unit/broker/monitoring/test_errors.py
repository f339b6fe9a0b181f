"""Errors in answers are counted by API and code, wherever they stand."""

from odradek.broker.monitoring.errors import ErrorCounts
from odradek.metrics.samples import Samples
from odradek.protocol.codec import Message
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.api_versions import ApiVersionsResponse
from odradek.protocol.messages.metadata import MetadataResponse, MetadataResponsePartition, MetadataResponseTopic
from odradek.protocol.messages.sasl_authenticate import SaslAuthenticateResponse
from odradek.protocol.registry import API


def counts(errors: ErrorCounts) -> dict[tuple[str, ...], object]:
    """Return what is told of errors."""
    samples = Samples()
    for _ in errors.collect(samples, 1.0):
        pass
    return {**samples.of("kafka_network_requestmetrics_errors_total")}


def test_codes_are_found_at_every_depth() -> None:
    """Of the answer, of topics, of their partitions; each by itself, and those without an error not at all."""
    errors = ErrorCounts()
    partitions = [MetadataResponsePartition(error_code=code) for code in (0, 5, 5)]
    topics = [MetadataResponseTopic(error_code=3), MetadataResponseTopic(partitions=partitions)]
    for _ in range(2):
        errors.answered(MetadataResponse(topics=topics))
    errors.answered(ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION))
    errors.answered(SaslAuthenticateResponse())
    assert counts(errors) == {
        ("Metadata", "UNKNOWN_TOPIC_OR_PARTITION"): 2,
        ("Metadata", "LEADER_NOT_AVAILABLE"): 4,
        ("ApiVersions", "UNSUPPORTED_VERSION"): 1,
    }


def test_nothing_is_told_where_nothing_was_refused() -> None:
    """Every answer that there is can be looked at."""
    errors = ErrorCounts()
    for api in API.values():
        answer = api.response()
        assert isinstance(answer, Message)
        if hasattr(answer, "error_code"):
            answer.error_code = 0
        errors.answered(answer)
    assert counts(errors) == {}


def test_codes_that_nobody_knows_are_one_series() -> None:
    """A controller of a later Kafka may answer anything."""
    errors = ErrorCounts()
    for code in (30_000, 30_001):
        errors.answered(SaslAuthenticateResponse(error_code=code))
    assert counts(errors) == {("SaslAuthenticate", "UNKNOWN_SERVER_ERROR"): 2}
