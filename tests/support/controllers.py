"""Controllers of the project in processes of their own, for tests with several nodes."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.broker import OdradekProcess
from tests.support.ports import free_ports

NODE_ID = 3000


class OdradekController(OdradekProcess):
    """A controller alone, node 3000, whose port stays the same over its starts: brokers know it by that."""

    def __init__(self, directory: Path, overrides: Mapping[str, str] | None = None) -> None:
        super().__init__(directory, overrides)
        (self.port,) = free_ports(1)

    @property
    def voters(self) -> str:
        """What brokers are given as controller.quorum.voters."""
        return f"{NODE_ID}@127.0.0.1:{self.port}"

    @property
    def cluster_id(self) -> str:
        """The id that it made at its first start."""
        lines = (self.data / "meta.properties").read_text().splitlines()
        return next(line.partition("=")[2] for line in lines if line.startswith("cluster.id="))

    def _command(self) -> Sequence[str]:
        self.overrides = {
            "process.roles": "controller",
            "node.id": str(NODE_ID),
            "controller.quorum.voters": self.voters,
            "listeners": f"CONTROLLER://127.0.0.1:{self.port}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        } | self.overrides
        return super()._command()
