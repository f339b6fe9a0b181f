"""Metrics with the names that the Prometheus JMX exporter's usual rules give to Apache Kafka's MBeans."""

from typing import Final

from odradek.metrics.metric import Kind, Metric

_COUNTER, _GAUGE, _SUMMARY = Kind.COUNTER, Kind.GAUGE, Kind.SUMMARY
_PRODUCE, _FETCH = "Produce requests of clients", "Fetch requests"
_LOG, _PARTITIONS, _IMAGE = "logs that are open", "partitions of this broker", "metadata"


def _of_topics(name: str, text: str, source: str) -> Metric:
    text = f"{text} Without the label: of all topics together."
    return Metric(f"kafka_server_brokertopicmetrics_{name}_total", _COUNTER, ("topic",), text, source)


def _of_topics_by_confluent(name: str, source: str) -> Metric:
    text = f"The same number as `kafka_server_brokertopicmetrics_{name}_total`, by the name of Confluent's rules."
    return Metric(f"kafka_server_brokertopicmetrics_{name}persec", _GAUGE, ("topic",), text, source)


def _of_manager(name: str, text: str, source: str = _PARTITIONS, kind: Kind = _GAUGE) -> Metric:
    return Metric(f"kafka_server_replicamanager_{name}", kind, (), text, source)


def _of_requests(name: str, text: str) -> Metric:
    name = f"kafka_network_requestmetrics_{name}"
    text = f"{text} Milliseconds; quantiles of the last five minutes."
    return Metric(name, _SUMMARY, ("request",), text, "every request")


def _of_log(name: str, text: str) -> Metric:
    return Metric(f"kafka_log_log_{name}", _GAUGE, ("topic", "partition"), text, _LOG)


def _of_partition(name: str, text: str) -> Metric:
    return Metric(f"kafka_cluster_partition_{name}", _GAUGE, ("topic", "partition"), text, "partitions led here")


def _of_controller(name: str, text: str) -> Metric:
    return Metric(
        f"kafka_controller_kafkacontroller_{name}", _GAUGE, (), text, f"{_IMAGE}, where there is a controller"
    )


def _of_groups(name: str, text: str) -> Metric:
    return Metric(f"kafka_coordinator_group_groupmetadatamanager_{name}", _GAUGE, (), text, "group coordinator")


JMX: Final = (
    _of_topics("messagesin", "Records that clients have produced.", _PRODUCE),
    _of_topics("bytesin", "Bytes of batches that clients have produced.", _PRODUCE),
    _of_topics("bytesout", "Bytes of batches that were sent to consumers.", _FETCH),
    _of_topics("totalproducerequests", "Batches that clients asked to append, each partition by itself.", _PRODUCE),
    _of_topics(
        "failedproducerequests",
        "Of those, refused for reasons that are no matter of course (another leader, a batch that is too large or"
        " damaged, a failed disk), as Kafka counts them.",
        _PRODUCE,
    ),
    _of_topics("totalfetchrequests", "Partitions that answered fetches were about.", _FETCH),
    _of_topics(
        "failedfetchrequests",
        "Of those, refused for reasons that are no matter of course (another leader, an offset out of range), as Kafka"
        " counts them.",
        _FETCH,
    ),
    _of_topics_by_confluent("messagesin", _PRODUCE),
    _of_topics_by_confluent("bytesin", _PRODUCE),
    _of_topics_by_confluent("bytesout", _FETCH),
    _of_topics_by_confluent("totalproducerequests", _PRODUCE),
    _of_topics_by_confluent("failedproducerequests", _PRODUCE),
    _of_topics_by_confluent("totalfetchrequests", _FETCH),
    _of_topics_by_confluent("failedfetchrequests", _FETCH),
    Metric(
        "kafka_server_brokertopicmetrics_replicationbytesout_total",
        _COUNTER,
        (),
        "Bytes of batches that were sent to followers.",
        _FETCH,
    ),
    Metric(
        "kafka_server_brokertopicmetrics_replicationbytesin_total",
        _COUNTER,
        (),
        "Bytes of batches that came from leaders.",
        "fetchers of this broker",
    ),
    Metric(
        "kafka_server_replicafetchermanager_maxlag",
        _GAUGE,
        ("clientId",),
        "Most records that a partition followed here is behind the high watermark of its leader, as of the leader's"
        " last answer.",
        "fetchers of this broker",
    ),
    _of_manager("partitioncount", "Replicas that this broker has."),
    _of_manager("leadercount", "Partitions that this broker leads."),
    _of_manager("offlinereplicacount", "Replicas of this broker whose log cannot be used."),
    _of_manager("underreplicatedpartitions", "Partitions led here with replicas that are not in sync."),
    _of_manager(
        "underminisrpartitioncount", "Partitions led here with fewer replicas in sync than min.insync.replicas."
    ),
    _of_manager("atminisrpartitioncount", "Partitions led here with just min.insync.replicas in sync."),
    _of_manager("reassigningpartitions", "Partitions led here that are being reassigned."),
    _of_manager("isrshrinks_total", "How often a replica left the ISR of a partition led here.", _IMAGE, _COUNTER),
    _of_manager("isrexpands_total", "How often a replica came into the ISR of a partition led here.", _IMAGE, _COUNTER),
    Metric(
        "kafka_server_kafkaserver_brokerstate",
        _GAUGE,
        (),
        "State of the broker: 1 starting, 2 recovery, 3 running, 6 leaving in order, 7 shutting down.",
        "life of the broker",
    ),
    Metric(
        "kafka_server_delayedoperationpurgatory_purgatorysize",
        _GAUGE,
        ("delayedOperation",),
        "Requests that wait: `Fetch` for more data.",
        _PARTITIONS,
    ),
    Metric(
        "kafka_server_socket_server_metrics_connection_count",
        _GAUGE,
        ("listener", "networkProcessor"),
        "Connections that are open.",
        "listeners",
    ),
    Metric(
        "kafka_server_socket_server_metrics_connection_creation_total",
        _COUNTER,
        ("listener", "networkProcessor"),
        "Connections that were let in.",
        "listeners",
    ),
    Metric(
        "kafka_server_raft_metrics_current_epoch",
        _GAUGE,
        (),
        "Epoch of the controller quorum, as the newest metadata has it.",
        _IMAGE,
    ),
    Metric(
        "kafka_server_raft_metrics_high_watermark",
        _GAUGE,
        (),
        "Offset up to which the metadata is decided, and known here.",
        _IMAGE,
    ),
    Metric(
        "kafka_network_requestmetrics_requests_total",
        _COUNTER,
        ("request", "version"),
        "Requests that were answered, or had their answer begun.",
        "every request",
    ),
    Metric(
        "kafka_network_requestmetrics_errors_total",
        _COUNTER,
        ("request", "error"),
        "Errors that clients were told, each partition or name in an answer by itself, by Kafka's names. Answers"
        " without one are not counted; `odradek_requests_closed_total` has what was answered by closing.",
        "every request",
    ),
    _of_requests("totaltimems", "From a whole request to its answer."),
    _of_requests("localtimems", "The part of it in which the request was worked on at first."),
    _of_requests("remotetimems", "The part of it in which the request waited: for data, replicas, the disk, others."),
    _of_log("size", "Bytes of the log."),
    _of_log("logstartoffset", "First offset."),
    _of_log("logendoffset", "Offset behind the last record."),
    _of_log("numlogsegments", "Segments."),
    _of_partition("replicascount", "Replicas of the partition."),
    _of_partition("insyncreplicascount", "Replicas that are in sync."),
    _of_partition("underreplicated", "1 if a replica is not in sync."),
    _of_partition("underminisr", "1 if fewer replicas are in sync than min.insync.replicas."),
    _of_partition("atminisr", "1 if just min.insync.replicas are in sync."),
    Metric(
        "kafka_server_kafkaserver_linux_disk_read_bytes",
        _GAUGE,
        (),
        "Bytes that the process had read from disks.",
        "the operating system (Linux)",
    ),
    Metric(
        "kafka_server_kafkaserver_linux_disk_write_bytes",
        _GAUGE,
        (),
        "Bytes that the process had written to disks.",
        "the operating system (Linux)",
    ),
    Metric(
        "kafka_log_logflushstats_logflushrateandtimems",
        _SUMMARY,
        (),
        "Flushes of logs to the disk. Milliseconds; quantiles of the last five minutes.",
        "threads for the disk",
    ),
    Metric(
        "kafka_log_logmanager_offlinelogdirectorycount",
        _GAUGE,
        (),
        "Log directories that have failed.",
        "log directories",
    ),
    Metric(
        "kafka_log_logmanager_logdirectoryoffline",
        _GAUGE,
        ("logDirectory",),
        "1 if the log directory has failed.",
        "log directories",
    ),
    _of_controller("activecontrollercount", "1: the controller of this process is the active one."),
    Metric(
        "kafka_controller_controllerstats_uncleanleaderelections_total",
        _COUNTER,
        (),
        "Leaders that were elected although they were not in sync: what others had more than they is lost.",
        f"{_IMAGE}, where there is a controller",
    ),
    _of_controller("offlinepartitionscount", "Partitions of the cluster without a leader."),
    _of_controller(
        "preferredreplicaimbalancecount", "Partitions of the cluster that their first replica does not lead."
    ),
    _of_controller("globaltopiccount", "Topics of the cluster."),
    _of_controller("globalpartitioncount", "Partitions of the cluster."),
    _of_controller("activebrokercount", "Brokers that are registered and not fenced."),
    _of_controller("fencedbrokercount", "Brokers that are registered and fenced."),
    _of_controller("lastappliedrecordoffset", "Offset of the newest record of the metadata that is in force."),
    _of_groups("numgroups", "Groups that this broker coordinates, of either protocol."),
    _of_groups("numoffsets", "Offsets that they have committed."),
    _of_groups("numgroupspreparingrebalance", "Classic groups in which members join."),
    _of_groups("numgroupscompletingrebalance", "Classic groups that wait for their leader's assignment."),
    _of_groups("numgroupsstable", "Classic groups whose members work."),
    _of_groups("numgroupsempty", "Classic groups without members."),
    _of_groups("numgroupsdead", "Classic groups that are about to be forgotten."),
    Metric(
        "kafka_server_group_coordinator_metrics_group_count",
        _GAUGE,
        ("protocol",),
        "Groups that this broker coordinates, by protocol: `classic`, `consumer`.",
        "group coordinator",
    ),
)
