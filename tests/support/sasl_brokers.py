"""Brokers of either kind that ask their clients who they are, with the same users.

`SASL` asks once, `REAUTH` again after three seconds; PLAINTEXT is where users are made.
"""

from collections.abc import Mapping
from pathlib import Path

from tests.support.broker import ApacheKafkaProcess, BrokerProcess, OdradekProcess
from tests.support.ports import free_ports

PLAIN_USERS = {"admin": "admin-secret", "alice": "alice-secret", "bob": "bob-secret"}
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
REAUTH_MS = 3000
_SECURITY = "org.apache.kafka.common.security"


def sasl_settings(listeners: Mapping[str, int]) -> dict[str, str]:
    """Return the settings of SASL listeners, by name."""
    users = " ".join(f'user_{name}="{password}"' for name, password in PLAIN_USERS.items())
    settings = {"sasl.enabled.mechanisms": ",".join(MECHANISMS)}
    for name in listeners:
        prefix = f"listener.name.{name.lower()}"
        settings[f"{prefix}.plain.sasl.jaas.config"] = (
            f'{_SECURITY}.plain.PlainLoginModule required username="admin" password="admin-secret" {users};'
        )
        for mechanism in MECHANISMS[1:]:
            settings[f"{prefix}.{mechanism.lower()}.sasl.jaas.config"] = f"{_SECURITY}.scram.ScramLoginModule required;"
        if name == "REAUTH":
            for mechanism in MECHANISMS:
                settings[f"{prefix}.{mechanism.lower()}.connections.max.reauth.ms"] = str(REAUTH_MS)
    return settings


class SaslBroker:
    """A broker with the three listeners."""

    def __init__(self, directory: Path, is_kafka: bool, overrides: Mapping[str, str] | None = None) -> None:
        plain, self.sasl_port, self.reauth_port, controller = free_ports(4)
        at = {"PLAINTEXT": plain, "SASL": self.sasl_port, "REAUTH": self.reauth_port}
        listeners = ",".join(f"{name}://127.0.0.1:{port}" for name, port in at.items())
        protocols = "PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT,REAUTH:SASL_PLAINTEXT"
        settings = {
            **sasl_settings({"SASL": self.sasl_port, "REAUTH": self.reauth_port}),
            "listeners": listeners,
            "listener.security.protocol.map": protocols,
            "inter.broker.listener.name": "PLAINTEXT",
            "connection.failed.authentication.delay.ms": "10",
        }
        self.process: BrokerProcess
        if is_kafka:
            settings["listeners"] += f",CONTROLLER://127.0.0.1:{controller}"
            settings["listener.security.protocol.map"] += ",CONTROLLER:PLAINTEXT"
            settings["advertised.listeners"] = listeners
            settings["controller.quorum.voters"] = f"1@127.0.0.1:{controller}"
            self.process = ApacheKafkaProcess(directory, {**settings, **(overrides or {})})
        else:
            self.process = OdradekProcess(directory, {**settings, **(overrides or {})})
        self.process.port = plain
