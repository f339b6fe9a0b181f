"""Users of SCRAM, made through a broker by librdkafka."""

from confluent_kafka.admin import AdminClient, ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion

_KINDS = {"SCRAM-SHA-256": ScramMechanism.SCRAM_SHA_256, "SCRAM-SHA-512": ScramMechanism.SCRAM_SHA_512}


def set_scram_password(bootstrap: str, user: str, password: str, mechanism: str, iterations: int = 4096) -> None:
    """Give a user a password."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    info = ScramCredentialInfo(_KINDS[mechanism], iterations)
    changes = admin.alter_user_scram_credentials([UserScramCredentialUpsertion(user, info, password.encode())])
    changes[user].result(60)
