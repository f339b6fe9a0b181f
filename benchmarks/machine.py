"""What the kernel says of processes and of the machine: CPU time, resident memory, how busy everyone else is.

Linux only, through clock_gettime and /proc, so that nothing needs to be installed. Knows nothing of brokers.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import platform
import time
from dataclasses import dataclass

_CPUCLOCK_SCHED = 2
_MADV_POPULATE_WRITE = 23  # Linux 5.14
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE_SIZE = os.sysconf("SC_PAGE_SIZE")


def cpu_seconds(pid: int) -> float:
    """User and system CPU seconds that the process and its living descendants have used, to the nanosecond.

    The kernel's per-process CPU clock (clock_getcpuclockid(3) makes its id like this) counts every thread, ended ones
    too, where /proc/PID/stat counts in ticks of 10 ms. Raises OSError when the process is gone.
    """
    total = time.clock_gettime_ns((~pid << 3) | _CPUCLOCK_SCHED) / 1e9
    return total + sum(cpu_seconds(child) for child in children(pid))


def resident_bytes(pid: int) -> int:
    """Resident memory of the process and its living descendants, in bytes."""
    with open(f"/proc/{pid}/statm", encoding="ascii") as statm:
        own = int(statm.read().split()[1]) * _PAGE_SIZE
    return own + sum(resident_bytes(child) for child in children(pid))


def children(pid: int) -> list[int]:
    """The process ids of the direct children of `pid`; empty when it has none or is gone."""
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as listing:
                found.extend(int(child) for child in listing.read().split())
    except FileNotFoundError:
        return []
    return found


@dataclass(frozen=True, slots=True)
class CpuReading:
    """CPU time at one moment: of this machine and of one process tree, in seconds."""

    elapsed: float
    busy: float
    own: float

    def others_share(self, later: CpuReading) -> float:
        """The share of the machine's CPU time, 0 to 1, that neither we nor our children used since this reading."""
        available = (later.elapsed - self.elapsed) * (os.cpu_count() or 1)
        others = (later.busy - self.busy) - (later.own - self.own)
        return max(0.0, others / available) if available > 0 else 0.0


def read_cpu() -> CpuReading:
    """The machine's busy CPU time, and that of this process, its ended children and its living descendants."""
    with open("/proc/stat", encoding="ascii") as stat:
        user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, stat.readline().split()[1:9])
    times = os.times()
    own = times.children_user + times.children_system + cpu_seconds(os.getpid())
    return CpuReading(time.monotonic(), (user + nice + system + irq + softirq + steal) / _TICKS, own)


def await_quiet(limit_seconds: float, share: float = 0.1) -> bool:
    """Wait until others have used less than `share` of the machine for a second; False if that did not come in time."""
    deadline = time.monotonic() + limit_seconds
    while True:
        before = read_cpu()
        time.sleep(1)
        if before.others_share(read_cpu()) < share:
            return True
        if time.monotonic() > deadline:
            return False


def warm_memory(size: int) -> None:
    """Touch so much free memory, at most half of it, and give it back.

    In a virtual machine the first touch of a page makes the host find memory for it, at 2 to 3 s/GB where measured:
    more than all else that an append costs. Whoever writes a file next gets the pages that were freed last.
    """
    size = min(size, os.sysconf("SC_AVPHYS_PAGES") * _PAGE_SIZE // 2)
    with contextlib.closing(mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)) as memory:
        with contextlib.suppress(OSError):  # where the kernel has no huge pages, small ones do, more slowly
            memory.madvise(mmap.MADV_HUGEPAGE)
        memory.madvise(_MADV_POPULATE_WRITE)


def describe() -> str:
    """The machine in one line: processor, cores, memory, kernel, Python."""
    model = "unknown processor"
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as cpuinfo:
        for line in cpuinfo:
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    memory = os.sysconf("SC_PHYS_PAGES") * _PAGE_SIZE / 2**30
    return (
        f"{model}, {os.cpu_count()} cores, {memory:.0f} GiB, Linux {platform.release().partition('-')[0]}, "
        f"Python {platform.python_version()}, loopback"
    )
