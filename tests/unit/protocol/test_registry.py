"""The table of APIs agrees with Kafka's, and gives the messages of each."""

import subprocess
import sys

import pytest

from odradek.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from odradek.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from odradek.protocol.registry import API, ApiKey, DecodeError, EncodeError, decode, encode, encode_into
from tests.unit.protocol.declared import kafka_messages, rows

KAFKA_APIS = {int(row["key"]): row for row in rows("apis.tsv")}


def test_keys_are_those_of_kafka() -> None:
    """Every API of Kafka 4.3 has its key here, under its name."""
    names = {key.value: key.name.replace("_", "").lower() for key in ApiKey}
    assert names == {key: row["name"].lower() for key, row in KAFKA_APIS.items()}


@pytest.mark.parametrize("key", sorted(API))
def test_served_versions_are_the_stable_ones_of_kafka(key: ApiKey) -> None:
    """From the first that there ever was to the last that Kafka 4.3 serves as stable; flexible from the same one on."""
    api, row = API[key], KAFKA_APIS[key]
    first, first_listed = min(kafka_messages()[f"{api.name}Request"]), int(row["versions"].split("-")[0])
    assert (api.name, *api.served) == (row["name"], first, int(row["stable"]))
    flexible = None if api.first_flexible is None else max(api.first_flexible, first_listed)
    assert flexible == (None if row["flexible_from"] == "-" else int(row["flexible_from"]))


def test_versions_that_kafka_4_dropped_are_the_old_ones() -> None:
    """The table of Kafka 4.3 begins later for just these (KIP-896); their first version is 0 here."""
    dropped = {api.name: int(KAFKA_APIS[key]["versions"].split("-")[0]) for key, api in API.items()}
    assert {name: first for name, first in dropped.items() if first} == {
        "Produce": 3,
        "Fetch": 4,
        "ListOffsets": 1,
        "OffsetCommit": 2,
        "OffsetFetch": 1,
        "CreateTopics": 2,
        "DeleteTopics": 1,
        "OffsetForLeaderEpoch": 2,
        "WriteTxnMarkers": 1,
        "CreateDelegationToken": 1,
        "RenewDelegationToken": 1,
        "ExpireDelegationToken": 1,
        "DescribeDelegationToken": 1,
        "DescribeAcls": 1,
        "CreateAcls": 1,
        "DeleteAcls": 1,
        "DescribeConfigs": 1,
        "AlterReplicaLogDirs": 1,
        "DescribeLogDirs": 1,
        "AlterPartition": 2,
    }
    assert {api.served.first for api in API.values()} == {0}


def test_a_plain_int_finds_its_api() -> None:
    """The key of a request header is an int: it needs no conversion."""
    assert API[18].key is ApiKey.API_VERSIONS  # type: ignore[index]  # that is the point
    assert 9999 not in API


def test_messages_of_an_api_are_found() -> None:
    """The classes are those of the API's module, and the API says its name in logs."""
    api = API[ApiKey.METADATA]
    assert api.request is MetadataRequest
    assert api.response is MetadataResponse
    assert repr(api) == "<Api 3 Metadata 0-13>"


def test_messages_are_imported_on_first_use_only() -> None:
    """A process that has imported the registry has imported no message: a broker starts without them."""
    messages = "[m for m in sys.modules if m.startswith('odradek.protocol.messages')]"
    program = f"import sys, odradek.protocol.registry; print({messages})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


def test_encode_and_decode_go_both_ways() -> None:
    """What is encoded decodes to an equal message, and the end is reported."""
    request = MetadataRequest(topics=[MetadataRequestTopic(name="orders")])
    frame = encode(request, 12)
    assert decode(MetadataRequest, frame, 12) == (request, len(frame))


def test_encode_into_appends() -> None:
    """Encoding goes on where the buffer ends, so that a header can stand before the message."""
    out = bytearray(b"head")
    encode_into(out, MetadataRequest(topics=None), 4)
    assert bytes(out) == b"head" + encode(MetadataRequest(topics=None), 4)


@pytest.mark.parametrize("version", [-1, 14, 9999])
def test_unknown_versions_are_refused(version: int) -> None:
    """A version that does not exist is an error of the codec, not a KeyError."""
    with pytest.raises(DecodeError, match="MetadataRequest has no version"):
        decode(MetadataRequest, b"", version)
    with pytest.raises(EncodeError, match="MetadataRequest has no version"):
        encode(MetadataRequest(), version)


def test_api_versions_response_of_version_0_is_what_every_client_can_read() -> None:
    """The answer to a version from the future: error, then one key with its range, nothing else."""
    own = API[ApiKey.API_VERSIONS]
    offered = ApiVersion(api_key=own.key, min_version=own.served.first, max_version=own.served.last)
    response = ApiVersionsResponse(error_code=35, api_keys=[offered])
    assert encode(response, 0) == bytes.fromhex("0023 00000001 0012 0000 0004")
