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
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from odradek.broker.metadata.errors import MetadataError
from odradek.broker.runtime.host_advice import find_advice, look_at_host, real_paths
from odradek.broker.runtime.logging import configure_logging, get_logger
from odradek.broker.runtime.service_manager import ServiceManager, service_manager_of_process
from odradek.broker.servers.host import Machine
from odradek.broker.servers.roles import server_of_roles
from odradek.broker.servers.shared import SharedServer
from odradek.config.container import LISTENERS_FILE, LISTENERS_FILE_VARIABLE, MOUNTED, given_cluster_id
from odradek.config.errors import ConfigError
from odradek.config.exposure import find_open_listeners, find_readable
from odradek.config.loading import load_settings
from odradek.config.settings import BrokerSettings
from odradek.protocol.errors import KafkaError

if TYPE_CHECKING:
    from odradek.broker.console_process import ConsoleProcess
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
    is_container: bool = False
    """Whether environment variables are settings, and a health check wants to know the listeners."""
    console: str | None = None
    """Where a console of this node listens, as host:port."""


NOTHING_SPECIAL = ProcessOptions()


def serve(
    properties: str | None, overrides: Sequence[str], log_level: str, options: ProcessOptions = NOTHING_SPECIAL
) -> int:
    """Run the broker until it is told to stop; returns the exit code of the process."""
    configure_logging(log_level)
    for number in STOP_SIGNALS:
        signal.signal(number, _end_at_once)
    _allow_many_files()
    environment = dict(os.environ) if options.is_container else None
    if environment is not None and properties is None and os.path.exists(MOUNTED):
        properties = MOUNTED
    try:
        settings = load_settings(properties, overrides, container=environment)
        cluster_id = given_cluster_id(environment or {})
        if options.console is not None:
            from odradek.broker.console_process import check_console

            check_console(settings)
    except ConfigError as wrong:
        return _cannot_start(str(wrong))
    for warning in settings.warnings:
        log.warning("config", key=warning.key, origin=warning.origin, warning=warning.message)
    for exposure in (*find_open_listeners(settings), *find_readable(settings, properties)):
        log.warning("open to others", what=exposure.subject, problem=exposure.problem, hint=exposure.remedy)
    for advice in find_advice(look_at_host(), real_paths(settings.log_dirs), options.is_container):
        log.warning("this machine", what=advice.subject, problem=advice.problem, hint=advice.remedy)
    manager = service_manager_of_process()

    async def run(loop: asyncio.AbstractEventLoop) -> int:
        shared = SharedServer(loop, settings, Machine(loop))
        shared.given_cluster_id = cluster_id
        return await _serve_until_stopped(shared, options, manager)

    try:
        return _run(run)
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


class OrderlyEnd:
    """What has the process stop in order: a signal, the end of standard input, a node that cannot go on."""

    def __init__(self, loop: asyncio.AbstractEventLoop, manager: ServiceManager) -> None:
        self._loop = loop
        self._manager = manager
        self._asked = asyncio.Event()
        self.failure: str | None = None
        """Why the node cannot go on."""

    async def wait(self) -> None:
        """Return once the process is to stop."""
        await self._asked.wait()

    def on_failure(self, reason: str) -> None:
        """The node cannot go on."""
        log.error("stopping: this node cannot go on", reason=reason)
        self._manager.stopping(f"stopping, this node cannot go on: {reason}")
        self.failure = self.failure or reason
        self._asked.set()

    def listen(self, to_stdin: bool) -> None:
        """Take signals, and the end of standard input, for the wish to stop in order."""
        for number in STOP_SIGNALS:
            self._loop.add_signal_handler(number, self._on_signal, number)
        if to_stdin:
            self._loop.add_reader(STDIN, self._on_stdin)

    def _on_signal(self, number: signal.Signals) -> None:
        if self._asked.is_set():
            _end_at_once(number)
        self._stop(signal=number.name)

    def _on_stdin(self) -> None:
        if not os.read(STDIN, 4096):  # what comes otherwise is for nobody
            self._loop.remove_reader(STDIN)
            if not self._asked.is_set():
                self._stop(reason="standard input has ended")

    def _stop(self, **why: str) -> None:
        log.info("stopping", **why)
        self._manager.stopping(f"stopping in order: {', '.join(why.values())}")
        self._asked.set()
        for each in STOP_SIGNALS:
            self._loop.remove_signal_handler(each)
            signal.signal(each, _end_at_once)  # also while the loop waits for the disk


async def _serve_until_stopped(shared: SharedServer, options: ProcessOptions, manager: ServiceManager) -> int:
    loop = asyncio.get_running_loop()
    end = OrderlyEnd(loop, manager)
    shared.end = end.on_failure
    manager.status("starting: opens its logs, and checks them after an unclean stop")
    shared.monitor = await _monitor(shared)
    server = server_of_roles(shared)
    shared.start()
    await server.start()
    end.listen(options.stops_with_stdin)
    if options.port_file is not None:
        _write_lines(options.port_file, map(str, server.ports))
    if options.is_container:
        _tell_health_check(shared.settings, server.ports)
    manager.ready(f"node {shared.settings.node_id} serves on port {', '.join(map(str, server.ports))}")
    manager.watch(loop)
    console = await _console(shared.settings, server.ports, options.console)
    gc.freeze()  # what there is now stays; looking for garbage in it would cost as much as a tenth of the start
    gc.set_threshold(*GC_THRESHOLDS)
    survivors = Survivors()
    gc.callbacks.append(survivors.on_collection)
    await end.wait()
    gc.callbacks.remove(survivors.on_collection)
    if console is not None:
        await console.stop()
    if shared.monitor is not None:
        shared.monitor.serving(False)
    await server.stop()
    if shared.monitor is not None:
        await shared.monitor.stop()
    shared.stop()
    manager.end_watch()
    if end.failure is not None:
        sys.stderr.write(
            f"odradek: stopped: {end.failure}; see the messages of the kernel, repair or replace the disk, and start"
            " this node again\n"
        )
        return EXIT_FAILED
    return EXIT_OK


def _write_lines(path: str, lines: Iterable[str]) -> None:
    """Write lines where whoever waits for them sees all of them or none. Raises OSError."""
    temporary = f"{path}.tmp"
    with open(temporary, "w") as file:
        file.writelines(f"{line}\n" for line in lines)
    os.replace(temporary, path)


def _tell_health_check(settings: BrokerSettings, ports: Sequence[int]) -> None:
    """Write the listeners with their real ports, as `PROTOCOL host port`, where the health check of the image looks."""
    listeners = settings.listeners or settings.controller_listeners
    lines = [f"{one.protocol} {one.host or 'localhost'} {port}" for one, port in zip(listeners, ports, strict=False)]
    path = os.environ.get(LISTENERS_FILE_VARIABLE, LISTENERS_FILE)
    try:
        _write_lines(path, lines)
    except OSError as failed:
        log.warning("the health check tries port 9092: it cannot be told", file=path, reason=str(failed))


async def _console(settings: BrokerSettings, ports: Sequence[int], listen: str | None) -> ConsoleProcess | None:
    if listen is None:
        return None
    from odradek.broker.console_process import ConsoleProcess, console_arguments

    try:
        return await ConsoleProcess.start(console_arguments(settings, ports, listen))
    except OSError as failed:
        log.warning("the console did not start; the broker goes on without it", reason=str(failed))
        return None


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
