"""ApiVersions: what a client is told of the broker before it asks for anything."""

import pytest

from odradek.broker.handlers.api_versions import ApiVersionsHandler
from odradek.broker.metadata.features import METADATA_VERSION, SUPPORTED
from odradek.broker.metadata.image import MetadataImage
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from odradek.protocol.registry import API, ApiKey
from tests.support.partitions import context

SERVED = (API[ApiKey.PRODUCE], API[ApiKey.FETCH], API[ApiKey.API_VERSIONS])
IMAGE = MetadataImage(features={METADATA_VERSION: 25, "group.version": 1, "transaction.version": 2}, offset=77)


def ask(version: int = 4, name: str = "librdkafka", software: str = "2.8.0") -> ApiVersionsResponse:
    request = ApiVersionsRequest(client_software_name=name, client_software_version=software)
    return ApiVersionsHandler(SERVED, lambda: IMAGE).api_versions(context(version), request)


@pytest.mark.parametrize("version", range(5))
def test_every_api_that_has_a_handler_is_told_with_its_versions(version: int) -> None:
    """The versions are those of the table that requests are checked against."""
    found = ask(version)
    assert found.error_code == 0
    assert [(each.api_key, each.min_version, each.max_version) for each in found.api_keys] == [
        (api.key, *api.served) for api in SERVED
    ]


def test_produce_is_advertised_from_version_0_on() -> None:
    """Or librdkafka before 2.8 stops compressing (KAFKA-18659)."""
    produce = ask().api_keys[0]
    assert (produce.api_key, produce.min_version) == (ApiKey.PRODUCE, 0)


def test_only_features_that_are_served_are_told() -> None:
    """Whatever the directory has finalized: of share groups nothing is here, so nothing is told."""
    found = ask(4)
    assert {each.name: (each.min_version_level, each.max_version_level) for each in found.finalized_features} == {
        METADATA_VERSION: (25, 25),
        "group.version": (1, 1),
        "transaction.version": (2, 2),
    }
    assert {each.name: (each.min_version, each.max_version) for each in found.supported_features} == {
        METADATA_VERSION: (7, SUPPORTED[METADATA_VERSION]),
        "eligible.leader.replicas.version": (0, 1),
        "group.version": (0, 1),
        "kraft.version": (0, 1),
        "transaction.version": (0, 2),
    }
    assert found.finalized_features_epoch == 77


def test_level_0_is_not_told_before_version_4() -> None:
    """Older clients take such a range for a fault and close the connection (KIP-1022)."""
    assert [each.name for each in ask(3).supported_features] == [METADATA_VERSION]


@pytest.mark.parametrize(
    ("name", "software"),
    [
        ("", "1.0"),
        ("client", ""),
        ("-client", "1.0"),
        ("client-", "1.0"),
        ("my client", "1.0"),
        ("client", "1.0\n"),
        ("client", "ü"),
        ("client", "1.0."),
    ],
)
def test_software_that_names_itself_against_the_rules_is_refused(name: str, software: str) -> None:
    """INVALID_REQUEST with nothing else in it (KIP-511)."""
    found = ask(3, name, software)
    assert (found.error_code, found.api_keys) == (ErrorCode.INVALID_REQUEST, [])


@pytest.mark.parametrize("version", [0, 1, 2])
def test_clients_before_version_3_say_nothing_of_themselves(version: int) -> None:
    """Empty names are no fault then."""
    assert ask(version, "", "").error_code == 0


@pytest.mark.parametrize(("name", "software"), [("a", "1"), ("apache-kafka-java", "4.3.0-rc.1"), ("x.y-z", "0")])
def test_software_is_remembered_for_the_connection(name: str, software: str) -> None:
    """It belongs to what is known of a peer."""
    circumstances = context(3)
    request = ApiVersionsRequest(client_software_name=name, client_software_version=software)
    response = ApiVersionsHandler(SERVED, lambda: IMAGE).api_versions(circumstances, request)
    assert response.error_code == 0
    assert (circumstances.client_software_name, circumstances.client_software_version) == (name, software)


def test_image_of_the_moment_is_told() -> None:
    """The handler asks for the image with every request."""
    images = [IMAGE, MetadataImage(offset=78)]
    handler = ApiVersionsHandler(SERVED, lambda: images.pop(0))
    epochs = [
        handler.api_versions(context(0), ApiVersionsRequest()).finalized_features_epoch for _ in range(len(images))
    ]
    assert epochs == [77, 78]
