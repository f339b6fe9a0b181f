"""Java's own key store format, JKS: what it holds, and the cipher that its keys are in.

Format (sun.security.provider.JavaKeyStore, version 2), numbers in network order:

    u32 FEEDFEED, u32 version, u32 count, entries, SHA-1(password as UTF-16BE, "Mighty Aphrodite", all before)
    entry: u32 1 (key) or 2 (certificate), alias, u64 time; a string is u16 length and text
    key: u32 length, EncryptedPrivateKeyInfo, u32 count of certificates; certificate: string "X.509", u32 length, DER

A key is XORed with a stream of SHA-1 blocks: the first of password and salt, each other of password and the one before
(sun.security.provider.KeyProtector, 1.3.6.1.4.1.42.2.17.1.1). That is no protection to speak of; whoever can read the
file should be one who may have the key.
"""

from __future__ import annotations

import hmac
from hashlib import sha1
from struct import Struct, error
from typing import Final, NamedTuple

from odradek.tls import der
from odradek.tls.errors import TlsError

MAGIC: Final = b"\xfe\xed\xfe\xed"
_WHITENER: Final = b"Mighty Aphrodite"
_HASH_BYTES: Final = 20
_KEY, _CERTIFICATE = 1, 2
_U16, _U32, _U64 = Struct(">H"), Struct(">I"), Struct(">Q")
_PROTECTED: Final = "1.3.6.1.4.1.42.2.17.1.1"


class JksKey(NamedTuple):
    """A key with its certificates, its own first."""

    protected: bytes
    chain: tuple[bytes, ...]


class JksStore(NamedTuple):
    """What a store holds, in its order."""

    keys: tuple[JksKey, ...]
    certificates: tuple[bytes, ...]


def read_jks(data: bytes, password: str | None) -> JksStore:
    """Return what is in a store; without a password it is not checked. TlsError where it cannot be read."""
    body, digest = data[:-_HASH_BYTES], data[-_HASH_BYTES:]
    if password is not None and not hmac.compare_digest(
        sha1(password.encode("utf-16-be") + _WHITENER + body, usedforsecurity=False).digest(), digest
    ):
        raise TlsError("the password is wrong, or the file is damaged")
    try:
        return _read(_Reader(body))
    except (error, UnicodeDecodeError):
        raise TlsError("the file is damaged") from None


def unprotect(protected: bytes, password: str) -> bytes:
    """Return a key as PKCS#8 in DER; TlsError for a wrong password."""
    algorithm, body = list(der.elements(der.first(protected, tag=der.SEQUENCE).content))[:2]
    kind = der.object_identifier(der.first(algorithm.content, tag=der.OBJECT_IDENTIFIER).content)
    sealed = body.content
    if kind != _PROTECTED or len(sealed) < 2 * _HASH_BYTES:
        raise TlsError("its key is protected in a way that is not known")
    secret = password.encode("utf-16-be")
    block, hidden, check = sealed[:_HASH_BYTES], sealed[_HASH_BYTES:-_HASH_BYTES], sealed[-_HASH_BYTES:]
    stream = b""
    while len(stream) < len(hidden):
        block = sha1(secret + block, usedforsecurity=False).digest()
        stream += block
    key = bytes(one ^ other for one, other in zip(hidden, stream, strict=False))
    if not hmac.compare_digest(sha1(secret + key, usedforsecurity=False).digest(), check):
        raise TlsError("the password of the key is wrong")
    return key


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    def number(self, kind: Struct) -> int:
        (value,) = kind.unpack_from(self._data, self._position)
        self._position += kind.size
        return int(value)

    def text(self, kind: Struct) -> bytes:
        length = self.number(kind)
        end = self._position + length
        if end > len(self._data):
            raise TlsError("the file is damaged")
        found = self._data[self._position : end]
        self._position = end
        return found

    def certificate(self) -> bytes:
        if self.text(_U16) != b"X.509":
            raise TlsError("it has a certificate of another kind than X.509")
        return self.text(_U32)


def _read(reader: _Reader) -> JksStore:
    if reader.number(_U32).to_bytes(4, "big") != MAGIC or reader.number(_U32) != 2:
        raise TlsError("a version of JKS that is not known")
    keys, certificates = [], []
    for _ in range(reader.number(_U32)):  # ends with the data, whatever the count
        kind = reader.number(_U32)
        reader.text(_U16)
        reader.number(_U64)
        if kind == _KEY:
            protected = reader.text(_U32)
            keys.append(JksKey(protected, tuple(reader.certificate() for _ in range(reader.number(_U32)))))
        elif kind == _CERTIFICATE:
            certificates.append(reader.certificate())
        else:
            raise TlsError("it has an entry of a kind that is not known")
    return JksStore(tuple(keys), tuple(certificates))
