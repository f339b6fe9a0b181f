"""`ssl.SSLContext`s from the settings of a listener: for those who connect to it, and for connecting to it."""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from odradek.config.tls import ClientAuth, KeyStore, TlsSettings, TrustStore
from odradek.tls import ciphers
from odradek.tls.certificates import Certificate, first_certificate, read_certificate
from odradek.tls.errors import TlsError
from odradek.tls.stores import read_key_store, read_trust_store

_VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_VERIFY: Final = {
    ClientAuth.NONE: ssl.CERT_NONE,
    ClientAuth.REQUESTED: ssl.CERT_OPTIONAL,
    ClientAuth.REQUIRED: ssl.CERT_REQUIRED,
}


class Loaded(NamedTuple):
    """A context, and the certificate that it shows."""

    context: ssl.SSLContext
    certificate: Certificate | None


def server_context(settings: TlsSettings) -> Loaded:
    """Return the context of a listener.

    Raises:
        TlsError: its stores or suites cannot be used; the message says why.
        OSError: a file cannot be read.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _set_versions(context, settings)
    if settings.key_store is None:
        raise TlsError("it has no key: set ssl.keystore.location")
    certificate = _load_key(context, settings.key_store)
    context.verify_mode = _VERIFY[settings.client_auth]
    if settings.client_auth is not ClientAuth.NONE:
        _load_trust(context, settings.trust_store)
    context.options |= ssl.OP_NO_RENEGOTIATION
    return Loaded(context, certificate)


def client_context(settings: TlsSettings) -> Loaded:
    """Return the context for connecting to such a listener; raises what `server_context` raises."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    _set_versions(context, settings)
    context.check_hostname = settings.checks_host_name
    certificate = None if settings.key_store is None else _load_key(context, settings.key_store)
    _load_trust(context, settings.trust_store)
    context.options |= ssl.OP_NO_RENEGOTIATION
    return Loaded(context, certificate)


def _set_versions(context: ssl.SSLContext, settings: TlsSettings) -> None:
    """Set which versions are spoken and which suites are used; a version without any suite is none."""
    versions = [_VERSIONS[name] for name in settings.enabled_protocols]
    if settings.cipher_suites:
        names = [ciphers.openssl_name(suite) for suite in settings.cipher_suites if suite not in ciphers.TLS13]
        unsafe = [one for one in settings.cipher_suites if one not in ciphers.TLS13 and not ciphers.openssl_name(one)]
        if unsafe:
            raise TlsError(f"ssl.cipher.suites: {unsafe[0]} is not offered; no suite of that name is known to be safe")
        if not names:
            versions = [one for one in versions if one is ssl.TLSVersion.TLSv1_3]
        else:
            context.set_ciphers(":".join(name for name in names if name))
            if len(names) == len(settings.cipher_suites):
                versions = [one for one in versions if one is not ssl.TLSVersion.TLSv1_3]
        if not versions:
            raise TlsError("ssl.cipher.suites has no suite for the versions in ssl.enabled.protocols")
    context.minimum_version, context.maximum_version = min(versions), max(versions)


def _load_key(context: ssl.SSLContext, store: KeyStore) -> Certificate:
    material = read_key_store(store)
    password = material.key_password.reveal() if material.key_password else ""
    with _as_file((material.key.reveal() + material.chain).encode()) as path:
        try:
            # a password that is asked for although there is none: OpenSSL must not ask at the terminal
            context.load_cert_chain(path, password=password)
        except ssl.SSLError as wrong:
            place = f"the key store {store.location}" if store.location else "ssl.keystore.key"
            raise TlsError(f"{place}: {_explain(wrong)}") from None
    return read_certificate(first_certificate(material.chain))


def _load_trust(context: ssl.SSLContext, store: TrustStore | None) -> None:
    if store is None:
        context.load_default_certs()  # as Java takes those of its own
        return
    try:
        context.load_verify_locations(cadata=read_trust_store(store))
    except ssl.SSLError as wrong:
        place = f"the trust store {store.location}" if store.location else "ssl.truststore.certificates"
        raise TlsError(f"{place}: {_explain(wrong)}") from None
    # Java trusts whatever is in its store, also a certificate that another one has signed
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN


def _explain(wrong: ssl.SSLError) -> str:
    reason = (wrong.reason or str(wrong)).upper()
    if reason == "KEY_VALUES_MISMATCH":
        return "the key does not belong to the certificate"
    if "DECRYPT" in reason or "PEM LIB" in reason or "PASSWORD" in reason or "PEM_LIB" in reason:
        return "the key or a certificate cannot be read; is the password right?"
    return f"cannot be used: {reason.lower().replace('_', ' ')}"


@contextmanager
def _as_file(data: bytes) -> Iterator[str]:
    """Yield the path of a file with a secret: in memory where the system has that, else one of our own alone."""
    if hasattr(os, "memfd_create") and os.path.isdir("/proc/self/fd"):
        fd = os.memfd_create("key")
        try:
            os.write(fd, data)
            yield f"/proc/self/fd/{fd}"
        finally:
            os.close(fd)
        return
    with tempfile.NamedTemporaryFile() as file:  # mode 0600
        file.write(data)
        file.flush()
        yield file.name
