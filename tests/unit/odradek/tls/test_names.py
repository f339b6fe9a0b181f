"""Names in certificates as Java writes them, and the rules that make users of them."""

from __future__ import annotations

import time

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from odradek.tls.distinguished_names import MAX_NAME_BYTES, name_text, subject_of
from odradek.tls.errors import TlsError
from odradek.tls.principal_mapping import PrincipalMapper
from tests.support.certificates import Authority, subject_with

CLIENT = "CN=client,OU=tests,O=Example Org,L=Paris,C=FR"
AUTHORITY = Authority()


def text_of(name: x509.Name) -> str:
    encoded = name.public_bytes()
    header = 2 if encoded[1] < 0x80 else 2 + (encoded[1] & 0x7F)
    return name_text(encoded[header:])


def test_the_subject_of_a_certificate_is_read() -> None:
    """The last name first, separated by commas: what Apache Kafka 4.3 takes as the name of the user."""
    certificate = AUTHORITY.issue(CLIENT).certificate.public_bytes(Encoding.DER)
    assert subject_of(certificate) == CLIENT


@pytest.mark.parametrize(
    ("attributes", "text"),
    [
        ((("COMMON_NAME", 'a,b+c"d\\e<f>g;h#i=j'),), 'CN=a\\,b\\+c\\"d\\\\e\\<f\\>g\\;h\\#i\\=j'),
        ((("COMMON_NAME", " a b "),), "CN=\\ a b\\ "),
        ((("COMMON_NAME", "ad\0min"),), "CN=ad\\00min"),
        ((("COMMON_NAME", "Jürgen"), ("SURNAME", "x")), "2.5.4.4=#0c0178,CN=Jürgen"),
        ((("EMAIL_ADDRESS", "a@b.c"),), "1.2.840.113549.1.9.1=#1605614062" + "2e63"),
        ((("DOMAIN_COMPONENT", "com"), ("USER_ID", "u")), "UID=u,DC=com"),
        ((("STATE_OR_PROVINCE_NAME", "s"), ("STREET_ADDRESS", "r")), "STREET=r,ST=s"),
        ((), ""),
    ],
)
def test_names_are_written_as_java_writes_them(attributes: tuple[tuple[str, str], ...], text: str) -> None:
    """Separators are escaped, NUL among them, so that no name can pass for another; kinds without letters are hex."""
    assert text_of(subject_with(*attributes)) == text


def test_several_values_in_one_part_are_joined() -> None:
    parts = [x509.NameAttribute(x509.NameOID.COMMON_NAME, "a"), x509.NameAttribute(x509.NameOID.USER_ID, "b")]
    assert set(text_of(x509.Name([x509.RelativeDistinguishedName(parts)])).split("+")) == {"CN=a", "UID=b"}


@pytest.mark.parametrize(
    "data", [b"", b"\x30", b"\x30\x84\xff\xff\xff\xff", b"\x30\x80", b"\x30\x03\x30\x01\x00", b"\1"]
)
def test_what_is_no_certificate_is_refused(data: bytes) -> None:
    with pytest.raises(TlsError):
        subject_of(data)


def test_a_name_beyond_all_measure_is_refused() -> None:
    with pytest.raises(TlsError, match="at most"):
        name_text(b"\0" * (MAX_NAME_BYTES + 1))


@pytest.mark.parametrize(
    ("rules", "user"),
    [
        ("DEFAULT", CLIENT),
        ("", CLIENT),
        ("RULE:^CN=(.*?),OU=tests.*$/$1/L,DEFAULT", "client"),
        ("RULE:^.*?CN=([^,]*).*$/$1/U", "CLIENT"),
        ("RULE:^CN=(.*?),OU=(.*?),.*$/$1@$2/", "client@tests"),
        ("RULE:^CN=nobody$/x/,RULE:^CN=client,.*$/y/ , DEFAULT", "y"),
        ("RULE:client/x/,DEFAULT", CLIENT),
        ("RULE:^CN=(.*?),.*$/a\\/b$1$2/", "a/bclient$2"),
        ("RULE:^CN=nobody$/x/", None),
    ],
)
def test_the_first_rule_that_matches_the_whole_name_counts(rules: str, user: str | None) -> None:
    """Kafka's notation; who matches no rule has no user."""
    assert PrincipalMapper(rules).user_of(CLIENT) == user


@pytest.mark.parametrize("rules", ["RULE:a", "RULE:(/x/", "RULE:a/b/X", "default", "RULE:a/b/L RULE:c/d/", ",DEFAULT"])
def test_rules_that_cannot_be_read_are_refused(rules: str) -> None:
    with pytest.raises(TlsError):
        PrincipalMapper(rules)


@pytest.mark.parametrize("rule", [r"^(CN=)?((a+)+)+b$", r"^CN=(a|aa)+$", r"^CN=(a|b|ab)*c$"])
def test_an_expression_that_takes_for_ever_leads_to_no_user(rule: str) -> None:
    """The time of one match is bounded: a certificate made for it costs a moment, and lets nobody in."""
    mapper = PrincipalMapper(f"RULE:{rule}/x/,DEFAULT")
    began = time.perf_counter()
    mapper.user_of("CN=" + "ab" * 1000 + "a" * 5000 + "!")
    assert time.perf_counter() - began < 5
