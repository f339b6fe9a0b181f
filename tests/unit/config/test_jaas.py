"""JAAS entries, as people have them in their files."""

import pytest

from odradek.config.errors import ConfigError
from odradek.config.jaas import jaas_value, parse_jaas

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


def options(text: str) -> dict[str, str]:
    """Return the options of an entry with these."""
    return dict(parse_jaas(f"{PLAIN} required {text};", "k").options)


def test_the_entry_of_a_broker_has_its_own_login_and_its_users() -> None:
    """username and password are the broker as client, user_NAME are those whom it lets in."""
    entry = parse_jaas(f'{PLAIN} required username="b" password="p" user_a="x" user_c="";', "k")
    assert (entry.module, entry.module_name) == (PLAIN, "PlainLoginModule")
    assert entry.users == {"a": "x", "c": ""}
    assert entry.options["username"] == "b"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (r'a="x \"y\" \\ z" ', {"a": 'x "y" \\ z'}),
        ("a='x \"y\"' b=bare", {"a": 'x "y"', "b": "bare"}),
        (r'a="tab\there" b="A\101\60"', {"a": "tab\there", "b": "AA0"}),
        ('a="1"\n  b = "2"\t', {"a": "1", "b": "2"}),
        ('/* x="y"; */ a="1" // ;\n b="2"', {"a": "1", "b": "2"}),
        ('a="semi;colon=equals"', {"a": "semi;colon=equals"}),
        ('claim_sub="thePrincipal" n=4096', {"claim_sub": "thePrincipal", "n": "4096"}),
        ("", {}),
    ],
)  # fmt: skip
def test_values_are_read_as_java_reads_them(text: str, found: dict[str, str]) -> None:
    """Either quotes, escapes, comments, white space around the mark of equality."""
    assert options(text) == found


@pytest.mark.parametrize("value", ["", 'q"', "back\\slash", "a b;c=d", "line\nbreak", "ü", "$x/*"])
def test_a_value_that_is_written_is_read_again(value: str) -> None:
    """Whatever characters it has."""
    assert options(f"a={jaas_value(value)}") == {"a": value}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "names no login module"),
        (PLAIN, "has no flag"),
        (f'{PLAIN} sometimes a="hunter2";', "has no flag"),
        (f'{PLAIN} required a="hunter2"', "does not end with a semicolon"),
        (f"{PLAIN} required a=;", "option a has no value"),
        (f"{PLAIN} required a hunter2;", "option a has no value"),
        (f'{PLAIN} required a="hunter2;', "without a closing quote"),
        (f'{PLAIN} required a="hunter2"; {PLAIN} required;', "one login module is the most"),
        (f'{PLAIN} required a="hunter2" /* ;', "comment without an end"),
    ],
)
def test_what_is_no_entry_is_refused_without_saying_what_it_holds(text: str, reason: str) -> None:
    """The sentence says what is wrong and where, and shows no password."""
    with pytest.raises(ConfigError, match=reason) as caught:
        parse_jaas(text, "sasl.jaas.config", "server.properties:3")
    assert "hunter2" not in str(caught.value)
    assert "server.properties:3" in str(caught.value)


def test_no_representation_shows_a_password() -> None:
    """Neither in a traceback nor in a log line."""
    assert "hunter2" not in repr(parse_jaas(f'{PLAIN} required password="hunter2";', "k"))
