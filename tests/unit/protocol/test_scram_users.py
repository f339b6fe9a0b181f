"""The file of users of PLAIN."""

import pytest

from odradek.protocol.scram import ScramMechanism, credential_of
from odradek.protocol.scram_users import (
    MAX_FILE_BYTES,
    FileUser,
    UsersFileError,
    is_file_name_of_user,
    parse_users,
    users_text,
)

ALICE = FileUser(ScramMechanism.SCRAM_SHA_512, credential_of(ScramMechanism.SCRAM_SHA_512, b"x", b"salt", 8192))
LINE = "a:SCRAM-SHA-256$4096:c2FsdA==$a2V5:a2V5"


def test_users_that_are_written_are_read_again() -> None:
    """With comments and empty lines between them."""
    users = {"alice": ALICE, "bob d": ALICE._replace(mechanism=ScramMechanism.SCRAM_SHA_256)}
    assert parse_users(users_text(users).encode() + b"\n# end\n", "f") == users


@pytest.mark.parametrize(
    "line",
    [
        "alice",
        "alice:secret",
        LINE.replace("SHA-256", "SHA-1"),
        LINE.replace("4096", "0"),
        LINE.replace("4096", "1000001"),
        LINE.replace("4096", "x"),
        LINE.replace("c2FsdA==", "c2FsdA"),
        LINE + "$x",
    ],
)
def test_a_line_that_is_none_is_named_and_not_shown(line: str) -> None:
    """It may be a password in plain text."""
    with pytest.raises(UsersFileError, match=r"^f:2 is no line of a user") as caught:
        parse_users(f"# users\n{line}\n".encode(), "f")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("data", [b"\xff\xfe", b"#" * (MAX_FILE_BYTES + 1)])
def test_what_is_no_text_or_too_much_of_it_is_refused(data: bytes) -> None:
    """Before it is taken apart."""
    with pytest.raises(UsersFileError, match="no file of users"):
        parse_users(data, "f")


def test_names_that_a_line_cannot_have() -> None:
    """Colon, comment, line break."""
    assert [is_file_name_of_user(name) for name in ("a", "a b")] == [True, True]
    assert not any(is_file_name_of_user(name) for name in ("", " ", "a:b", "#a", "a\nb"))
