"""What docs/ says of versions and differences is what the code does."""

import re
from pathlib import Path

import pytest
import yaml

from tests.support.pages import PARTS, REPOSITORY, with_part


@pytest.mark.parametrize(("path", "name"), PARTS, ids=" ".join)
def test_written_parts_are_up_to_date(path: str, name: str) -> None:
    """A part that is written from a table equals the table."""
    page = (REPOSITORY / path).read_text()
    assert page == with_part(page, name, PARTS[path, name]()), "run: python -m tests.support.pages"


PAGES = [*REPOSITORY.glob("*.md"), *REPOSITORY.glob("docs/*.md")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    """A relative link in a page names a file that exists."""
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text())
    missing = [link for link in links if not (page.parent / link).exists()]
    assert not missing


def test_recipes_in_yaml_can_be_read() -> None:
    """What a page tells to put into a workflow, a pipeline or a compose file is YAML, and says something."""
    recipes = [(page.name, each) for page in PAGES for each in re.findall(r"```yaml\n(.*?)```", page.read_text(), re.S)]
    assert "testing.md" in dict(recipes)
    for name, recipe in recipes:
        assert isinstance(yaml.safe_load(recipe), dict), f"{name}: {recipe}"


COMMAND = re.compile(r"(?:^|[|;&] *|sudo )(?:\S*/)?odradek ((?!--)[a-z].*?)(?= [|&;#(]|$)")
REFERENCE = (REPOSITORY / "docs" / "cli.md").read_text()
SECTIONS = {
    title: text
    for title, _, text in (part.partition("\n") for part in re.split(r"^##+ odradek ", REFERENCE, flags=re.M)[1:])
}
SHARED = {
    "--help",
    "--json",
    "--debug",
    "--version",
    *re.findall(r"`(--[a-z-]+)`", REFERENCE[: REFERENCE.index("\n## odradek")]),
}


def commands_in(page: str) -> list[str]:
    """Return what stands after `odradek` in the examples of a page: in indented lines and between backquotes."""
    lines = [line.strip() for line in page.splitlines() if line.startswith("    ")]
    return [found for code in [*lines, *re.findall(r"`([^`]+)`", page)] for found in COMMAND.findall(code)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_are_of_commands_that_there_are(page: Path) -> None:
    """Each names a command of the reference, with options that the reference has there."""
    unknown = []
    for command in commands_in(page.read_text()):
        words = command.split()
        names = [" ".join(words[:count]) for count in (3, 2, 1)]
        named = next((name for name in names if name in SECTIONS), None)
        section = "".join(text for title, text in SECTIONS.items() if f"{title} ".startswith(f"{named} "))
        options = {word.partition("=")[0] for word in words if re.match(r"--[a-z]", word)}
        if named is None or {one for one in options - SHARED if f"`{one}`" not in section and f"{one}/" not in section}:
            unknown.append(command)
    assert not unknown
