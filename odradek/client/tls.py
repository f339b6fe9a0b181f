"""TLS of a connection, from client settings by librdkafka's names."""

from __future__ import annotations

import ssl
from collections.abc import Mapping


def tls_context(settings: Mapping[str, str]) -> ssl.SSLContext:
    """Return how to speak TLS with these `ssl.*` settings.

    Raises:
        OSError, ValueError: the files that they name cannot be used.
    """
    context = ssl.create_default_context(cafile=settings.get("ssl.ca.location"), cadata=settings.get("ssl.ca.pem"))
    if (certificate := settings.get("ssl.certificate.location")) is not None:
        context.load_cert_chain(certificate, settings.get("ssl.key.location"), settings.get("ssl.key.password"))
    if settings.get("ssl.endpoint.identification.algorithm", "https").lower() in ("", "none"):
        context.check_hostname = False
    return context
