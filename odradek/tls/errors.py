"""What can be wrong with keys and certificates."""


class TlsError(ValueError):
    """A store, a key, a certificate or a rule that cannot be used; the message says which and why, and no secret."""
