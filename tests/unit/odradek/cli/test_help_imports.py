"""What help costs."""

import subprocess
import sys

import pytest

HELP = """
import sys
from odradek.cli.app import run
assert run({arguments}) in (0, 2)
assert "typer.rich_utils" in sys.modules
assert "markdown_it" not in sys.modules, "a parser of Markdown is imported"
import rich.markdown
assert rich.markdown.Markdown("*a*").parsed, "whoever wants the parser has it"
"""


@pytest.mark.parametrize("arguments", [["--help"], [], ["topics", "list", "--help"]])
def test_help_is_shown_without_what_it_does_not_need(arguments: list[str]) -> None:
    """Nobody waits for a parser of Markdown, and nobody finds one that is none."""
    program = HELP.format(arguments=arguments)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "Usage" in done.stdout
