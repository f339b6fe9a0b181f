"""From server.properties and --override to settings.

Owns precedence (override over environment over file over the built-in default) and the warnings about keys that have no
effect. Logs nothing: what should be said is returned in `BrokerSettings.warnings`.
"""

from collections.abc import Mapping, Sequence

from odradek.config.container import DEFAULT, container_defaults, settings_of
from odradek.config.definitions import Service, broker_definitions
from odradek.config.errors import HIDDEN, ConfigError, ConfigWarning, SeveralConfigErrors
from odradek.config.layers import is_secret
from odradek.config.node import DEFAULT_NODE_ID
from odradek.config.quorum import DEFAULT_ROLES
from odradek.config.settings import BrokerSettings, build_settings

OVERRIDE = "--override"
_SECRET_ARGUMENT = "every user of this machine sees it in the list of processes; put it into a file of settings"
EMBEDDED = "embedded default"
EMBEDDED_DEFAULTS: Mapping[str, str] = {
    "listeners": "PLAINTEXT://127.0.0.1:9092",
    "log.dirs": "./odradek-data",
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.assignment.interval.ms": "0",
}


def load_settings(
    path: str | None = None,
    overrides: Sequence[str] = (),
    base: Mapping[str, str] | None = None,
    container: Mapping[str, str] | None = None,
) -> BrokerSettings:
    """Return the settings of a file, if one is given, with `key=value` overrides on top.

    Without a file the broker listens on 127.0.0.1:9092, keeps its data in ./odradek-data, and lets members of groups
    begin at once instead of waiting for more; with one, what the file does not say has Kafka's default, so that Apache
    Kafka understands the same file in the same way. Only node.id (1) and process.roles (broker,controller), which Kafka
    insists on, may be missing. `base` lies below the file. `container` is the environment of a container: variables are
    settings over the file, and the defaults are others (`config.container`).

    Raises ConfigError with file, line, key, value and what was expected.
    """
    values: dict[str, str] = dict(EMBEDDED_DEFAULTS if path is None else {}) | dict(base or {})
    origins: dict[str, str] = dict.fromkeys(values, EMBEDDED)
    warnings: list[ConfigWarning] = []
    if path is not None:
        _add_file(path, values, origins, warnings)
    if container is not None:
        for key, value, variable in settings_of(container):
            values[key], origins[key] = value, f"environment {variable}"
    for override in overrides:
        key, equals, value = override.partition("=")
        if not equals or not key.strip():
            raise ConfigError(f"{override!r} is not of the form key=value", origin=OVERRIDE)
        values[key.strip()], origins[key.strip()] = value.strip(), OVERRIDE
    if container is not None:
        given = {key: value for key, value in values.items() if origins[key] != EMBEDDED}
        for key, value in container_defaults(given).items():
            values[key], origins[key] = value, DEFAULT
    if "broker.id" not in values:
        _set_default("node.id", str(DEFAULT_NODE_ID), values, origins)
    _set_default("process.roles", ",".join(DEFAULT_ROLES), values, origins)
    settings = _build(values, origins)
    listeners = {one.name.lower() for one in settings.all_listeners}
    listeners |= {name.lower() for name in settings.quorum.controller_listener_names}  # also where they are elsewhere
    warnings += _key_warnings(values, origins, listeners)
    return settings._replace(warnings=tuple(warnings))


def _build(values: Mapping[str, str], origins: Mapping[str, str]) -> BrokerSettings:
    """Return the settings, with values that stand elsewhere in the place of what refers to them."""
    meant = values
    if values.get("config.providers"):
        from odradek.config.providers import resolve

        meant = resolve(values, origins)
    try:
        return build_settings(meant, origins)
    except ConfigError as first:
        from odradek.config.problems import all_problems  # only who cannot start asks for all

        problems = [_as_written(each, values, meant) for each in all_problems(meant, origins) or [first]]
    raise problems[0] if len(problems) == 1 else SeveralConfigErrors(problems)


def _as_written(wrong: ConfigError, values: Mapping[str, str], meant: Mapping[str, str]) -> ConfigError:
    """Return an error with the value as the file has it, and not what stands elsewhere; what is hidden stays so."""
    key = wrong.key
    if key is None or key not in values or meant[key] == values[key] or wrong.value in (None, HIDDEN):
        return wrong
    return ConfigError(wrong.reason, key=key, value=values[key], origin=wrong.origin)


def _set_default(key: str, value: str, values: dict[str, str], origins: dict[str, str]) -> None:
    if key not in values:
        values[key], origins[key] = value, EMBEDDED


def _add_file(path: str, values: dict[str, str], origins: dict[str, str], warnings: list[ConfigWarning]) -> None:
    from odradek.config.properties import read_properties

    for key, value, line in read_properties(path):
        origin = f"{path}:{line}"
        if origins.get(key, "").startswith(f"{path}:"):
            warnings.append(ConfigWarning(key, f"replaces the value given in {origins[key]}", origin))
        values[key], origins[key] = value, origin


def _key_warnings(values: Mapping[str, str], origins: Mapping[str, str], listeners: set[str]) -> list[ConfigWarning]:
    definitions = broker_definitions()
    found = []
    for key in values:
        definition = definitions.get(key)
        if definition is None or definition.service is Service.NOT_SERVED:
            from odradek.config.unknown import explain

            message = explain(key, listeners)
            if message is not None:
                found.append(ConfigWarning(key, message, origins[key]))
        if origins[key] == OVERRIDE and is_secret(key) and values[key]:
            from odradek.config.providers import is_reference  # hardly a start has a secret there

            if not is_reference(values[key], values):
                found.append(ConfigWarning(key, _SECRET_ARGUMENT, OVERRIDE))
    return found
