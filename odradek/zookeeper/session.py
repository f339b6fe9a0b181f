"""A session with ZooKeeper whose calls wait for a limited time, whatever becomes of its connection.

kazoo connects again by itself, and begins a new session where the old one has expired; nothing here depends on one,
for no node is ephemeral. What only reads is tried again meanwhile. What writes is not: whether it was done is for the
caller to find out, who knows what he wrote.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from odradek.zookeeper.address import ZooKeeperAddress
from odradek.zookeeper.errors import ZooKeeperChangedError, ZooKeeperError, ZooKeeperLostError

SESSION_TIMEOUT_S: Final = 10.0
PATIENCE_S: Final = 15.0
"""For so long a server that cannot be reached is waited for: longer than an ensemble takes to elect another leader."""
_PAUSE_S: Final = 0.1


@dataclass(frozen=True, slots=True)
class StoredNode:
    """What a node holds, and how often it was changed: the version by which it is compared when it is set."""

    data: bytes
    version: int


@dataclass(frozen=True, slots=True)
class NodeChange:
    """What one node is to hold; `version` is the one that it must have, None where it must not be there."""

    path: str
    data: bytes
    version: int | None


class ZooKeeperSession:
    """A session. Methods raise ZooKeeperError where ZooKeeper does not do its part."""

    def __init__(self, address: ZooKeeperAddress, patience_s: float = PATIENCE_S) -> None:
        from kazoo.client import KazooClient
        from kazoo.retry import KazooRetry
        from kazoo.security import CREATOR_ALL_ACL

        self._address = address
        self._patience_s = patience_s
        quiet = logging.getLogger("odradek.zookeeper.kazoo")
        quiet.propagate = False
        quiet.addHandler(logging.NullHandler())
        self._client: Any = KazooClient(
            ",".join(address.servers),
            timeout=SESSION_TIMEOUT_S,
            connection_retry=KazooRetry(max_tries=-1, delay=_PAUSE_S, max_delay=1.0),
            auth_data=[("digest", address.account)] if address.account else None,
            default_acl=CREATOR_ALL_ACL if address.account else None,
            logger=quiet,
        )

    def open(self) -> None:
        """Connect; the chroot need not be there."""
        with self._in_a_sentence():
            self._client.start(self._patience_s)

    def close(self) -> None:
        """End the session."""
        self._client.stop()
        self._client.close()

    def read(self, path: str) -> StoredNode | None:
        """Return what a node holds, None where it is not there."""
        from kazoo.exceptions import NoNodeError

        with self._in_a_sentence():
            try:
                data, stat = self._asked(lambda: self._client.get_async(self._at(path)))
            except NoNodeError:
                return None
        return StoredNode(data or b"", stat.version)

    def children(self, path: str) -> list[str]:
        """Return the names of the nodes below one, sorted; none where it is not there."""
        from kazoo.exceptions import NoNodeError

        with self._in_a_sentence():
            try:
                return sorted(self._asked(lambda: self._client.get_children_async(self._at(path))))
            except NoNodeError:
                return []

    def make(self, path: str) -> None:
        """Make a node and all above it, where they are not there.

        The chroot and its first level stay everybody's: groups of others come there, too.
        """
        from kazoo.security import OPEN_ACL_UNSAFE

        everybodys = self._at("/".join(path.split("/")[:2]))
        with self._in_a_sentence():
            self._asked(lambda: self._client.ensure_path_async(everybodys, OPEN_ACL_UNSAFE))
            self._asked(lambda: self._client.ensure_path_async(self._at(path)))

    def change(self, changes: Sequence[NodeChange]) -> None:
        """Change all of these nodes, or none of them.

        Raises:
            ZooKeeperChangedError: a node has another version, or is there or not against what was expected.
            ZooKeeperLostError: it may be done or not.
        """
        from kazoo.exceptions import (
            BadVersionError,
            NodeExistsError,
            NoNodeError,
            RolledBackError,
            RuntimeInconsistency,
        )

        with self._in_a_sentence():
            transaction = self._client.transaction()
            for each in changes:
                if each.version is None:
                    transaction.create(self._at(each.path), each.data)
                else:
                    transaction.set_data(self._at(each.path), each.data, each.version)
            results = transaction.commit_async().get(timeout=self._patience_s)
            failed = [each for each in results if isinstance(each, Exception)]
            causes = [each for each in failed if not isinstance(each, RolledBackError | RuntimeInconsistency)]
            if any(isinstance(each, BadVersionError | NodeExistsError | NoNodeError) for each in causes):
                raise ZooKeeperChangedError(f"ZooKeeper at {self._address} has something newer")
            if failed:
                raise (causes or failed)[0]

    def _at(self, path: str) -> str:
        """Return where a path is for the servers. kazoo makes no chroot of several levels."""
        return self._address.chroot + path

    def _asked(self, ask: Callable[[], Any]) -> Any:
        """Return an answer, asked for again while connections break."""
        deadline = time.monotonic() + self._patience_s
        while True:
            try:
                return ask().get(timeout=max(_PAUSE_S, deadline - time.monotonic()))
            except _troubles() as lost:
                if time.monotonic() >= deadline:
                    raise ZooKeeperLostError(self._sentence(lost)) from lost
                time.sleep(_PAUSE_S)

    @contextmanager
    def _in_a_sentence(self) -> Iterator[None]:
        from kazoo.exceptions import KazooException

        try:
            yield
        except _troubles() as lost:
            raise ZooKeeperLostError(self._sentence(lost)) from lost
        except KazooException as failed:
            raise ZooKeeperError(self._sentence(failed)) from failed

    def _sentence(self, failed: Exception) -> str:
        from kazoo.exceptions import ConnectionLoss, NoAuthError, SessionExpiredError
        from kazoo.handlers.threading import KazooTimeoutError

        why = " ".join(str(failed).split()).rstrip(".") or type(failed).__name__
        if isinstance(failed, NoAuthError):
            why = "this account may not do that; give one that may, as zookeeper://user:password@host:2181"
        elif isinstance(failed, KazooTimeoutError | ConnectionLoss | SessionExpiredError):
            why = f"no connection for {self._patience_s:g} s; see that it runs there"
        return f"ZooKeeper at {self._address} does not do its part: {why}"


def _troubles() -> tuple[type[Exception], ...]:
    """Return what a connection or a session can end with, after which asking again may help."""
    from kazoo.exceptions import ConnectionClosedError, ConnectionLoss, OperationTimeoutError, SessionExpiredError
    from kazoo.handlers.threading import KazooTimeoutError

    return ConnectionClosedError, ConnectionLoss, OperationTimeoutError, SessionExpiredError, KazooTimeoutError


@contextmanager
def zookeeper_session(address: ZooKeeperAddress, patience_s: float = PATIENCE_S) -> Iterator[ZooKeeperSession]:
    """Give a session, ended afterwards. Raises ZooKeeperError where nobody answers."""
    session = ZooKeeperSession(address, patience_s)
    session.open()
    try:
        yield session
    finally:
        session.close()
