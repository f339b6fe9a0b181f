"""A principal as a broker tells it to the controller in an envelope (KIP-590): DefaultKafkaPrincipalBuilder's form.

The version stands before it, as an int16.
"""

from __future__ import annotations

from odradek.protocol.codec import Message, boolean, string


class DefaultPrincipalData(Message, versions="0", flexible="0+"):
    """Who a client is."""

    type: str = string()
    name: str = string()
    token_authenticated: bool = boolean()
