"""Everything that is wrong with a configuration that cannot be used, so that all of it can be mended at once.

A start ends at the first thing that it meets; this is asked then. What hangs on a value that is not valid is not told
beside it: reading that value raises the error that is told already.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from odradek.config import node
from odradek.config.authorization import read_authorization
from odradek.config.errors import ConfigError, SeveralConfigErrors
from odradek.config.http_listener import read_http_listener
from odradek.config.listener_keys import ListenerConfigReader
from odradek.config.listeners import Listener
from odradek.config.opened_listeners import (
    read_advertised,
    read_endpoints,
    read_inter_broker_name,
    read_listeners,
    read_protocols,
)
from odradek.config.quorum import QuorumSettings, read_quorum
from odradek.config.reading import RULES, BrokerConfigReader
from odradek.config.sasl import read_sasl
from odradek.config.settings import unusable


def all_problems(values: Mapping[str, str], origins: Mapping[str, str]) -> list[ConfigError]:
    """Return what is wrong with these texts, each thing once: values first, then rules between keys."""
    found = {str(each): each for each in unusable(values, origins)}
    for check in _checks(BrokerConfigReader(values, origins), values, origins):
        try:
            check()
        except SeveralConfigErrors as several:
            found |= {str(each): each for each in several.errors}
        except ConfigError as wrong:
            found.setdefault(str(wrong), wrong)
    return list(found.values())


def _checks(
    read: BrokerConfigReader, values: Mapping[str, str], origins: Mapping[str, str]
) -> Iterator[Callable[[], object]]:
    """Yield what is looked at; each raises ConfigError for itself."""

    def quorum() -> QuorumSettings:
        return read_quorum(read, node.read_node_id(read))

    def opened() -> tuple[Listener, ...]:
        for_clients, of_controller = read_listeners(read, quorum(), read_protocols(read, quorum()))
        return for_clients + of_controller

    def logins() -> None:
        for each in opened():
            if each.uses_sasl:
                read_sasl(ListenerConfigReader(read, each.name))

    yield from (partial(rule, read) for rule in RULES)
    yield quorum
    yield lambda: read_endpoints(read)
    yield opened
    yield logins
    yield lambda: read_advertised(read, opened(), quorum())
    yield lambda: read_inter_broker_name(read, read_listeners(read, quorum(), read_protocols(read, quorum()))[0])
    yield lambda: node.check_storage(read)
    yield lambda: node.read_metadata_dir(read, node.read_log_dirs(read))
    yield lambda: read_authorization(values, origins)
    yield lambda: read_http_listener(values, origins)
