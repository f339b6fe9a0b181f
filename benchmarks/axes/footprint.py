"""What a broker takes when it does nothing, and what memory it keeps after a load."""

from __future__ import annotations

import subprocess
import sys
import time

from benchmarks import isolation, machine
from benchmarks.axes.fetch import dataset
from benchmarks.axis import Axis, Bench, Measure, Stage, Values
from benchmarks.clients import bulk
from benchmarks.floors import BARE_SERVER
from benchmarks.target import free_port

_SETTLING_SECONDS = 1.0
_MEGABYTE = 1e6


def _idle(stage: Stage) -> Values:
    stage.close()
    with stage.bench.scratch("idle") as directory, stage.target.start(directory) as broker:
        time.sleep(_SETTLING_SECONDS + stage.warmup_seconds)
        resident = machine.resident_bytes(broker.pid) / _MEGABYTE
        seconds = stage.bench.seconds(5)
        before = broker.cpu_seconds()
        time.sleep(seconds)
        share = (broker.cpu_seconds() - before) / seconds
        broker.stop()
    return {"resident": resident, "cpu": share * 100}


def _idle_floor(bench: Bench) -> Values:
    def measure() -> Values:
        command = [sys.executable, "-I", "-S", "-c", BARE_SERVER, str(free_port())]
        with subprocess.Popen(command) as process:
            time.sleep(0.2)
            resident = machine.resident_bytes(process.pid) / _MEGABYTE
            process.kill()
        return {"resident": resident}

    return bench.once("bare idle", measure)


def _loaded(stage: Stage) -> Values:
    isolation.run(bulk.fetch, dataset(stage), 1)
    return {"resident": machine.resident_bytes(stage.broker().pid) / _MEGABYTE}


IDLE = (
    Axis(
        "idle",
        "idle, empty directory",
        (Measure("resident", "MB resident"), Measure("cpu", "% CPU of one core")),
        _idle,
        _idle_floor,
    ),
)
LOADED = (Axis("loaded", "memory after the loads above", (Measure("resident", "MB resident"),), _loaded, _idle_floor),)
