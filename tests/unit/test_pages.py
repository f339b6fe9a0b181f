"""What docs/ says of versions and differences is what the code does."""

import re
from pathlib import Path

import pytest

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
