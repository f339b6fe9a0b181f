"""Setting quotas of clients over the wire, and asking for them."""

from collections.abc import Mapping, Sequence

from tests.support.wire import WireClient

Entity = Sequence[tuple[str, str | None]]
"""Types and names; None is the default."""
EVERYBODY: Entity = (("user", None),)


def set_quotas(port: int, values: Mapping[str, float | None], entity: Entity = EVERYBODY) -> None:
    """Set quotas of an entity; None removes one."""
    entry = {
        "entity": [{"entity_type": kind, "entity_name": name} for kind, name in entity],
        "ops": [{"key": key, "value": value or 0.0, "remove": value is None} for key, value in values.items()],
    }
    with WireClient(port) as wire:
        [result] = wire.ask("AlterClientQuotas", 1, entries=[entry], validate_only=False)["entries"]
    assert result["error_code"] == 0, result


def quotas(port: int) -> dict[str, dict[str, float]]:
    """Return all quotas by the entity that they are for."""
    with WireClient(port) as wire:
        entries = wire.ask("DescribeClientQuotas", 1, components=[], strict=False)["entries"]
    return {
        "+".join(sorted(f"{part['entity_type']}={part['entity_name']}" for part in entry["entity"])): {
            value["key"]: value["value"] for value in entry["values"]
        }
        for entry in entries
    }
