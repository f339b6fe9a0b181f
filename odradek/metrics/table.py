"""All metrics that there are: docs/metrics.md and the pages have these and no others."""

from collections.abc import Mapping
from typing import Final

from odradek.metrics.metric import Metric
from odradek.metrics.table_cluster import CLUSTER
from odradek.metrics.table_jmx import JMX
from odradek.metrics.table_own import OWN, PROCESS
from odradek.metrics.table_pipeline import PIPELINE

METRICS: Final[Mapping[str, Metric]] = {one.name: one for one in (*JMX, *CLUSTER, *OWN, *PIPELINE, *PROCESS)}
"""By name."""
