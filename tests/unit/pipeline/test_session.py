"""How Spark is configured for a job, before it starts."""

import pytest

from odradek.pipeline.session import SessionSettings, logging_properties, master_of, settings_of_spark


def test_what_a_person_sets_wins() -> None:
    """Settings given with --conf win over those of the jobs; options of the JVM are added to ours."""
    conf = {"spark.ui.enabled": "true", "spark.driver.extraJavaOptions": "-Xss4m"}
    found = settings_of_spark(SessionSettings("app", conf=conf, py_files="a.whl"), "/tmp/log4j2.properties")
    assert found["spark.ui.enabled"] == "true"
    assert found["spark.submit.pyFiles"] == "a.whl"
    assert found["spark.driver.extraJavaOptions"] == "-Dlog4j2.configurationFile=file:/tmp/log4j2.properties -Xss4m"
    assert found["spark.sql.parquet.outputTimestampType"] == "TIMESTAMP_MICROS"


def test_a_cluster_is_reached_from_outside() -> None:
    """Only Spark within one process is bound to the loopback."""
    assert "spark.driver.host" in settings_of_spark(SessionSettings("app", "local[2]"), "x")
    assert "spark.driver.host" not in settings_of_spark(SessionSettings("app", "spark://host:7077"), "x")


def test_spark_submit_says_where_spark_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its master and its settings of the UI count unless the job is given others; else Spark runs on this machine."""
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    plain = SessionSettings("app")
    assert master_of(plain) == "local[*]"
    assert settings_of_spark(plain, "x")["spark.ui.enabled"] == "false"
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1234")
    assert master_of(plain) is None
    assert {"spark.ui.enabled", "spark.driver.host"}.isdisjoint(settings_of_spark(plain, "x"))
    assert master_of(SessionSettings("app", "spark://host:7077")) == "spark://host:7077"


def test_spark_is_quiet_unless_asked() -> None:
    """Spark's own log goes nowhere, to a file, or with --debug to standard error."""
    assert "rootLogger.level = off" in logging_properties(SessionSettings("app"))
    assert "rootLogger.level = warn" in logging_properties(SessionSettings("app", debug=True))
    to_file = logging_properties(SessionSettings("app", log_file="/tmp/spark.log"))
    assert "appender.only.fileName = /tmp/spark.log" in to_file
    assert "rootLogger.level = warn" in to_file
