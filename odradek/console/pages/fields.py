"""Reading what people type into forms. WrongUsageError says what was expected."""

from __future__ import annotations

from odradek.terminal.errors import WrongUsageError


def whole_number(text: str, what: str, least: int, most: int) -> int | None:
    """Return a number within bounds; None for an empty field."""
    text = text.strip()
    if not text:
        return None
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= 20 and least <= int(text) <= most):
        raise WrongUsageError(f"{what}: {text[:40]!r} is no whole number between {least:,} and {most:,}")
    return int(text)


def assignments(text: str) -> list[tuple[str, str]]:
    """Return the `name=value` of each line, empty lines left out."""
    found = []
    for line in filter(None, (each.strip() for each in text.splitlines())):
        name, equals, value = line.partition("=")
        if not equals or not name.strip():
            raise WrongUsageError(f"{line[:80]!r} is no name=value; give one a line")
        found.append((name.strip(), value.strip()))
    return found


def bytes_typed(text: str) -> bytes:
    """Return the bytes of a text; of `0x…` those that the digits write."""
    if not text.startswith("0x"):
        return text.encode("utf-8", "surrogatepass")
    try:
        return bytes.fromhex(text[2:])
    except ValueError:
        raise WrongUsageError(f"{text[:40]!r} is no hex; after 0x give two digits for each byte") from None
