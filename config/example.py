"""server.properties.example: every key that odradek acts on, with what it does and its default.

Written from the tables: `python -m odradek.config.example > server.properties.example`. A test holds the file in the
repository equal to this.
"""

import sys
import textwrap

from odradek.config.definitions import ConfigKey, Service, UpdateMode, broker_definitions, topic_name_of
from odradek.config.loading import EMBEDDED_DEFAULTS
from odradek.config.node import DEFAULT_NODE_ID
from odradek.config.quorum import DEFAULT_ROLES
from odradek.config.reading import RACK_AWARE_SELECTOR
from odradek.config.rules import describe

WIDTH = 100
HEADER = """\
# server.properties of odradek: every key that it acts on. Names, defaults and meanings are those of Apache Kafka 4.3.
#
#     odradek serve server.properties [--override key=value ...]
#
# A line that starts with #key= shows a default, or an example where there is none; take the # away to change it.
# Relative paths count from the directory that the broker is started in. docs/configuration.md says more.
#
# With a listener of the controller other brokers can join this node, and Apache Kafka runs on the same file:
#
#     listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093
#     controller.listener.names=CONTROLLER
#     controller.quorum.voters=1@127.0.0.1:9093
#     listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
#
# This file is made from the tables in config/: python -m odradek.config.example > server.properties.example
"""
SET = {
    **EMBEDDED_DEFAULTS,
    "node.id": str(DEFAULT_NODE_ID),
    "process.roles": ",".join(DEFAULT_ROLES),
}
EXAMPLES = {
    "advertised.listeners": "PLAINTEXT://kafka.example.com:9092",
    "broker.rack": "rack-1",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.bootstrap.servers": "127.0.0.1:9093",
    "controller.quorum.voters": "1@127.0.0.1:9093",
    "delegation.token.secret.key": "a-long-random-text",
    "inter.broker.listener.name": "PLAINTEXT",
    "log.flush.interval.ms": "1000",
    "log.retention.minutes": "10080",
    "log.retention.ms": "604800000",
    "log.roll.jitter.ms": "60000",
    "log.roll.ms": "604800000",
    "max.connections.per.ip.overrides": "127.0.0.1:1000",
    "metadata.log.dir": "./odradek-metadata",
    "sasl.jaas.config": 'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="secret";',
    "sasl.kerberos.service.name": "kafka",
    "sasl.login.connect.timeout.ms": "10000",
    "sasl.login.read.timeout.ms": "10000",
    "sasl.oauthbearer.expected.audience": "kafka",
    "sasl.oauthbearer.expected.issuer": "https://login.example.com",
    "sasl.oauthbearer.jwks.endpoint.url": "https://login.example.com/jwks.json",
    "replica.selector.class": RACK_AWARE_SELECTOR,
    "ssl.key.password": "secret",
    "ssl.keystore.certificate.chain": "-----BEGIN CERTIFICATE----- MIIB... -----END CERTIFICATE-----",
    "ssl.keystore.key": "-----BEGIN PRIVATE KEY----- MIIB... -----END PRIVATE KEY-----",
    "ssl.keystore.location": "/etc/odradek/server.pem",
    "ssl.keystore.password": "secret",
    "ssl.truststore.certificates": "-----BEGIN CERTIFICATE----- MIIB... -----END CERTIFICATE-----",
    "ssl.truststore.location": "/etc/odradek/ca.pem",
    "ssl.truststore.password": "secret",
}


def render() -> str:
    """Return the content of server.properties.example."""
    parts = [HEADER]
    section = ""
    for definition in broker_definitions().values():
        if definition.service is not Service.SERVED or definition.internal:
            continue
        if definition.section != section:
            section = definition.section
            parts.append(f"\n{'#' * WIDTH}\n# {section}\n{'#' * WIDTH}\n")
        parts.append(_entry(definition))
    return "\n".join(parts)


def _entry(definition: ConfigKey) -> str:
    wrapped = textwrap.wrap(definition.documentation, WIDTH - 2)
    lines = [f"# {line}" for line in wrapped]
    facts = _facts(definition)
    if facts:
        lines.append(f"# ({'; '.join(facts)})")
    if definition.name in SET:
        lines.append(f"{definition.name}={SET[definition.name]}")
    else:
        lines.append(f"#{definition.name}={EXAMPLES.get(definition.name, definition.default or '')}")
    return "\n".join(lines) + "\n"


def _facts(definition: ConfigKey) -> list[str]:
    facts = []
    expected = describe(definition.valid)
    if expected:
        facts.append(expected)
    topic = topic_name_of(definition.name)
    if topic:
        facts.append(f"for one topic: {topic}")
    if definition.scope is UpdateMode.CLUSTER_WIDE:
        facts.append("can be changed while the broker runs")
    return facts


if __name__ == "__main__":
    sys.stdout.write(render())
