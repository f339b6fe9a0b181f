"""SaslHandshake (0-1) and SaslAuthenticate (0-2) of a client that need not, or need no longer, say who it is.

A connection that has to is `authentication`'s business, and its frames do not come here before it is done. As in Kafka
both are answered ILLEGAL_SASL_STATE, and the connection stays.
"""

from odradek.broker.runtime.context import RequestContext
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from odradek.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse


class SaslHandlers:
    """Answers what comes too late."""

    def sasl_handshake(self, _context: RequestContext, _request: SaslHandshakeRequest) -> SaslHandshakeResponse:
        """Answer SaslHandshake."""
        return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)

    def sasl_authenticate(
        self, _context: RequestContext, _request: SaslAuthenticateRequest
    ) -> SaslAuthenticateResponse:
        """Answer SaslAuthenticate."""
        return SaslAuthenticateResponse(
            error_code=ErrorCode.ILLEGAL_SASL_STATE,
            error_message="SaslAuthenticate request received after successful authentication",
        )
