"""Values that stand elsewhere: `${file:/run/secrets/tls:password}` and the like (KIP-297, KIP-421, KIP-887).

Owns: Kafka's three providers by the names that `config.providers` gives them. As in Kafka nothing is replaced unless
that key is set, and only in what is given at start. Where Kafka leaves a reference as it is that leads nowhere, the
start is refused here: it would be taken for the password.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

from odradek.config.errors import ConfigError
from odradek.config.properties import read_properties

PROVIDERS: Final = "config.providers"
PREFIX: Final = "config.providers."
MAX_SECRET_BYTES: Final = 1024 * 1024
"""Of a file of which the whole content is the value."""

_REFERENCE: Final = re.compile(r"\$\{([^}]*?):(?:([^}]*?):)?([^}]*?)\}")
_CLASSES: Final = "org.apache.kafka.common.config.provider."


class _Provider(NamedTuple):
    find: Callable[[str, str], str]
    """Returns the value for path and key; raises KeyError, OSError or ConfigError where there is none."""
    allowed_paths: tuple[str, ...]
    allowed_keys: re.Pattern[str] | None

    def value(self, path: str, key: str) -> str:
        if self.allowed_paths and not any(_lies_in(path, allowed) for allowed in self.allowed_paths):
            raise KeyError("is none of allowed.paths")
        if self.allowed_keys is not None and not self.allowed_keys.fullmatch(key):
            raise KeyError("is not in allowlist.pattern")
        return self.find(path, key)


def resolve(values: Mapping[str, str], origins: Mapping[str, str]) -> dict[str, str]:
    """Return the values with what their references lead to in the place of those.

    Raises:
        ConfigError: a provider is not known, or a reference leads nowhere.
    """
    names = _names(values)
    if not names:
        return dict(values)
    providers = {name: _provider(name, values, origins) for name in names}

    def replaced(key: str, text: str) -> str:
        def value(found: re.Match[str]) -> str:
            provider = providers.get(found[1])
            if provider is None:
                return found[0]
            try:
                return provider.value(found[2] or "", found[3])
            except (KeyError, OSError, ConfigError) as wrong:
                reason = wrong.strerror if isinstance(wrong, OSError) else wrong.args[0]
                raise ConfigError(f"{found[0]} leads nowhere: {reason}", key=key, origin=origins.get(key)) from None

        return _REFERENCE.sub(value, text)

    return {key: text if key.startswith(PROVIDERS) else replaced(key, text) for key, text in values.items()}


def is_reference(text: str, values: Mapping[str, str]) -> bool:
    """Whether a value says where it stands, and is not the value itself; `values` say which providers there are."""
    found = _REFERENCE.match(text)
    return found is not None and found[1] in _names(values)


def files_of_references(text: str, values: Mapping[str, str]) -> Iterator[str]:
    """Return the files that the references in a value lead to; `values` say what the providers are."""
    names = _names(values)
    for found in _REFERENCE.finditer(text):
        kind = values.get(f"{PREFIX}{found[1]}.class", "").strip().removeprefix(_CLASSES) if found[1] in names else ""
        if kind == "FileConfigProvider":
            yield found[2] or ""
        elif kind == "DirectoryConfigProvider":
            yield os.path.join(found[2] or "", found[3])


def _names(values: Mapping[str, str]) -> list[str]:
    return [name.strip() for name in values.get(PROVIDERS, "").split(",") if name.strip()]


def _provider(name: str, values: Mapping[str, str], origins: Mapping[str, str]) -> _Provider:
    key = f"{PREFIX}{name}.class"
    text = values.get(key)
    if text is None:
        raise ConfigError(f"names {name}, and {key} is missing", key=PROVIDERS, origin=origins.get(PROVIDERS))
    find = _FINDERS.get(text.strip().removeprefix(_CLASSES))
    if find is None:
        known = ", ".join(_CLASSES + one for one in _FINDERS)
        raise ConfigError(f"expected one of {known}", key=key, value=text, origin=origins.get(key))
    paths = values.get(f"{PREFIX}{name}.param.allowed.paths", "")
    pattern = values.get(f"{PREFIX}{name}.param.allowlist.pattern")
    try:
        allowed = None if pattern is None else re.compile(pattern)
    except re.error as wrong:
        key = f"{PREFIX}{name}.param.allowlist.pattern"
        raise ConfigError(f"no regular expression: {wrong}", key=key, value=pattern, origin=origins.get(key)) from None
    return _Provider(find, tuple(path.strip() for path in paths.split(",") if path.strip()), allowed)


def _lies_in(path: str, directory: str) -> bool:
    real, parent = os.path.realpath(path), os.path.realpath(directory)
    return real == parent or real.startswith(parent.rstrip("/") + "/")


def _from_file(path: str, key: str) -> str:
    found = {name: value for name, value, _ in read_properties(path)}
    if key not in found:
        raise KeyError(f"{path} has no {key}")
    return found[key]


def _from_directory(path: str, key: str) -> str:
    if os.path.basename(key) != key or key in ("", ".", ".."):
        raise KeyError("a file of the directory is meant, by its name")
    with open(os.path.join(path, key), encoding="utf-8") as file:
        text = file.read(MAX_SECRET_BYTES + 1)
    if len(text) > MAX_SECRET_BYTES:
        raise KeyError(f"the file has more than {MAX_SECRET_BYTES} bytes")
    return text


def _from_environment(_path: str, key: str) -> str:
    if key not in os.environ:
        raise KeyError("there is no such variable")
    return os.environ[key]


_FINDERS: Final[Mapping[str, Callable[[str, str], str]]] = {
    "FileConfigProvider": _from_file,
    "DirectoryConfigProvider": _from_directory,
    "EnvVarConfigProvider": _from_environment,
}
