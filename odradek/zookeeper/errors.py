"""What ZooKeeper cannot do for us, in sentences."""

from __future__ import annotations


class ZooKeeperError(Exception):
    """ZooKeeper cannot be asked, or has what cannot be understood: a sentence that says why."""


class ZooKeeperChangedError(ZooKeeperError):
    """Somebody else has changed what was to be changed; nothing was."""


class ZooKeeperLostError(ZooKeeperError):
    """ZooKeeper cannot be reached, or the connection broke in the middle: what was asked for may be done or not."""
