"""What the tables call served is read by the broker, and what it reads is called served."""

import re
from functools import cache
from pathlib import Path

from odradek.config.definitions import Service, broker_definitions, topic_definitions
from odradek.config.listener_keys import SERVED_FOR_A_LISTENER, SERVED_FOR_A_MECHANISM
from odradek.config.settings import BrokerSettings

ROOT = Path(__file__).parents[3]
OTHER_NAMES = {
    "message_timestamp_type": "log_append_time",
    "cleanup_policy": "compacted",
    "advertised_listeners": "advertised_for",
}
"""Fields that the broker asks for through a property or a method."""
IN_CONFIG = {
    "authorizer.class.name",
    "process.roles",
    "broker.id",
    "listener.security.protocol.map",
    "controller.listener.names",
    "controller.quorum.voters",
    "controller.quorum.bootstrap.servers",
    "log.dir",
    "security.inter.broker.protocol",
    "config.providers",
    "sasl.mechanism.controller.protocol",
    "sasl.mechanism.inter.broker.protocol",
}
"""Keys that take effect while the settings are made: no field of their own."""
OF_LISTENERS = SERVED_FOR_A_LISTENER | SERVED_FOR_A_MECHANISM | {"connection.failed.authentication.delay.ms"}
"""Keys that are read for one listener: no field of their own either. `config.sasl` reads them."""
OF_MECHANISMS_ALONE = {"sasl.server.callback.handler.class"}
"""Those of them that have no effect for all."""


@cache
def words_of_the_broker() -> frozenset[str]:
    sources = [path for package in ("broker", "storage") for path in (ROOT / package).rglob("*.py")]
    return frozenset(word for path in sources for word in re.findall(r"\w+", path.read_text(encoding="utf-8")))


def field_of(key: str) -> str | None:
    """The field that carries a broker key: its topic's, or its own."""
    for definition in topic_definitions().values():
        if any(synonym.name == key for synonym in definition.synonyms):
            return definition.name.replace(".", "_")
    field = key.replace(".", "_")
    return field if field in BrokerSettings._fields else None


def is_read(field: str | None) -> bool:
    return field is not None and OTHER_NAMES.get(field, field) in words_of_the_broker()


def test_a_broker_key_is_served_exactly_when_the_broker_reads_it() -> None:
    """A key that the tables promise has an effect, and a key with an effect is not called useless."""
    keys = [key for key in broker_definitions() if key not in IN_CONFIG]
    served = {key for key in keys if broker_definitions()[key].service is Service.SERVED}
    assert served == {key for key in keys if is_read(field_of(key)) or key in OF_LISTENERS - OF_MECHANISMS_ALONE}, (
        "correct the flags in config/tables/broker.txt"
    )


def test_a_topic_key_is_served_exactly_when_the_broker_reads_it() -> None:
    """The same for topics."""
    keys = [key for key in topic_definitions() if key != "internal.segment.bytes"]
    served = {key for key in keys if topic_definitions()[key].service is Service.SERVED}
    read = {key for key in keys if is_read(key.replace(".", "_"))}
    assert served == read, "correct the flags in config/tables/topic.txt"
