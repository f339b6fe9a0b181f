"""The broker as a process: settings, logging, event loop, signals, exit code.

SIGTERM and SIGINT stop it in order; a second one ends the process at once, as a crash would (the next start recovers),
and so does one before the broker serves, since nothing can be lost then. Exit code 0 after an orderly stop, 1 where it
could not start or could not go on, with one sentence on standard error that says what to do.
"""

from __future__ import annotations

import asyncio
import gc
import os
import resource
import signal
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from odradek.broker.metadata.errors import MetadataError
from odradek.broker.runtime.logging import configure_logging, get_logger
from odradek.broker.servers.host import Machine
from odradek.broker.servers.roles import server_of_roles
from odradek.broker.servers.shared import SharedServer
from odradek.config.errors import ConfigError
from odradek.config.exposure import find_open_listeners, find_readable
from odradek.config.loading import load_settings
from odradek.protocol.errors import KafkaError

if TYPE_CHECKING:
    from odradek.broker.monitoring.monitor import Monitor

log = get_logger("broker")

EXIT_OK, EXIT_CANNOT_START, EXIT_FAILED, EXIT_SECOND_SIGNAL = 0, 1, 1, 130

STDIN = 0
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)

GC_THRESHOLDS = (10_000, 5, 200)
"""While it serves, a look for garbage in what is young concerns 60,000 objects at most: some milliseconds. What one
request of a megabyte becomes is a multiple of that, and would be looked at in one go else."""
_OLDEST = 2
"""Generation of what has survived several looks: a collection of it is a full one."""
GC_GROWTH = 250_000
"""Objects by which what is looked at no more has to grow before all of it is looked at once."""


class ProcessOptions(NamedTuple):
    """What the process does for whoever has started it."""

    port_file: str | None = None
    """Where it says which ports it has, once it serves."""
    stops_with_stdin: bool = False
    """Whether the end of standard input stops it, as SIGTERM does."""


NOTHING_SPECIAL = ProcessOptions()


def serve(
    properties: str | None, overrides: Sequence[str], log_level: str, options: ProcessOptions = NOTHING_SPECIAL
) -> int:
    """Run the broker until it is told to stop; returns the exit code of the process."""
    configure_logging(log_level)
    for number in STOP_SIGNALS:
        signal.signal(number, _end_at_once)
    _allow_many_files()
    try:
        settings = load_settings(properties, overrides)
    except ConfigError as wrong:
        return _cannot_start(str(wrong))
    for warning in settings.warnings:
        log.warning("config", key=warning.key, origin=warning.origin, warning=warning.message)
    for exposure in (*find_open_listeners(settings), *find_readable(settings, properties)):
        log.warning("open to others", what=exposure.subject, problem=exposure.problem, hint=exposure.remedy)
    try:
        return _run(lambda loop: _serve_until_stopped(SharedServer(loop, settings, Machine(loop)), options))
    except (ConfigError, KafkaError, MetadataError, OSError) as refused:
        return _cannot_start(str(refused))


def _allow_many_files() -> None:
    """Use all descriptors that the system grants: connections and logs in use take one each."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        except (OSError, ValueError) as failed:
            log.warning("the limit of open files stays low", limit=soft, reason=str(failed))


async def _serve_until_stopped(shared: SharedServer, options: ProcessOptions) -> int:
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()

    def stop_in_order(**why: str) -> None:
        log.info("stopping", **why)
        stop.set()
        for each in STOP_SIGNALS:
            loop.remove_signal_handler(each)
            signal.signal(each, _end_at_once)  # also while the loop waits for the disk

    def on_signal(number: signal.Signals) -> None:
        if stop.is_set():
            _end_at_once(number)
        stop_in_order(signal=number.name)

    def on_stdin() -> None:
        if not os.read(STDIN, 4096):  # what comes otherwise is for nobody
            loop.remove_reader(STDIN)
            if not stop.is_set():
                stop_in_order(reason="standard input has ended")

    ended_by: list[str] = []

    def on_end(reason: str) -> None:
        log.error("stopping: this node cannot go on", reason=reason)
        ended_by.append(reason)
        stop.set()

    shared.end = on_end
    shared.monitor = await _monitor(shared)
    server = server_of_roles(shared)
    shared.start()
    await server.start()
    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, on_signal, number)
    if options.stops_with_stdin:
        loop.add_reader(STDIN, on_stdin)
    if options.port_file is not None:
        _write_ports(options.port_file, server.ports)
    gc.freeze()  # what there is now stays; looking for garbage in it would cost as much as a tenth of the start
    gc.set_threshold(*GC_THRESHOLDS)
    survivors = Survivors()
    gc.callbacks.append(survivors.on_collection)
    await stop.wait()
    gc.callbacks.remove(survivors.on_collection)
    if shared.monitor is not None:
        shared.monitor.serving(False)
    await server.stop()
    if shared.monitor is not None:
        await shared.monitor.stop()
    shared.stop()
    if ended_by:
        sys.stderr.write(
            f"odradek: stopped: {ended_by[0]}; see the messages of the kernel, repair or replace the disk, and start"
            " this node again\n"
        )
        return EXIT_FAILED
    return EXIT_OK


def _write_ports(path: str, ports: Sequence[int]) -> None:
    """Write the ports where whoever waits for them sees all of them or none. Raises OSError."""
    temporary = f"{path}.tmp"
    with open(temporary, "w") as file:
        file.writelines(f"{port}\n" for port in ports)
    os.replace(temporary, path)


async def _monitor(shared: SharedServer) -> Monitor | None:
    if shared.settings.http_listener is None:
        return None
    from odradek.broker.servers.monitoring import start_monitor

    return await start_monitor(shared)


class Survivors:
    """Keeps full garbage collections short: what one of them has found in use is looked at no more by the next.

    A hundred thousand partitions are a million objects, which would hold up everybody for a third of a second each
    time. Nothing that is used for long is left in circles when it goes, so that counting references suffices for it;
    should there be something after all, it is found once what is kept so has doubled.
    """

    def __init__(self) -> None:
        self._after_all = gc.get_freeze_count()
        """How many objects were kept when all of them had been looked at for the last time."""

    def on_collection(self, phase: str, info: Mapping[str, int]) -> None:
        """To be among `gc.callbacks`."""
        if info["generation"] < _OLDEST:
            return
        if phase == "stop":
            gc.freeze()
            if self._after_all < 0:
                self._after_all = gc.get_freeze_count()
        elif gc.get_freeze_count() > 2 * self._after_all + GC_GROWTH:
            gc.unfreeze()
            self._after_all = -1


def _end_at_once(number: int, _frame: object = None) -> None:
    """End the process as a crash would; runs between any two steps of the main thread, be it in the middle of a log
    line, of an import or of this."""
    try:
        log.warning("stopping at once; the next start will recover", signal=signal.Signals(number).name)
    finally:
        os._exit(EXIT_SECOND_SIGNAL)


def _run(main: Callable[[asyncio.AbstractEventLoop], Coroutine[Any, Any, int]]) -> int:
    """Run a coroutine on uvloop, or on asyncio's own loop where uvloop has no build."""
    factory: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop
    with suppress(ImportError):
        import uvloop

        factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(main(runner.get_loop()))


def _cannot_start(reason: str) -> int:
    sys.stderr.write(f"odradek: cannot start: {reason}\n")
    return EXIT_CANNOT_START
