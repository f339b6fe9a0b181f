"""`odradek exporter`: metrics of any cluster for Prometheus, as kafka_exporter tells them."""

from __future__ import annotations

import asyncio
import re
import signal
from http import HTTPStatus
from typing import Annotated

import typer
from typer import Option

from odradek.cli.command import online
from odradek.cluster.connection import ClusterClients
from odradek.cluster.exporting import ClusterCollector
from odradek.config.bind_errors import why_not_opened
from odradek.config.http_listener import parse_http_listener
from odradek.documents import exporter as documents
from odradek.metrics.http import Answer, HttpServer, PageRequest
from odradek.metrics.samples import Samples
from odradek.terminal.errors import CommandError, WrongUsageError
from odradek.terminal.output import CommandOutput

app = typer.Typer()


@online(
    app,
    "exporter",
    document=documents.EXPORTING,
    examples="""\
    odradek exporter
    odradek exporter -b kafka-1:9092,kafka-2:9092 --listen :9308
    odradek exporter --topics 'orders.*' --groups 'billing|shipping' --command-config client.properties""",
)
def exporter(
    cluster: ClusterClients,
    output: CommandOutput,
    listen: Annotated[
        str, Option("--listen", metavar="HOST:PORT", help="Where Prometheus asks; :9308 is every interface.")
    ] = "127.0.0.1:9308",
    topics: Annotated[str, Option("--topics", metavar="REGEX", help="Only topics whose whole name matches.")] = ".*",
    groups: Annotated[str, Option("--groups", metavar="REGEX", help="Only groups whose whole name matches.")] = ".*",
) -> None:
    """Give Prometheus the metrics of a cluster that tells none itself.

    Topics, partitions and consumer groups with their lag, of any Kafka cluster, under the names of kafka_exporter, at
    /metrics until Ctrl-C. The cluster is asked when Prometheus asks, in few requests.
    Needs pip install 'odradek[metrics]'.
    """
    try:
        address = parse_http_listener(listen)
    except ValueError as wrong:
        raise WrongUsageError(f"--listen {listen}: {wrong}") from wrong
    collector = ClusterCollector(cluster.requests, _pattern("--topics", topics), _pattern("--groups", groups))
    try:
        from odradek.metrics.exposition import page_of
    except ModuleNotFoundError as missing:
        raise CommandError("prometheus-client is not installed: pip install 'odradek[metrics]'") from missing
    pages = _Pages(collector, output)

    async def metrics(request: PageRequest) -> Answer:
        samples = await pages.collected()
        if samples is None:
            return Answer(HTTPStatus.SERVICE_UNAVAILABLE, b"the cluster does not answer\n")
        page = await asyncio.to_thread(page_of, samples, request.accept)
        return Answer(HTTPStatus.OK, page.body, page.content_type)

    async def serve() -> None:
        stop = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        server = HttpServer({"/metrics": metrics}, lambda path, failed: output.note(f"{path} failed: {failed}"))
        try:
            port = await server.start(address.host, address.port)
        except OSError as failed:
            raise CommandError(f"--listen {listen}: {why_not_opened(failed)}") from failed
        url = f"http://{f'[{address.host}]' if ':' in address.host else address.host}:{port}/metrics"
        if output.json:
            output.document({"url": url})
        else:
            output.note(f"metrics of {cluster.bootstrap} at {url}; Ctrl-C ends it")
        await stop.wait()
        await server.stop()

    asyncio.run(serve())


def _pattern(option: str, text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as wrong:
        raise WrongUsageError(f"{option} {text}: {wrong}") from wrong


class _Pages:
    """Asks the cluster for one page at a time: who asks meanwhile gets the same."""

    def __init__(self, collector: ClusterCollector, output: CommandOutput) -> None:
        self._collector = collector
        self._output = output
        self._asking: asyncio.Task[Samples | None] | None = None
        self._problem = ""
        """What was said last, since Prometheus asks again and again."""

    async def collected(self) -> Samples | None:
        """Return the metrics; None where the cluster does not answer, which is said once."""
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._ask())
        return await asyncio.shield(self._asking)

    async def _ask(self) -> Samples | None:
        try:
            samples = await asyncio.to_thread(self._collector.collect)
        except CommandError as away:
            if str(away) != self._problem:
                self._output.note(str(away))
            self._problem = str(away)
            return None
        if self._problem:
            self._output.note("the cluster answers again")
        self._problem = ""
        return samples
