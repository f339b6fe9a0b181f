"""What to say about a key that has no effect: misspelt, removed from Kafka, not served here, or of a plug-in.

Imported only when such a key was given, so that the usual start does not pay for it.
"""

import difflib

from odradek.config.definitions import Service, broker_definitions, topic_definitions, topic_name_of
from odradek.config.listener_keys import PREFIX as LISTENER_PREFIX
from odradek.config.listener_keys import is_served
from odradek.config.own_keys import OWN_KEYS

_NEAR = 0.75

_REMOVED = {
    "advertised.host.name": "use advertised.listeners",
    "advertised.port": "use advertised.listeners",
    "host.name": "use listeners",
    "port": "use listeners",
    "auto.include.jmx.reporter": "use metric.reporters",
    "broker.id.generation.enable": "it belonged to ZooKeeper; use node.id",
    "control.plane.listener.name": "it belonged to ZooKeeper",
    "delegation.token.master.key": "use delegation.token.secret.key",
    "eligible.leader.replicas.enable": "it is a feature level now",
    "group.coordinator.new.enable": "the new coordinator is the only one",
    "inter.broker.protocol.version": "the metadata log holds the version",
    "log.message.downconversion.enable": "answers are no longer converted to older formats",
    "log.message.format.version": "every batch has the current format",
    "log.message.timestamp.difference.max.ms": "use log.message.timestamp.before.max.ms and .after.max.ms",
    "offsets.commit.required.acks": "it had no use beyond its default",
    "reserved.broker.max.id": "it belonged to ZooKeeper",
}


def explain(key: str, listeners: set[str]) -> str | None:
    """Return the sentence for a key that odradek does not act on; None when silence is right.

    `listeners` are the names of the listeners in lower case, for keys that start with listener.name.
    """
    definition = broker_definitions().get(key)
    if definition is not None:
        return (
            None if definition.service is not Service.NOT_SERVED else "Kafka knows this key, odradek does not serve it"
        )
    if key.startswith("config.providers."):
        return None
    if key.startswith(LISTENER_PREFIX):
        return _explain_listener_key(key, listeners)
    if key in OWN_KEYS:
        return None
    if key in _REMOVED:
        return f"Kafka 4 removed this key: {_REMOVED[key]}"
    if key.startswith("zookeeper."):
        return "Kafka 4 removed this key: there is no ZooKeeper any more"
    if key in topic_definitions():
        broker_key = next((one for one in broker_definitions() if topic_name_of(one) == key), None)
        hint = f"; the broker's default for it is {broker_key}" if broker_key else ""
        return f"this is a key of topics, not of the broker{hint}"
    near = difflib.get_close_matches(key, [*broker_definitions(), *OWN_KEYS], 1, _NEAR)
    return f"unknown key; did you mean {near[0]}?" if near else "unknown key"


def _explain_listener_key(key: str, listeners: set[str]) -> str | None:
    name, _, base = key[len(LISTENER_PREFIX) :].partition(".")
    if name not in listeners:
        return f"there is no listener {name.upper()}; the name in such a key is in lower case"
    if is_served(base) or base in OWN_KEYS:
        return None
    if base.partition(".")[2] in broker_definitions() or base in broker_definitions():
        return "Kafka knows this key, odradek does not serve it for a single listener"
    near = difflib.get_close_matches(base, list(broker_definitions()), 1, _NEAR)
    return f"unknown key; did you mean {LISTENER_PREFIX}{name}.{near[0]}?" if near else "unknown key"
