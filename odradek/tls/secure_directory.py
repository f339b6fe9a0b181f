"""What `odradek secure init` writes: the files of a broker that nobody uses but who is let in, and of its clients.

Pure: texts by their names, with which of them are secret. Whoever writes them makes the secret ones with mode 0600.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from odradek.config.secret import Secret
from odradek.tls.authority import SignedKey

ADMINISTRATOR: Final = "admin"
MECHANISM: Final = "SCRAM-SHA-512"

CA_KEY, CA, SERVER = "ca.key", "ca.pem", "server.pem"
CONFIGURATION: Final = "server.properties"
SECRET: Final = "admin.secret"
JAVA, LIBRDKAFKA, PYTHON = "client-java.properties", "client.properties", "client.py"


class SecureFile(NamedTuple):
    """One file; only its owner may read it where it has a secret."""

    name: str
    text: Secret
    is_secret: bool
    purpose: str


class Wanted(NamedTuple):
    """What the files are made for."""

    directory: str
    """Where they lie, as an absolute path: they refer to each other."""
    host: str
    """Under which name clients connect; first of the certificate's names."""
    port: int
    password: Secret


def secure_files(wanted: Wanted, authority: SignedKey, server: SignedKey) -> list[SecureFile]:
    """Return the files, those of the broker first."""
    key = server.key.reveal() + server.certificate + authority.certificate
    return [
        _secret(CONFIGURATION, _configuration(wanted), "the configuration: odradek serve server.properties"),
        _secret(SERVER, key, "the broker's key and certificate"),
        SecureFile(CA, Secret(authority.certificate), False, "the authority's certificate: clients trust it"),
        _secret(CA_KEY, authority.key.reveal(), "the authority's key: signs further certificates; keep it elsewhere"),
        _secret(SECRET, wanted.password.reveal(), f"the password of {ADMINISTRATOR}"),
        _secret(LIBRDKAFKA, _librdkafka(wanted), "for the odradek command (--command-config) and librdkafka"),
        _secret(JAVA, _java(wanted), "for Java clients and Kafka's tools (--command-config)"),
        _secret(PYTHON, _python(wanted), "for Python clients: settings of confluent-kafka, kafka-python and aiokafka"),
    ]


def _secret(name: str, text: str, purpose: str) -> SecureFile:
    return SecureFile(name, Secret(text), True, purpose)


def _configuration(wanted: Wanted) -> str:
    directory = wanted.directory
    return f"""\
# Everybody logs in, over TLS, and may do what an ACL allows. docs/security.md says what each line means.
process.roles=broker,controller
node.id=1
listeners=SASL_SSL://:{wanted.port}
advertised.listeners=SASL_SSL://{_address(wanted)}
log.dirs={directory}/data

ssl.keystore.type=PEM
ssl.keystore.location={directory}/{SERVER}
ssl.truststore.type=PEM
ssl.truststore.location={directory}/{CA}

sasl.enabled.mechanisms={MECHANISM}
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:{ADMINISTRATOR}
odradek.audit.log={directory}/audit.log
"""


def _librdkafka(wanted: Wanted) -> str:
    return f"""\
bootstrap.servers={_address(wanted)}
security.protocol=SASL_SSL
ssl.ca.location={wanted.directory}/{CA}
sasl.mechanism={MECHANISM}
sasl.username={ADMINISTRATOR}
sasl.password={wanted.password.reveal()}
"""


def _java(wanted: Wanted) -> str:
    login = f'username="{ADMINISTRATOR}" password="{wanted.password.reveal()}"'
    return f"""\
bootstrap.servers={_address(wanted)}
security.protocol=SASL_SSL
ssl.truststore.type=PEM
ssl.truststore.location={wanted.directory}/{CA}
sasl.mechanism={MECHANISM}
sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required {login};
"""


def _python(wanted: Wanted) -> str:
    ca, password = f"{wanted.directory}/{CA}", wanted.password.reveal()
    return f'''\
"""Settings of clients: confluent_kafka.Producer(CONFLUENT_KAFKA), kafka.KafkaProducer(**KAFKA_PYTHON),
aiokafka.AIOKafkaProducer(**aiokafka_settings())."""

import ssl

CONFLUENT_KAFKA = {{
    "bootstrap.servers": "{_address(wanted)}",
    "security.protocol": "SASL_SSL",
    "ssl.ca.location": "{ca}",
    "sasl.mechanism": "{MECHANISM}",
    "sasl.username": "{ADMINISTRATOR}",
    "sasl.password": "{password}",
}}

KAFKA_PYTHON = {{
    "bootstrap_servers": "{_address(wanted)}",
    "security_protocol": "SASL_SSL",
    "ssl_cafile": "{ca}",
    "sasl_mechanism": "{MECHANISM}",
    "sasl_plain_username": "{ADMINISTRATOR}",
    "sasl_plain_password": "{password}",
}}


def aiokafka_settings():
    settings = {{name: value for name, value in KAFKA_PYTHON.items() if name != "ssl_cafile"}}
    return settings | {{"ssl_context": ssl.create_default_context(cafile="{ca}")}}
'''


def _address(wanted: Wanted) -> str:
    return f"[{wanted.host}]:{wanted.port}" if ":" in wanted.host else f"{wanted.host}:{wanted.port}"
