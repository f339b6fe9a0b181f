"""A session of Spark for a job: quiet, in UTC, with this Python in its workers."""

from __future__ import annotations

import logging
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from odradek.pipeline import java
from odradek.pipeline.errors import PipelineError, sentence
from odradek.pipeline.interpreter import worker_interpreter
from odradek.pipeline.jvm import JvmGoneError, jvm_errors, start_apart, submitted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL: Final = "local"
ALL_CORES: Final = "local[*]"
DEFAULTS: Final = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.stopTimeout": "30s",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}
UI_DEFAULTS: Final = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
"""Where not spark-submit has started the job, and its settings say it."""
LOCAL_DEFAULTS: Final = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": str(os.cpu_count() or 2),
}
"""For Spark within this one process; a cluster has its own."""

_LOGGING: Final = """\
rootLogger.level = {level}
rootLogger.appenderRef.only.ref = only
appender.only.name = only
{appender}
appender.only.layout.type = PatternLayout
appender.only.layout.pattern = %d{{yyyy-MM-dd'T'HH:mm:ss.SSS}} %p %c{{1}}: %m%n%ex
logger.native.name = org.apache.hadoop.util.NativeCodeLoader
logger.native.level = error
"""


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """How to start Spark."""

    application: str
    master: str | None = None
    """Where Spark runs; None for what spark-submit says, or else for this machine."""
    conf: Mapping[str, str] = field(default_factory=dict)
    """Settings of Spark, which win over those of the jobs."""
    py_files: str | None = None
    """Wheels, zip files or modules for the workers of a cluster, with commas between them."""
    log_file: str | None = None
    """Where Spark's own log goes, from WARN on; without one it goes nowhere."""
    debug: bool = False
    """Have Spark's log on standard error."""


def master_of(settings: SessionSettings) -> str | None:
    """Return where Spark runs, None where spark-submit has said it to Spark itself."""
    return settings.master or (None if submitted() else ALL_CORES)


def _is_local(master: str | None) -> bool:
    return master is not None and master.startswith(LOCAL)


def settings_of_spark(settings: SessionSettings, of_log4j: str) -> dict[str, str]:
    """Return the configuration of Spark; `of_log4j` is the path of a configuration of log4j."""
    master = master_of(settings)
    conf = {**DEFAULTS, **({} if submitted() else UI_DEFAULTS), **(LOCAL_DEFAULTS if _is_local(master) else {})}
    conf |= settings.conf
    if settings.py_files:
        conf["spark.submit.pyFiles"] = settings.py_files
    option = "spark.driver.extraJavaOptions"
    conf[option] = f"-Dlog4j2.configurationFile=file:{of_log4j} {conf.get(option, '')}".strip()
    return conf


def logging_properties(settings: SessionSettings) -> str:
    """Return a configuration of log4j that has Spark's log where the settings say."""
    if settings.log_file is not None:
        appender = f"appender.only.type = File\nappender.only.fileName = {Path(settings.log_file).absolute()}"
    else:
        appender = "appender.only.type = Console\nappender.only.target = SYSTEM_ERR"
    heard = settings.debug or settings.log_file is not None
    return _LOGGING.format(level="warn" if heard else "off", appender=appender)


@contextmanager
def spark_session(settings: SessionSettings) -> Iterator[SparkSession]:
    """Give a session, stopped afterwards. Raises PipelineError where Java is missing or Spark does not start."""
    java.check()
    if _is_local(master_of(settings)):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")  # else Spark warns where a name is of the loopback
    with (
        tempfile.TemporaryDirectory(prefix="odradek-pipeline-") as scratch,
        _interpreters(_is_local(master_of(settings)), Path(scratch)),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")  # of Spark about pandas, which is not used
        of_log4j = Path(scratch) / "log4j2.properties"
        of_log4j.write_text(logging_properties(settings))
        spark = _start(settings, settings_of_spark(settings, str(of_log4j)), Path(scratch) / "errors")
        before = logging.root.manager.disable
        if not settings.debug:
            logging.disable(logging.CRITICAL)  # PySpark and Py4J would say errors a second time, with tracebacks
        try:
            yield spark
        finally:
            with suppress(JvmGoneError), jvm_errors():
                spark.stop()
            logging.disable(before)


@contextmanager
def _interpreters(local: bool, directory: Path) -> Iterator[None]:
    """Have Spark use this interpreter, in workers and where it plans, unless the environment says another."""
    ours = worker_interpreter(directory) if local else sys.executable
    unset = [name for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON") if name not in os.environ]
    if len(unset) == 1:
        ours = sys.executable  # somebody has chosen the other one
    for name in unset:
        os.environ[name] = ours
    try:
        yield
    finally:
        for name in unset:
            os.environ.pop(name, None)


def _start(settings: SessionSettings, conf: Mapping[str, str], errors: Path) -> SparkSession:
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName(settings.application)
    master = master_of(settings)
    if master is not None:
        builder = builder.master(master)
    for name, value in conf.items():
        builder = builder.config(name, value)
    launch = {"spark.app.name": settings.application, **({"spark.master": master} if master else {}), **conf}
    try:
        if settings.debug:
            start_apart(launch)
            return builder.getOrCreate()
        with _standard_error_in(errors):
            start_apart(launch)
            return builder.getOrCreate()
    except Exception as failed:
        from py4j.protocol import Py4JError

        if not isinstance(failed, PySparkException | Py4JError):
            raise
        said = errors.read_text(errors="replace").splitlines()[-1:] if errors.exists() else []
        why = said[0] if said and str(failed).startswith("[JAVA_GATEWAY_EXITED]") else sentence(failed)
        raise PipelineError(
            f"Spark does not start{f' with --master {master}' if master else ''}: {why}; --debug shows its own log"
        ) from failed


@contextmanager
def _standard_error_in(path: Path) -> Iterator[None]:
    """Have what is started meanwhile write its standard error to a file: the JVM and its workers talk there."""
    sys.stderr.flush()
    kept = os.dup(2)
    with path.open("wb") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
