"""What is checked before a package is built or installed: that the links in odradek/ are there as links.

A checkout without them (an archive or a file system that has none) has small text files in their place.
"""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

LINKED = ("broker", "config", "pipeline", "protocol", "storage")


class CustomBuildHook(BuildHookInterface[Any]):
    """Refuses to build from a tree in which parts of `odradek` are missing."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """End with a sentence where a part is no directory."""
        del version, build_data
        missing = [name for name in LINKED if not Path(self.root, "odradek", name).is_dir()]
        if missing:
            raise SystemExit(
                f"odradek/{missing[0]} is no link to the folder {missing[0]}/: this copy of the repository was made"
                " without symbolic links. Clone it with git on a file system that has them (git config core.symlinks"
                " true), or install a wheel"
            )
