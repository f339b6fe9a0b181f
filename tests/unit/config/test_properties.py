"""Reading properties files: Java's format, line numbers, and nothing but ConfigError for what is none."""

import subprocess
import sys
from pathlib import Path

import pytest

from odradek.config.errors import ConfigError
from odradek.config.properties import MAX_FILE_BYTES, Property, parse_properties, read_properties


def test_entries_come_with_the_line_that_they_start_on() -> None:
    """Comments, blank lines, continued lines and all three kinds of line ends are counted."""
    text = b"# comment\n\na=1\r\nb = 2\\\n  ,3\n! c\rd:4\ne\n  f   g h \n"
    assert parse_properties(text, "x") == [
        Property("a", "1", 3),
        Property("b", "2,3", 4),
        Property("d", "4", 7),
        Property("e", "", 8),
        Property("f", "g h ", 9),
    ]


def test_a_line_number_after_a_continuation_at_the_end_of_a_comment() -> None:
    """A backslash does not continue a comment; one before a blank line continues onto it."""
    assert parse_properties(b"# a\\\nb=1\nc=\\\n\nd=2\n", "x") == [
        Property("b", "1", 2),
        Property("c", "", 3),
        Property("d", "2", 5),
    ]


def test_escapes_and_latin_1() -> None:
    """Java's escapes; bytes beyond ASCII are Latin-1, as Java reads them."""
    assert parse_properties(rb"p\u00e4th=a\tb\:c\\" + b"\nq=\xe9\n", "x") == [
        Property("päth", "a\tb:c\\", 1),
        Property("q", "é", 2),
    ]


def test_repeated_keys_are_all_returned() -> None:
    """Which one counts is the loader's decision."""
    assert [one.value for one in parse_properties(b"a=1\na=2\n", "x")] == ["1", "2"]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"a=1\nb=\\u12\n", r"^file:2: Invalid \\u escape sequence"),
        (b"a=\0", "^file: .*zero byte"),
        (b"#" * (MAX_FILE_BYTES + 1), "^file: .*larger than"),
    ],
)
def test_what_is_no_properties_file_is_a_config_error(data: bytes, problem: str) -> None:
    """The error names the file, and the line where there is one."""
    with pytest.raises(ConfigError, match=problem):
        parse_properties(data, "file")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    """A missing file, a directory and an impossible path each give a sentence."""
    for path in (str(tmp_path / "none"), str(tmp_path), "a\0b"):
        with pytest.raises(ConfigError, match="cannot read the file"):
            read_properties(path)


def test_a_file_is_read_without_the_costly_half_of_javaproperties(tmp_path: Path) -> None:
    """Start-up time: reading a file does not import XML, HTTP and mail, and leaves the package importable."""
    file = tmp_path / "a.properties"
    file.write_text("a=1\n")
    script = (
        "import sys; from config.properties import read_properties\n"
        f"assert read_properties({str(file)!r}) == [('a', '1', 1)]\n"
        "assert not {'xml.sax', 'http.client', 'email.parser', 'urllib.request'} & set(sys.modules)\n"
        "import javaproperties; assert javaproperties.loads('b=2') == {'b': '2'}\n"
        f"assert read_properties({str(file)!r}) == [('a', '1', 1)]\n"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
