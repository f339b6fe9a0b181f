"""Dashboards and alert rules ask for nothing that is not told, and say what it means and what to do."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from odradek.metrics.not_there import NOT_THERE
from odradek.metrics.table import METRICS
from tests.support.scraped import documented

DOCKER = Path(__file__).resolve().parents[3] / "docker"
DASHBOARDS = sorted((DOCKER / "grafana" / "dashboards").glob("*.json"))
RULES = yaml.safe_load((DOCKER / "prometheus" / "alerts.yml").read_text())["groups"][0]["rules"]
OF_PROMETHEUS = {"up"}

PUBLIC = {
    "7589, Kafka Exporter Overview": """
        kafka_consumergroup_lag{consumergroup,topic,partition} kafka_topic_partition_current_offset{topic,partition}
        kafka_topic_partitions{topic} kafka_consumergroup_current_offset{consumergroup,topic,partition}
    """,
    "Strimzi Kafka Exporter": """
        kafka_topic_partitions{topic} kafka_topic_partition_replicas{topic} kafka_topic_partition_in_sync_replica{topic}
        kafka_topic_partition_under_replicated_partition{topic} kafka_cluster_partition_atminisr{topic}
        kafka_cluster_partition_underminisr{topic} kafka_topic_partition_leader_is_preferred{topic}
        kafka_topic_partition_current_offset{topic,partition} kafka_topic_partition_oldest_offset{topic,partition}
        kafka_consumergroup_current_offset{consumergroup,topic,partition}
        kafka_consumergroup_lag{consumergroup,topic,partition} kafka_exporter_build_info{}
    """,
    "Strimzi Kafka": """
        container_cpu_usage_seconds_total container_memory_usage_bytes jvm_gc_collection_seconds_count
        jvm_gc_collection_seconds_sum jvm_memory_bytes_used jvm_threads_current kubelet_volume_stats_available_bytes
        kafka_cluster_partition_atminisr{} kafka_cluster_partition_replicascount{topic,partition}
        kafka_cluster_partition_underminisr{} kafka_controller_controllerstats_uncleanleaderelections_total{}
        kafka_controller_kafkacontroller_activecontrollercount{}
        kafka_controller_kafkacontroller_offlinepartitionscount{} kafka_log_log_size{topic,partition}
        kafka_network_socketserver_networkprocessoravgidle_percent
        kafka_server_brokertopicmetrics_bytesin_total{topic} kafka_server_brokertopicmetrics_bytesout_total{topic}
        kafka_server_brokertopicmetrics_failedfetchrequests_total{topic}
        kafka_server_brokertopicmetrics_failedproducerequests_total{topic}
        kafka_server_brokertopicmetrics_messagesin_total{topic}
        kafka_server_brokertopicmetrics_totalfetchrequests_total{topic}
        kafka_server_brokertopicmetrics_totalproducerequests_total{topic}
        kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent
        kafka_server_kafkaserver_linux_disk_read_bytes{} kafka_server_kafkaserver_linux_disk_write_bytes{}
        kafka_server_replicamanager_leadercount{} kafka_server_replicamanager_partitioncount{}
        kafka_server_replicamanager_underreplicatedpartitions{}
        kafka_server_socket_server_metrics_connection_count{listener} process_open_fds{}
    """,
    "Confluent, topics of KRaft": """
        kafka_controller_kafkacontroller_globalpartitioncount{} kafka_controller_kafkacontroller_globaltopiccount{}
        kafka_log_log_size{topic} kafka_server_brokertopicmetrics_bytesinpersec{topic}
        kafka_server_brokertopicmetrics_bytesoutpersec{topic} kafka_log_log_logendoffset{topic,partition}
        kafka_log_log_logstartoffset{topic,partition} kafka_log_log_tiersize
        kafka_server_brokertopicmetrics_messagesinpersec{topic}
        kafka_server_brokertopicmetrics_totalfetchrequestspersec{topic}
        kafka_server_brokertopicmetrics_totalproducerequestspersec{topic} kafka_server_kafkaserver_brokerstate{}
    """,
}
"""The metrics that four public dashboards ask for, with the labels that they choose and group by.

Labels that a scrape adds (job, instance, those of Kubernetes) are left out; what has no braces is explained as not
there.
"""


def names_in(query: str) -> set[str]:
    """Return the metrics that a query asks for."""
    bare = re.sub(r'"[^"]*"|\[[^]]*\]', "", query)
    bare = re.sub(r"\b(by|on|without|ignoring|group_left|group_right)\s*\([^)]*\)", "", bare)
    bare = re.sub(r"\{[^}]*\}", "", bare)
    names = re.findall(r"[a-z_][a-z0-9_]*(?![a-z0-9_]*\s*\()", bare)
    return {name for name in names if "_" in name and name not in ("label_values", "histogram_quantile")}


def queries(dashboard: dict[str, Any]) -> Iterator[str]:
    """Return all queries of a dashboard."""
    for panel in dashboard["panels"]:
        yield from (target["expr"] for target in panel["targets"])
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            yield re.sub(r"label_values\((.*), \w+\)", r"\1", variable["definition"])


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_dashboards_ask_for_what_there_is(path: Path) -> None:
    """Each panel has a title, a place of its own, and queries of metrics that are told, with labels that they have."""
    dashboard = json.loads(path.read_text())
    assert dashboard["uid"] == f"odradek-{path.stem}"
    places: set[tuple[int, int]] = set()
    for panel in dashboard["panels"]:
        assert panel["title"]
        assert panel["targets"]
        place = panel["gridPos"]
        cells = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert not cells & places
        assert place["x"] + place["w"] <= 24
        places |= cells
    for query in queries(dashboard):
        found = names_in(query)
        assert found, query
        assert {documented(name) for name in found} <= set(METRICS), query


def labels_of(query: str) -> Iterator[tuple[str, str]]:
    """Return metric and label of each condition of a query."""
    for name, conditions in re.findall(r"([a-z_][a-z0-9_]*)\{([^}]*)\}", query):
        for label in re.findall(r"(\w+)\s*[=!]~?=?", re.sub(r'"[^"]*"', '""', conditions)):
            yield name, label


def test_labels_of_queries_are_those_of_the_metrics() -> None:
    """A misspelt label is an empty panel."""
    of_scrapes = {"instance", "job", "quantile", "le"}
    found = [query for path in DASHBOARDS for query in queries(json.loads(path.read_text()))]
    for query in (*found, *(rule["expr"] for rule in RULES)):
        for name, label in labels_of(query):
            known = METRICS[documented(name)].labels if name not in OF_PROMETHEUS else ()
            assert label in {*known, *of_scrapes}, query


def test_there_are_four_dashboards() -> None:
    """Overview, topics, groups, replication."""
    assert {path.stem for path in DASHBOARDS} == {"overview", "topics", "groups", "replication"}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_alerts_say_what_is_wrong_and_what_to_do(rule: dict[str, Any]) -> None:
    """And ask for metrics that are told."""
    assert {documented(name) for name in names_in(rule["expr"])} - OF_PROMETHEUS <= set(METRICS)
    assert rule["annotations"]["summary"]
    assert rule["annotations"]["action"].endswith((".", ")."))
    assert rule["labels"]["severity"] in ("critical", "warning", "info")


def test_alerts_have_names_of_their_own() -> None:
    """Otherwise one would silence the other."""
    assert len({rule["alert"] for rule in RULES}) == len(RULES) >= 12


@pytest.mark.parametrize("dashboard", PUBLIC)
def test_what_public_dashboards_ask_for_is_told_or_explained(dashboard: str) -> None:
    """Each metric has the labels that its queries name, or docs/metrics.md has why there is none."""
    beginnings = tuple(name.removesuffix("*") for name in NOT_THERE if name.endswith("*"))
    for query in PUBLIC[dashboard].split():
        name, braces, labels = query.removesuffix("}").partition("{")
        if braces:
            assert set(filter(None, labels.split(","))) <= set(METRICS[name].labels), query
        else:
            assert name in NOT_THERE or name.startswith(beginnings), query


def test_compose_gives_prometheus_and_grafana_what_is_here() -> None:
    """Every path exists, and Prometheus looks where the broker tells."""
    compose = yaml.safe_load((DOCKER / "compose.monitoring.yaml").read_text())
    services = compose["services"]
    for service in services.values():
        for volume in service["volumes"]:
            source = volume.split(":")[0]
            assert source in compose["volumes"] or (DOCKER / source).is_dir()
    prometheus = yaml.safe_load((DOCKER / "prometheus" / "prometheus.yml").read_text())
    assert prometheus["scrape_configs"][0]["static_configs"][0]["targets"] == ["odradek:9404"]
    assert services["odradek"]["environment"]["KAFKA_ODRADEK_HTTP_LISTENER"] == ":9404"
    assert prometheus["rule_files"] == ["alerts.yml"]
    home = services["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert (DOCKER / "grafana" / "dashboards" / Path(home).name).exists()
