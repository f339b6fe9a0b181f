"""docs/metrics.md: every metric there is, and those that dashboards ask for and that are not there.

Written from the tables: `python -m odradek.metrics.reference > docs/metrics.md`. A test holds the file in the
repository equal to this.
"""

import sys
from collections.abc import Iterable

from odradek.metrics.metric import Metric
from odradek.metrics.not_there import NOT_THERE
from odradek.metrics.table_cluster import CLUSTER
from odradek.metrics.table_jmx import JMX
from odradek.metrics.table_own import OWN, PROCESS
from odradek.metrics.table_pipeline import PIPELINE

HEADER = """\
# Metrics

<!-- Made from the tables in odradek/metrics by `python -m odradek.metrics.reference > docs/metrics.md`. -->

With `odradek.http.listener=127.0.0.1:9404` (and `pip install 'odradek[metrics]'`) a node tells Prometheus how it is:

    odradek serve --override odradek.http.listener=127.0.0.1:9404
    curl http://127.0.0.1:9404/metrics

| page | what it says |
|---|---|
| `/metrics` | everything below, in the text format of Prometheus or, where that is asked for, OpenMetrics |
| `/health` | 200 while the process works: for a liveness probe |
| `/ready` | 200 once the node serves, its log directories can be written, and the cluster has it registered and not \
fenced; otherwise 503 with one line that says why |

Everybody who reaches the port may look: bind it to the loopback interface or to a network of your own. Nothing of a
record and no password is in it; names of topics and groups are. A client gets 5 seconds and 8 KB to ask, and 16 may do
so at a time; what they ask is answered in small pieces between the requests of Kafka's clients.

[docker/compose.monitoring.yaml](../docker/compose.monitoring.yaml) has a broker with Prometheus, alert rules
([docker/prometheus](../docker/prometheus/alerts.yml), each with what to do) and dashboards for Grafana
([docker/grafana](../docker/grafana/dashboards)): overview, topics, groups, replication.

While a node recovers logs at start it may not answer at all: give a liveness probe a start period.

Without that key nothing is measured. With it, a request costs two looks at the clock and a few additions; all else is
done when somebody asks. Counters begin at zero with the process.
"""
JMX_HEADER = """\
## As the JMX exporter names Kafka's

The names that the usual rules of the Prometheus JMX exporter (`lowercaseOutputName: true`) give to the MBeans of Apache
Kafka. A metric with the label `topic` is told for each topic, and once more without it for all together, as there: a
sum over all of them needs `{topic!=""}`.
"""
CLUSTER_HEADER = """\
## As kafka_exporter names what clients see

A broker tells of the partitions that it leads and the groups that it coordinates, so that `sum` over all brokers of a
cluster is right; `kafka_brokers` and `kafka_topic_partitions` are the same on all (use `max`). For a cluster of other
brokers, `odradek exporter` tells the whole as kafka_exporter does.
"""
OWN_HEADER = """\
## Our own
"""
PIPELINE_HEADER = """\
## Of jobs

What a job of `odradek pipeline` tells with `--metrics-listener 127.0.0.1:9405`, each by its application; a broker has
none of these.
"""
NOT_THERE_HEADER = """\
## Not there

What public dashboards of Kafka ask for beside that, and why there is no such thing; their panels stay empty.

| name | why |
|---|---|
"""


def render() -> str:
    """Return the content of docs/metrics.md."""
    rows = "".join(f"| `{name}` | {why} |\n" for name, why in NOT_THERE.items())
    parts = [HEADER, JMX_HEADER, _table(JMX), CLUSTER_HEADER, _table(CLUSTER), OWN_HEADER, _table((*OWN, *PROCESS))]
    parts += [PIPELINE_HEADER, _table(PIPELINE)]
    return "\n".join([*parts, NOT_THERE_HEADER + rows])


def _table(metrics: Iterable[Metric]) -> str:
    rows = ["| name | type | labels | what it says | from |", "|---|---|---|---|---|"]
    for one in metrics:
        labels = ", ".join(f"`{label}`" for label in one.labels)
        rows.append(f"| `{one.name}` | {one.kind.value} | {labels} | {one.help} | {one.source} |")
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    sys.stdout.write(render())
