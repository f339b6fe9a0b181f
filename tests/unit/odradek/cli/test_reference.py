"""docs/cli.md."""

from odradek.cli.app import COMMANDS
from odradek.cli.reference import page
from tests.support.broker import REPOSITORY


def test_the_page_is_up_to_date() -> None:
    """The page equals what the commands say of themselves."""
    assert (REPOSITORY / "docs" / "cli.md").read_text() == page(), "run: python -m odradek.cli.reference > docs/cli.md"


def test_every_command_has_a_section_with_examples() -> None:
    """Each command, and each in a group, shows how it is used."""
    sections = page().split("\n#")
    for name in COMMANDS:
        assert any(section.startswith(f"# odradek {name}") for section in sections), name
    commands = [each for each in sections if each.startswith(("## odradek", "# odradek")) and "[OPTIONS]" in each]
    assert commands
    for each in commands:
        assert each.count("    odradek ") + each.count("| odradek ") >= 2, each.splitlines()[0]
