"""The authorized_operations fields: which operations a client may do, as a set of bits (KIP-430).

Without an authorizer everybody may do everything that makes sense for the kind of resource.
"""

from typing import Final

NOT_ASKED: Final = -(1 << 31)
"""Stands in the field where the client did not ask."""
TOPIC_OPERATIONS: Final = 3576  # read, write, create, delete, alter, describe, describe configs, alter configs
CLUSTER_OPERATIONS: Final = 8096  # create, alter, describe, cluster action, configs, idempotent write, tokens
GROUP_OPERATIONS: Final = 3400  # read, delete, describe, describe configs, alter configs


def topic_operations(asked: bool) -> int:
    """Return the value of topic_authorized_operations."""
    return TOPIC_OPERATIONS if asked else NOT_ASKED


def cluster_operations(asked: bool) -> int:
    """Return the value of cluster_authorized_operations."""
    return CLUSTER_OPERATIONS if asked else NOT_ASKED


def group_operations(asked: bool) -> int:
    """Return the value of authorized_operations of a group."""
    return GROUP_OPERATIONS if asked else NOT_ASKED
