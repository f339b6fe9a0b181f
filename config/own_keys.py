"""Keys that Apache Kafka does not have. Each begins with `odradek.`, so that none of Kafka's is ever taken for one.

Kafka itself says that it does not know them, and goes on. A module that reads one says what it may hold.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

USERS_FILE: Final = "odradek.sasl.users.file"

OWN_KEYS: Mapping[str, str] = MappingProxyType(
    {
        USERS_FILE: "File of users who may log in by PLAIN, with hashes of their passwords (odradek users --file).",
    }
)
"""What each is for."""
