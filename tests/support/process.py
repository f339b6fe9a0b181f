"""What the kernel tells of a process: its memory and its open files."""

from pathlib import Path


def resident_bytes(pid: int) -> int:
    """Return how much memory of a process is resident."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise AssertionError(f"no resident size for process {pid}")


def open_descriptors(pid: int) -> int:
    """Return how many file descriptors a process holds."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))
