"""IncrementalAlterConfigs at a broker whose controllers are elsewhere: its own loggers change here, the rest there.

Owns: which resources of a request are whose, and one answer out of both. Values of brokers are judged here, since
Apache Kafka's controller keeps whatever it is given. A request without loggers and with nothing to refuse goes on as it
came.
Must not know: what a logger is. Source: `ConfigAdminManager` (KIP-412, KIP-590).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, Protocol

from odradek.broker.controller.configs import changes_of_wish
from odradek.broker.metadata.image import ConfigResource, ResourceType
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.responses import CloseConnectionError, Response
from odradek.config.alter import ConfigChange
from odradek.protocol.codec import DecodeError, EncodeError, decode, encode
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.headers import (
    RequestHeader,
    decode_request_header,
    encode_request_header,
    encode_response_header,
)
from odradek.protocol.messages.incremental_alter_configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

LARGEST_LOOKED_INTO: Final = 64 * 1024
"""Bytes of a request in which loggers are looked for; a larger one is the controller's, which has no such loggers."""

_Results = dict[ConfigResource, AlterConfigsResourceResponse]


class ChangeLoggers(Protocol):
    """Sets levels of the node named; raises KafkaError where that is not this one, or cannot be done."""

    def __call__(self, node: str, changes: Sequence[ConfigChange], *, validate_only: bool) -> None: ...


class LoggerChanges:
    """Divides requests between this broker and the controller."""

    def __init__(
        self,
        forward: Callable[[RequestContext, memoryview], Deferred[Response]],
        change_loggers: ChangeLoggers,
        check_broker: Callable[[ConfigResource, Sequence[ConfigChange]], object],
        may: Callable[[RequestContext], bool] | None = None,
    ) -> None:
        """`forward` hands a whole frame on; `check_broker` raises KafkaError for what no broker can be set to; `may`
        says who may change brokers and their loggers, without it everybody may."""
        self._may = may
        self._forward = forward
        self._check_broker = check_broker
        self._change_loggers = change_loggers

    def handle(self, context: RequestContext, frame: memoryview) -> Response | Deferred[Response]:
        """Change the loggers that a request names, and hand on what else it names.

        Raises CloseConnectionError where it is no request, or its answer has no form.
        """
        if len(frame) > LARGEST_LOOKED_INTO:
            return self._forward(context, frame)
        try:
            header, position = decode_request_header(frame)
            request = decode(IncrementalAlterConfigsRequest, frame, header.api_version, position)[0]
        except DecodeError as bad:
            raise CloseConnectionError(f"a change of configs does not parse: {bad}") from None
        resources = request.resources
        results = self._decide(context, resources, validate_only=request.validate_only)
        if not results:
            return self._forward(context, frame)
        rest = [one for one in resources if _key(one) not in results]
        asked = [_key(one) for one in resources]
        if not rest:
            answer = _encoded(header, asked, results)
            if isinstance(answer, CloseConnectionError):
                raise answer
            return answer
        reduced = IncrementalAlterConfigsRequest(resources=rest, validate_only=request.validate_only)
        handed_on = encode_request_header(header) + encode(reduced, header.api_version)
        return self._forward(context, memoryview(handed_on)).then(partial(_joined, header, asked, results))

    def _decide(
        self, context: RequestContext, resources: Sequence[AlterConfigsResource], *, validate_only: bool
    ) -> _Results:
        """Change loggers, and refuse what cannot be; return what became of these."""
        times = Counter(map(_key, resources))
        results: _Results = {}
        for one in resources:
            key = _key(one)
            if key.type not in (ResourceType.BROKER, ResourceType.BROKER_LOGGER):
                continue
            refusal: KafkaError | None = None
            try:
                if self._may is not None and not self._may(context):
                    raise KafkaError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed.")
                changes = changes_of_wish(
                    times[key],
                    one.configs,
                    lambda configs: [ConfigChange(one.name, one.config_operation, one.value) for one in configs],
                )
                if key.type == ResourceType.BROKER:
                    self._check_broker(key, changes)
                    continue
                self._change_loggers(key.name, changes, validate_only=validate_only)
            except KafkaError as error:
                refusal = error.detached()
            results[key] = _result(key, refusal)
        return results


def _joined(header: RequestHeader, asked: Sequence[ConfigResource], results: _Results, answer: Response) -> Response:
    """Return the answer to a whole request, of what was done here and the controller's answer to the rest."""
    if not isinstance(answer, bytes):
        return answer
    version = header.api_version
    position = len(encode_response_header(header.correlation_id, header.api_key, version))
    try:
        told = decode(IncrementalAlterConfigsResponse, answer, version, position)[0]
    except DecodeError as bad:
        return CloseConnectionError(f"the controller's answer to a change of configs does not parse: {bad}")
    others = {ConfigResource(one.resource_type, one.resource_name): one for one in told.responses}
    return _encoded(header, asked, others | results, told.throttle_time_ms)


def _encoded(
    header: RequestHeader, asked: Sequence[ConfigResource], results: _Results, throttle_time_ms: int = 0
) -> bytes | CloseConnectionError:
    missing = KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "the controller did not say what became of it")
    response = IncrementalAlterConfigsResponse(
        throttle_time_ms=throttle_time_ms, responses=[results.get(one) or _result(one, missing) for one in asked]
    )
    try:
        body = encode(response, header.api_version)
    except EncodeError as bad:
        return CloseConnectionError(f"the answer cannot be written: {bad}")
    return encode_response_header(header.correlation_id, header.api_key, header.api_version) + body


def _key(resource: AlterConfigsResource) -> ConfigResource:
    return ConfigResource(resource.resource_type, resource.resource_name)


def _result(key: ConfigResource, refusal: KafkaError | None) -> AlterConfigsResourceResponse:
    return AlterConfigsResourceResponse(
        error_code=ErrorCode.NONE if refusal is None else refusal.code,
        error_message=None if refusal is None else refusal.message or None,
        resource_type=key.type,
        resource_name=key.name,
    )
