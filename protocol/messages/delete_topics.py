"""DeleteTopics (api key 20): delete topics by name, or since v6 by id.

Version notes: throttle time comes with v1, flexible encoding with v4, error messages and quota errors with v5
(KIP-599), topic ids with v6 (KIP-516), which also replaces the list of names by a list of structs.
"""

from __future__ import annotations

from uuid import UUID

from odradek.protocol.codec import Message, Struct, array, int16, int32, string, uuid


class DeleteTopicState(Struct):
    """One topic, by name or by id."""

    name: str | None = string(nullable="0+", default=None)
    topic_id: UUID = uuid()


class DeleteTopicsRequest(Message, api_key=20, versions="0-6", flexible="4+"):
    """The topics to delete."""

    topics: list[DeleteTopicState] = array(DeleteTopicState, "6+")
    topic_names: list[str] = array(string, "0-5")
    timeout_ms: int = int32()


class DeletableTopicResult(Struct):
    """One topic."""

    name: str | None = string(nullable="6+")
    topic_id: UUID = uuid("6+")
    error_code: int = int16()
    error_message: str | None = string("5+", nullable="5+", default=None)


class DeleteTopicsResponse(Message, api_key=20, versions="0-6", flexible="4+"):
    """What became of each topic."""

    throttle_time_ms: int = int32("1+")
    responses: list[DeletableTopicResult] = array(DeletableTopicResult)
