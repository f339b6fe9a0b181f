"""What help is drawn with, imported without what ours does not need of it."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Final

_MARKDOWN: Final = "rich.markdown"


def import_help_drawing() -> None:
    """Import what typer draws help with, but for the parser of Markdown that it imports for help written in that.

    Ours has rich's markup. The parser would be a sixth of the time that `--help` takes.
    """
    if _MARKDOWN in sys.modules or "typer.rich_utils" in sys.modules:
        return
    stand_in = ModuleType(_MARKDOWN)
    stand_in.__dict__["Markdown"] = type("Markdown", (), {})
    sys.modules[_MARKDOWN] = stand_in
    try:
        import typer.rich_utils  # noqa: F401
    except ImportError:  # of a typer that is made in another way: it imports what it wants, when it wants it
        pass
    finally:
        del sys.modules[_MARKDOWN]
