"""The types of configuration values: text to value and back, exactly as Kafka's ConfigDef does it.

Owns no names and no ranges. What text each type accepts was read off Apache Kafka 4.3 (`ConfigDef.parseType` and
`convertToString`); the expected table stands in tests/unit/config/test_values.py.
"""

from enum import Enum

Value = bool | int | float | str | tuple[str, ...] | None

_JAVA_BLANKS = "".join(map(chr, range(0x21)))  # what Java's String.trim() removes
_JAVA_SPACES = " \t\n\v\f\r"  # what \s means in Java's regular expressions
_MAX_DIGITS = 30  # more than any 64-bit number needs; int() of a huge text is quadratic
_DOUBLE_CHARACTERS = frozenset("0123456789.eE+-")
_DOUBLE_WORDS = ("NaN", "Infinity")


class ConfigType(Enum):
    """A type of value; `code` is its number in DescribeConfigs answers."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9

    @property
    def code(self) -> int:
        """Return the type's number in a DescribeConfigs answer (KIP-569)."""
        return int(self.value)


_BITS = {ConfigType.SHORT: 16, ConfigType.INT: 32, ConfigType.LONG: 64}


def trim(text: str) -> str:
    """Return the text without the blanks and control characters at its ends that Kafka ignores."""
    return text.strip(_JAVA_BLANKS)


def parse(kind: ConfigType, text: str) -> Value:
    """Return the value that the text means; ValueError says what was expected."""
    text = trim(text)
    if kind in _BITS:
        return _parse_integer(kind, text)
    if kind is ConfigType.BOOLEAN:
        lowered = text.lower()
        if lowered not in ("true", "false"):
            raise ValueError("expected true or false")
        return lowered == "true"
    if kind is ConfigType.DOUBLE:
        return _parse_double(text)
    if kind is ConfigType.LIST:
        return _split_list(text) if text else ()
    return text


def _split_list(text: str) -> tuple[str, ...]:
    """Return the elements between commas, without the blanks around the commas."""
    parts = text.split(",")
    if not any(space in text for space in _JAVA_SPACES):
        return tuple(parts)
    last = len(parts) - 1
    for index, part in enumerate(parts):
        if index > 0:
            part = part.lstrip(_JAVA_SPACES)
        parts[index] = part.rstrip(_JAVA_SPACES) if index < last else part
    return tuple(parts)


def _parse_double(text: str) -> float:
    digits = text[:-1] if text.endswith(("f", "F", "d", "D")) else text
    if digits.lstrip("+-") in _DOUBLE_WORDS or _DOUBLE_CHARACTERS.issuperset(digits):
        try:
            return float(digits)
        except ValueError:
            pass
    raise ValueError("expected a number such as 0.5")


def _parse_integer(kind: ConfigType, text: str) -> int:
    bits = _BITS[kind]
    if not (text[1:] if text[:1] in ("+", "-") else text).isdecimal():
        raise ValueError("expected a whole number, digits only")
    number = int(text) if len(text) <= _MAX_DIGITS else 1 << 64
    if not -(1 << bits - 1) <= number < 1 << bits - 1:
        raise ValueError(f"expected a whole number that fits in {bits} bits")
    return number


def to_text(value: Value) -> str | None:
    """Return the value as Kafka writes it in answers; None stays None."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, tuple):
        return ",".join(value)
    return _double_text(value)


def _double_text(value: float) -> str:
    """Return the number as Java's Double.toString writes it: 0.5, 1.0E7, Infinity."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    mantissa, _, power = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    exponent = int(power or 0) + len(whole) - 1 - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    return f"{'-' if value < 0 else ''}{digits[0]}.{digits[1:] or '0'}E{exponent}"
