"""The broker's settings: typed, frozen, checked against each other.

Owns which key becomes which field, and what of the stored dynamic configuration takes effect. Reads no file:
config.loading does, and passes what was given and where.
"""

from collections.abc import Mapping
from typing import NamedTuple

from odradek.config import listeners as addresses
from odradek.config import node
from odradek.config.authorization import AuthorizationSettings, read_authorization
from odradek.config.definitions import UpdateMode, broker_definitions
from odradek.config.errors import ConfigError, ConfigWarning, SeveralConfigErrors
from odradek.config.http_listener import HttpListener, read_http_listener
from odradek.config.listener_keys import ListenerConfigReader
from odradek.config.listeners import FIXED_AT_START, Endpoint, Listener
from odradek.config.opened_listeners import read_advertised, read_inter_broker_name, read_listeners, read_protocols
from odradek.config.plain_keys import BOOLEANS, INTEGERS, REALS
from odradek.config.quorum import QuorumSettings, read_quorum
from odradek.config.reading import BrokerConfigReader, check_rules
from odradek.config.topic import TopicConfig, topic_defaults


class BrokerSettings(NamedTuple):
    """What one broker runs with, units as in the key's name.

    `values` are the texts of file and command line, without defaults; `origins` says where each came from; `dynamic`
    are the dynamic configurations on top that took effect.
    """

    node_id: int
    quorum: QuorumSettings
    broker_rack: str | None
    listeners: tuple[Listener, ...]
    """Those for clients; none where this process is a controller only."""
    controller_listeners: tuple[Listener, ...]
    """Those of controller.listener.names: where brokers reach the controller of this process."""
    controller_protocol: str
    """The security protocol of the first of controller.listener.names: how the controllers are reached."""
    advertised_listeners: tuple[Endpoint, ...]
    inter_broker_listener_name: str
    log_dirs: tuple[str, ...]
    metadata_log_dir: str
    auto_create_topics_enable: bool
    num_partitions: int
    default_replication_factor: int
    delete_topic_enable: bool
    socket_send_buffer_bytes: int
    socket_receive_buffer_bytes: int
    socket_request_max_bytes: int
    socket_listen_backlog_size: int
    max_connections: int
    max_connections_per_ip: int
    max_connections_per_ip_overrides: Mapping[str, int]
    max_connection_creation_rate: int
    quota_window_num: int
    quota_window_size_seconds: int
    controller_quota_window_num: int
    controller_quota_window_size_seconds: int
    connections_max_idle_ms: int
    request_timeout_ms: int
    queued_max_request_bytes: int
    fetch_max_bytes: int
    max_incremental_fetch_session_cache_slots: int
    max_request_partition_size_limit: int
    num_recovery_threads_per_data_dir: int
    log_flush_offset_checkpoint_interval_ms: int
    log_flush_start_offset_checkpoint_interval_ms: int
    log_flush_scheduler_interval_ms: int
    replica_high_watermark_checkpoint_interval_ms: int
    replica_fetch_backoff_ms: int
    replica_fetch_max_bytes: int
    replica_fetch_min_bytes: int
    replica_fetch_response_max_bytes: int
    replica_fetch_wait_max_ms: int
    replica_lag_time_max_ms: int
    replica_selector_class: str | None
    replica_socket_timeout_ms: int
    num_replica_fetchers: int
    log_retention_check_interval_ms: int
    log_initial_task_delay_ms: int
    log_cleaner_enable: bool
    log_cleaner_backoff_ms: int
    log_cleaner_dedupe_buffer_size: int
    log_cleaner_io_buffer_load_factor: float
    log_cleaner_io_buffer_size: int
    log_cleaner_io_max_bytes_per_second: float
    producer_id_expiration_ms: int
    producer_id_expiration_check_interval_ms: int
    transaction_partition_verification_enable: bool
    add_partitions_to_txn_retry_backoff_max_ms: int
    add_partitions_to_txn_retry_backoff_ms: int
    transaction_abort_timed_out_transaction_cleanup_interval_ms: int
    transaction_max_timeout_ms: int
    transaction_remove_expired_transaction_cleanup_interval_ms: int
    transaction_state_log_load_buffer_size: int
    transaction_state_log_min_isr: int
    transaction_state_log_num_partitions: int
    transaction_state_log_replication_factor: int
    transaction_state_log_segment_bytes: int
    transactional_id_expiration_ms: int
    broker_heartbeat_interval_ms: int
    broker_session_timeout_ms: int
    initial_broker_registration_timeout_ms: int
    controlled_shutdown_enable: bool
    log_dir_failure_timeout_ms: int
    controller_quorum_fetch_max_bytes: int
    controller_quorum_fetch_snapshot_max_bytes: int
    controller_quorum_fetch_timeout_ms: int
    controller_quorum_request_timeout_ms: int
    controller_quorum_retry_backoff_ms: int
    metadata_log_segment_bytes: int
    metadata_log_segment_ms: int
    metadata_log_max_record_bytes_between_snapshots: int
    metadata_log_max_snapshot_interval_ms: int
    metadata_max_retention_bytes: int
    metadata_max_retention_ms: int
    metadata_max_idle_interval_ms: int
    auto_leader_rebalance_enable: bool
    leader_imbalance_check_interval_seconds: int
    unclean_leader_election_interval_ms: int
    delegation_token_expiry_check_interval_ms: int
    delegation_token_expiry_time_ms: int
    delegation_token_max_lifetime_ms: int
    delegation_token_secret_key: str | None
    group_initial_rebalance_delay_ms: int
    group_min_session_timeout_ms: int
    group_max_session_timeout_ms: int
    group_max_size: int
    group_consumer_max_size: int
    group_consumer_session_timeout_ms: int
    group_consumer_heartbeat_interval_ms: int
    group_consumer_assignment_interval_ms: int
    group_consumer_regex_refresh_interval_ms: int
    group_consumer_min_session_timeout_ms: int
    group_consumer_max_session_timeout_ms: int
    group_consumer_min_heartbeat_interval_ms: int
    group_consumer_max_heartbeat_interval_ms: int
    group_consumer_min_assignment_interval_ms: int
    group_consumer_max_assignment_interval_ms: int
    group_consumer_assignors: tuple[str, ...]
    group_consumer_migration_policy: str
    offset_metadata_max_bytes: int
    offsets_commit_timeout_ms: int
    offsets_load_buffer_size: int
    offsets_retention_check_interval_ms: int
    offsets_retention_minutes: int
    offsets_topic_compression_codec: int
    offsets_topic_num_partitions: int
    offsets_topic_replication_factor: int
    offsets_topic_segment_bytes: int
    authorization: AuthorizationSettings
    http_listener: HttpListener | None
    topic_defaults: TopicConfig
    values: Mapping[str, str]
    origins: Mapping[str, str]
    dynamic: Mapping[str, str]
    warnings: tuple[ConfigWarning, ...]

    @property
    def all_listeners(self) -> tuple[Listener, ...]:
        """Those for clients and those of the controller."""
        return self.listeners + self.controller_listeners

    def of_listener(self, name: str) -> ListenerConfigReader:
        """Return what reads the keys of one listener as they are in force."""
        return ListenerConfigReader(BrokerConfigReader(self.effective, self.origins), name)

    def origin(self, name: str) -> str | None:
        """Return where a value was given ("server.properties:12", "--override"); None for a default."""
        return self.origins.get(name)

    def with_dynamic(self, dynamic: Mapping[str, str]) -> "BrokerSettings":
        """Return these settings with dynamic broker configurations on top, in place of earlier ones.

        Stored values that Kafka would ignore at start (unknown here, not dynamic, not valid) are ignored and reported
        in `warnings`: a bad one must not keep the broker from starting. `listeners` and the protocol map stay as the
        file says.
        """
        accepted: dict[str, str] = {}
        warnings: list[ConfigWarning] = []
        for key, text in dynamic.items():
            problem = _dynamic_problem(key, text)
            if problem is None:
                accepted[key] = text
            else:
                warnings.append(_ignored(key, problem))
        while True:
            origins = {**self.origins, **dict.fromkeys(accepted, _METADATA_LOG)}
            try:
                merged = build_settings({**self.values, **accepted}, origins)
                break
            except ConfigError as error:  # a rule between keys; the file alone was accepted at start
                if error.key not in accepted:
                    raise
                warnings.append(_ignored(error.key, error.reason))
                del accepted[error.key]
        return merged._replace(
            values=self.values, origins=self.origins, dynamic=accepted, warnings=(*self.warnings, *warnings)
        )

    @property
    def effective(self) -> Mapping[str, str]:
        """The texts in force, dynamic values on top of those of the file and the command line; no defaults."""
        if not self.dynamic:
            return self.values
        from odradek.config.layers import BrokerLayers

        return BrokerLayers(self.values, self.dynamic).effective

    def advertised_for(
        self, listener_name: str, connected_host: str, connected_port: int, bound_port: int
    ) -> tuple[str, int]:
        """Return the host and port to tell a client that reached this listener at connected_host:connected_port."""
        explicit = next((one for one in self.advertised_listeners if one.name == listener_name), None)
        return addresses.advertised_address(explicit, connected_host, connected_port, bound_port)

    def advertised_text(self, listener: Listener, bound_port: int) -> str:
        """Return what clients of a listener are told, for the line printed at start."""
        explicit = next((one for one in self.advertised_listeners if one.name == listener.name), None)
        host, port = listener.host, bound_port
        if explicit is not None:
            host, port = explicit.host or host, explicit.port or bound_port
        if addresses.is_wildcard(host):
            return f"{listener.name} the address each client connects to, port {port}"
        return f"{listener.name}://{addresses.host_text(host)}:{port}"


_METADATA_LOG = "metadata log"


def _ignored(key: str, problem: str) -> ConfigWarning:
    return ConfigWarning(key, f"the stored dynamic value is ignored: {problem}", _METADATA_LOG)


def _dynamic_problem(key: str, text: str) -> str | None:
    from odradek.config.layers import broker_definition  # hardly a start has dynamic values

    definition = broker_definition(key)  # also where it is for one listener
    if definition is None:
        return "this version does not know it"
    if definition.scope is UpdateMode.READ_ONLY or key in FIXED_AT_START:
        return "it takes effect at start only, from the file"
    try:
        definition.parse(text)
    except ConfigError as error:
        return error.reason
    return None


def build_settings(values: Mapping[str, str], origins: Mapping[str, str]) -> BrokerSettings:
    """Return the settings that these texts mean.

    Raises ConfigError for all values that are nothing that their keys can have, or for the first rule between keys that
    does not hold. Keys without a definition are kept in `values` and not looked at: the loader has warned of them.
    """
    wrong = unusable(values, origins)
    if wrong:
        raise wrong[0] if len(wrong) == 1 else SeveralConfigErrors(wrong)
    read = BrokerConfigReader(values, origins)
    check_rules(read)
    node_id = node.read_node_id(read)
    quorum = read_quorum(read, node_id)
    protocols = read_protocols(read, quorum)
    listeners, controller_listeners = read_listeners(read, quorum, protocols)
    for listener in (*listeners, *controller_listeners):
        if listener.uses_sasl:
            from odradek.config.sasl import read_sasl  # most brokers start without

            read_sasl(ListenerConfigReader(read, listener.name))
    node.check_storage(read)
    log_dirs = node.read_log_dirs(read)
    return BrokerSettings(
        node_id=node_id,
        quorum=quorum,
        broker_rack=read.text("broker.rack"),
        replica_selector_class=read.text("replica.selector.class"),
        listeners=listeners,
        controller_listeners=controller_listeners,
        controller_protocol=next((protocols.get(one, "") for one in quorum.controller_listener_names), ""),
        advertised_listeners=read_advertised(read, listeners + controller_listeners, quorum),
        inter_broker_listener_name=read_inter_broker_name(read, listeners),
        log_dirs=log_dirs,
        metadata_log_dir=node.read_metadata_dir(read, log_dirs),
        max_connections_per_ip_overrides=read.connection_overrides(),
        group_consumer_assignors=read.elements("group.consumer.assignors"),
        group_consumer_migration_policy=read.text("group.consumer.migration.policy") or "",
        authorization=read_authorization(values, origins),
        delegation_token_secret_key=read.text("delegation.token.secret.key"),
        http_listener=read_http_listener(values, origins),
        topic_defaults=topic_defaults(values),
        values=dict(values),
        origins=dict(origins),
        dynamic={},
        warnings=(),
        **{key.replace(".", "_"): read.boolean(key) for key in BOOLEANS},
        **{key.replace(".", "_"): read.real(key) for key in REALS},  # type: ignore[arg-type]  # fields of real numbers
        **{key.replace(".", "_"): read.integer(key) for key in INTEGERS},  # type: ignore[arg-type]  # fields of integers
    )


def unusable(values: Mapping[str, str], origins: Mapping[str, str]) -> list[ConfigError]:
    """Return what is wrong with values that are nothing that their keys can have, whatever the other keys say."""
    errors = []
    for key, text in values.items():
        definition = broker_definitions().get(key)
        if definition is None:
            continue
        try:
            definition.parse(text, origins.get(key))
        except ConfigError as wrong:
            errors.append(wrong)
    return errors
