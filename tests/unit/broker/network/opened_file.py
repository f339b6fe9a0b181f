"""A file whose regions the tests of answers send."""

import os
from pathlib import Path


class OpenedFile:
    """A file for regions, open as long as somebody has it."""

    def __init__(self, path: Path) -> None:
        self.fd = os.open(path, os.O_RDONLY)

    def __del__(self) -> None:
        os.close(self.fd)
