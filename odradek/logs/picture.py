"""A picture of where bytes are, made of characters: a bar for each part, in proportion to the largest."""

from __future__ import annotations

DATA, INDEX = "█", "░"
"""What stands for bytes of records, and for those of everything that is derived from them."""
_EIGHTHS = "▏▎▍▌▋▊▉"


def bar(data: int, rest: int, largest: int, width: int) -> str:
    """Return a bar for `data` and `rest` bytes, of which a bar of `width` characters would be `largest` bytes.

    What is there at all is seen: at least an eighth of a character.
    """
    if largest <= 0 or data + rest <= 0:
        return ""
    eighths = max(1, round(data * width * 8 / largest)) if data else 0
    whole, part = divmod(eighths, 8)
    drawn = DATA * whole + (_EIGHTHS[part - 1] if part else "")
    return drawn + INDEX * round(rest * width / largest)


def share(part: int, whole: int) -> str:
    """Return a part in percent."""
    return f"{100 * part / whole:.0f}%" if whole else "-"
