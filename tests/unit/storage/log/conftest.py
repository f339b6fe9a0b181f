"""What nearly every test of a log begins with: files in memory, and an empty log on them."""

import pytest

from odradek.storage.log.log import Log
from tests.support.logs import open_at
from tests.support.memory_files import MemoryFiles


@pytest.fixture
def fs() -> MemoryFiles:
    """Empty files in memory."""
    return MemoryFiles()


@pytest.fixture
def log(fs: MemoryFiles) -> Log:
    """An empty log on `fs`, with segments of 2,000 bytes and an index entry every 200."""
    return open_at(fs)
