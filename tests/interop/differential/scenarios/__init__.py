"""What is asked, one module per family of APIs."""

from collections.abc import Mapping

from tests.interop.differential.play import Scenario
from tests.interop.differential.scenarios.client_quotas import client_quotas
from tests.interop.differential.scenarios.configs import configs
from tests.interop.differential.scenarios.consumer_groups import consumer_groups
from tests.interop.differential.scenarios.fetch import fetch
from tests.interop.differential.scenarios.fetch_sessions import fetch_sessions
from tests.interop.differential.scenarios.framing import framing
from tests.interop.differential.scenarios.groups import groups
from tests.interop.differential.scenarios.leaders import features, leaders
from tests.interop.differential.scenarios.metadata import metadata
from tests.interop.differential.scenarios.offsets import offsets
from tests.interop.differential.scenarios.partitions import partitions
from tests.interop.differential.scenarios.produce import produce
from tests.interop.differential.scenarios.producers import producers
from tests.interop.differential.scenarios.times import times
from tests.interop.differential.scenarios.topics import topics
from tests.interop.differential.scenarios.transaction_versions import transaction_versions
from tests.interop.differential.scenarios.transactional_offsets import transactional_offsets
from tests.interop.differential.scenarios.transactional_writes import committed_reads, markers, transactional_writes
from tests.interop.differential.scenarios.transactions import transactions

SCENARIOS: Mapping[str, Scenario] = {
    "metadata": metadata,
    "topics": topics,
    "produce": produce,
    "producers": producers,
    "offsets": offsets,
    "times": times,
    "fetch": fetch,
    "fetch_sessions": fetch_sessions,
    "configs": configs,
    "client_quotas": client_quotas,
    "partitions": partitions,
    "leaders": leaders,
    "features": features,
    "framing": framing,
    "groups": groups,
    "consumer_groups": consumer_groups,
    "transactions": transactions,
    "transactional_offsets": transactional_offsets,
    "transactional_writes": transactional_writes,
    "markers": markers,
    "committed_reads": committed_reads,
    "transaction_versions": transaction_versions,
}
