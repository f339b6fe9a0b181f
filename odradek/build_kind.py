"""Which build of odradek runs: the plain one, or one whose hot path was compiled to machine code from the same source
(`hatch_build.py`)."""

from importlib.util import find_spec
from typing import Literal

BuildKind = Literal["compiled", "plain"]

COMPILED_MODULE = "odradek.hot__mypyc"
"""What all compiled modules share; it is in a compiled wheel for this Python alone, and never in a checkout."""


def build_kind() -> BuildKind:
    """Return which build this Python finds."""
    return "plain" if find_spec(COMPILED_MODULE) is None else "compiled"
