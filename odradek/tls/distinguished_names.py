"""The subject of a certificate as Java writes it, which is what Kafka's principals and rules are made of.

Source: RFC 2253 and Java's X500Principal.getName (sun.security.x509.AVA): the last name first, nine kinds of names by
their letters and all others by their numbers with the value as hexadecimal DER.
"""

from __future__ import annotations

from typing import Final

from odradek.tls import der
from odradek.tls.errors import TlsError

_LETTERS: Final = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.25": "DC",
    "0.9.2342.19200300.100.1.1": "UID",
}
_ENCODINGS: Final = {
    12: "utf-8",  # UTF8String
    19: "utf-8",  # PrintableString; Java reads more than its alphabet
    20: "latin-1",  # T61String
    22: "utf-8",  # IA5String
    27: "utf-8",  # GeneralString
    30: "utf-16-be",  # BMPString
}
_ESCAPED: Final = frozenset(',=+<>#;"\\')
MAX_NAME_BYTES: Final = 16 * 1024
"""Of a subject that is read; names of people and machines have some dozens."""


def subject_of(certificate: bytes) -> str:
    """Return the subject of a certificate in DER; TlsError where it has none that can be read."""
    fields = der.elements(der.first(der.first(certificate, tag=der.SEQUENCE).content, tag=der.SEQUENCE).content)
    field = next(fields, None)
    if field is not None and field.tag == der.VERSION:
        field = next(fields, None)
    for _ in range(4):  # serial number, algorithm, issuer, validity
        field = next(fields, None)
    if field is None or field.tag != der.SEQUENCE:
        raise TlsError("a certificate without subject")
    return name_text(field.content)


def name_text(name: bytes) -> str:
    """Return a distinguished name, given by the content of its DER sequence."""
    if len(name) > MAX_NAME_BYTES:
        raise TlsError(f"a name of {len(name)} bytes in a certificate; at most {MAX_NAME_BYTES} are taken")
    parts = ["+".join(map(_attribute, der.elements(part.content))) for part in der.elements(name)]
    return ",".join(reversed(parts))


def _attribute(attribute: der.Element) -> str:
    kind = der.first(attribute.content, tag=der.OBJECT_IDENTIFIER)
    value = der.first(attribute.content, len(kind.encoded))
    oid = der.object_identifier(kind.content)
    letters, encoding = _LETTERS.get(oid), _ENCODINGS.get(value.tag)
    if letters is None or encoding is None:
        return f"{letters or oid}=#{value.encoded.hex()}"
    return f"{letters}={_escaped(value.content.decode(encoding, 'replace'))}"


def _escaped(text: str) -> str:
    written = ["\\" + one if one in _ESCAPED else "\\00" if one == "\0" else one for one in text]
    begin = len(text) - len(text.lstrip(" "))
    end = len(text.rstrip(" "))
    for place, one in enumerate(text):
        if one == " " and (place < begin or place >= end):
            written[place] = "\\ "
    return "".join(written)
