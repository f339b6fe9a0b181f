"""What can be wrong with a configuration, said so that the person who wrote it can mend it.

ConfigError                      the value cannot be used; a stored or requested change answers INVALID_CONFIG
+-- SeveralConfigErrors          several things wrong with a file, each with its own error
+-- ConfigRequestError           the change as such makes no sense, whatever the value: INVALID_REQUEST
    +-- UnknownOperationError    an operation number that there is not: UNKNOWN_SERVER_ERROR

This package knows no error codes of the wire; whoever answers a client maps these classes to them.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

HIDDEN: Final = "[hidden]"
"""What stands in errors for a value that is secret."""


class ConfigError(ValueError):
    """A configuration that cannot be used.

    `reason` says what is wrong and what was expected; `key`, `value` and `origin` (a file with a line number, or the
    command line) say where, as far as they are known. A secret value is never part of the message.
    """

    def __init__(self, reason: str, *, key: str | None = None, value: str | None = None, origin: str | None = None):
        self.reason = reason
        self.key = key
        self.value = value
        self.origin = origin
        where = f"{origin}: " if origin else ""
        what = "" if key is None else f"{key}: " if value is None else f"{key}={value}: "
        super().__init__(f"{where}{what}{reason}")


class SeveralConfigErrors(ConfigError):  # noqa: N818 - what it is, not another kind of error
    """Several settings that cannot be used, so that all of them can be mended at once; each is in `errors`."""

    def __init__(self, errors: Sequence[ConfigError]):
        self.errors = tuple(errors)
        super().__init__("".join([f"{len(self.errors)} settings cannot be used:", *(f"\n  {each}" for each in errors)]))


class ConfigRequestError(ConfigError):
    """A change that is refused for what it asks, not for the value: an unknown operation, a key that is read-only."""


class UnknownOperationError(ConfigRequestError):
    """An operation number that IncrementalAlterConfigs does not have; Kafka answers UNKNOWN_SERVER_ERROR."""


class ConfigWarning(NamedTuple):
    """Something in the configuration that has no effect or not the expected one; the broker starts all the same."""

    key: str
    message: str
    origin: str

    def __str__(self) -> str:
        return f"{self.origin}: {self.key}: {self.message}"
