"""The metrics by name: what each means, and which of Apache Kafka's beans it stands for.

Names are those that the JMX exporter's example rules make of Kafka's beans (prometheus/jmx_exporter,
examples/kafka-kraft-3_0_0.yml), so dashboards made for Kafka find them. Metrics that Kafka does not have
begin with `barnabas_`. docs/metrics.md shows this table; a test keeps both the same.
"""

from barnabas.base.hints import Final
from barnabas.base.named_tuple import NamedTuple
from barnabas.web.cleaner_catalogue import CLEANER_ROWS
from barnabas.web.group_catalogue import GROUP_ROWS
from barnabas.web.transaction_catalogue import TRANSACTION_ROWS


class MetricInfo(NamedTuple):
    """One metric.

    Attributes:
        kind: counter, gauge, summary, histogram, info; unknown for a count whose name Kafka does not end in
            `total`.
        bean: type and name of Kafka's bean; empty when Kafka has none.
    """

    name: str
    kind: str
    help: str
    bean: str = ""

    @property
    def shown_name(self) -> str:
        """The name as it is scraped."""
        return f"{self.name}_total" if self.kind == "counter" else self.name


_TOPIC: Final = "kafka.server:type=BrokerTopicMetrics,name="
_REQUEST: Final = "kafka.network:type=RequestMetrics,name="
_REPLICA: Final = "kafka.server:type=ReplicaManager,name="
_CONTROLLER: Final = "kafka.controller:type=KafkaController,name="
_PARTITION: Final = "kafka.cluster:type=Partition,name="
_LOG: Final = "kafka.log:type=Log,name="
_SESSIONS: Final = "kafka.server:type=FetchSessionCache,name="
_PURGATORY: Final = "kafka.server:type=DelayedOperationPurgatory,name="
_SOCKET: Final = "kafka.server:type=socket-server-metrics,"
_RAFT: Final = "kafka.server:type=raft-metrics,"

_ROWS: Final = (
    MetricInfo(
        "kafka_network_requestmetrics_requests",
        "counter",
        "Requests answered, by API and version.",
        f"{_REQUEST}RequestsPerSec",
    ),
    MetricInfo(
        "kafka_network_requestmetrics_totaltimems",
        "summary",
        "From the request's last byte to the answer's. Quantiles of the last five minutes.",
        f"{_REQUEST}TotalTimeMs",
    ),
    MetricInfo(
        "kafka_network_requestmetrics_localtimems",
        "summary",
        "Time the request was worked on, until it was answered or parked.",
        f"{_REQUEST}LocalTimeMs",
    ),
    MetricInfo(
        "kafka_network_requestmetrics_remotetimems",
        "summary",
        "Time the request waited for records, followers or its deadline.",
        f"{_REQUEST}RemoteTimeMs",
    ),
    MetricInfo(
        "kafka_network_requestmetrics_responsesendtimems",
        "summary",
        "Time until the socket had taken the answer.",
        f"{_REQUEST}ResponseSendTimeMs",
    ),
    MetricInfo(
        "kafka_network_requestmetrics_requestqueuetimems",
        "summary",
        "Always 0: a request is handled in the turn of the loop that read it.",
        f"{_REQUEST}RequestQueueTimeMs",
    ),
    MetricInfo(
        "kafka_network_requestmetrics_responsequeuetimems",
        "summary",
        "Always 0: an answer goes to the socket as soon as it is made.",
        f"{_REQUEST}ResponseQueueTimeMs",
    ),
    MetricInfo(
        "kafka_server_brokertopicmetrics_messagesin",
        "counter",
        "Records appended by producers, of the broker and by topic.",
        f"{_TOPIC}MessagesInPerSec",
    ),
    MetricInfo(
        "kafka_server_brokertopicmetrics_bytesin",
        "counter",
        "Bytes of batches appended by producers.",
        f"{_TOPIC}BytesInPerSec",
    ),
    MetricInfo(
        "kafka_server_brokertopicmetrics_bytesout",
        "counter",
        "Bytes of batches that fetches were answered with.",
        f"{_TOPIC}BytesOutPerSec",
    ),
    MetricInfo(
        "kafka_server_brokertopicmetrics_totalfetchrequests",
        "counter",
        "Reads of partitions by fetches; one that waits reads twice.",
        f"{_TOPIC}TotalFetchRequestsPerSec",
    ),
    MetricInfo(
        "kafka_server_brokertopicmetrics_totalproducerequests",
        "counter",
        "Appends to partitions that were asked for.",
        f"{_TOPIC}TotalProduceRequestsPerSec",
    ),
    MetricInfo(
        "kafka_server_brokertopicmetrics_failedproducerequests",
        "counter",
        "Appends that a check of their content refused.",
        f"{_TOPIC}FailedProduceRequestsPerSec",
    ),
    MetricInfo(
        "kafka_server_replicamanager_partitioncount",
        "gauge",
        "Partitions on this broker.",
        f"{_REPLICA}PartitionCount",
    ),
    MetricInfo(
        "kafka_server_replicamanager_leadercount",
        "gauge",
        "Partitions this broker leads.",
        f"{_REPLICA}LeaderCount",
    ),
    MetricInfo(
        "kafka_server_replicamanager_offlinereplicacount",
        "gauge",
        "Partitions here whose log directory is lost.",
        f"{_REPLICA}OfflineReplicaCount",
    ),
    MetricInfo(
        "kafka_server_replicamanager_underreplicatedpartitions",
        "gauge",
        "Led partitions with replicas out of sync.",
        f"{_REPLICA}UnderReplicatedPartitions",
    ),
    MetricInfo(
        "kafka_server_replicamanager_underminisrpartitioncount",
        "gauge",
        "Led partitions with fewer in-sync replicas than min.insync.replicas.",
        f"{_REPLICA}UnderMinIsrPartitionCount",
    ),
    MetricInfo(
        "kafka_server_replicamanager_partitionswithlatetransactionscount",
        "gauge",
        "Partitions held up by a transaction that should have been ended long ago.",
        f"{_REPLICA}PartitionsWithLateTransactionsCount",
    ),
    MetricInfo(
        "kafka_server_replicamanager_atminisrpartitioncount",
        "gauge",
        "Led partitions with just as many.",
        f"{_REPLICA}AtMinIsrPartitionCount",
    ),
    MetricInfo(
        "kafka_server_delayedoperationpurgatory_numdelayedoperations",
        "gauge",
        "Requests waiting now; exact.",
        f"{_PURGATORY}NumDelayedOperations",
    ),
    MetricInfo(
        "kafka_server_delayedoperationpurgatory_purgatorysize",
        "gauge",
        "Watch entries now, one per waiting request and partition; exact, where Kafka's runs ahead.",
        f"{_PURGATORY}PurgatorySize",
    ),
    MetricInfo(
        "kafka_server_delayedfetchmetrics_expires",
        "counter",
        "Fetches answered because their max.wait had passed.",
        "kafka.server:type=DelayedFetchMetrics,name=ExpiresPerSec,fetcherType=consumer",
    ),
    MetricInfo(
        "kafka_server_fetchsessioncache_numincrementalfetchsessions",
        "gauge",
        "Fetch sessions.",
        f"{_SESSIONS}NumIncrementalFetchSessions",
    ),
    MetricInfo(
        "kafka_server_fetchsessioncache_numincrementalfetchpartitionscached",
        "gauge",
        "Partitions in fetch sessions.",
        f"{_SESSIONS}NumIncrementalFetchPartitionsCached",
    ),
    MetricInfo(
        "kafka_server_fetchsessioncache_incrementalfetchsessionevictions",
        "counter",
        "Fetch sessions that gave way to others.",
        f"{_SESSIONS}IncrementalFetchSessionEvictionsPerSec",
    ),
    MetricInfo(
        "kafka_server_socket_server_metrics_connection_count",
        "gauge",
        "Open connections of a listener.",
        f"{_SOCKET}connection-count",
    ),
    MetricInfo(
        "kafka_server_socket_server_metrics_connection_creation",
        "counter",
        "Connections taken.",
        f"{_SOCKET}connection-creation-total",
    ),
    MetricInfo(
        "kafka_server_socket_server_metrics_incoming_byte",
        "counter",
        "Bytes received.",
        f"{_SOCKET}incoming-byte-total",
    ),
    MetricInfo(
        "kafka_server_socket_server_metrics_outgoing_byte",
        "counter",
        "Bytes sent.",
        f"{_SOCKET}outgoing-byte-total",
    ),
    MetricInfo(
        "kafka_server_socket_server_metrics_request",
        "counter",
        "Requests received.",
        f"{_SOCKET}request-total",
    ),
    MetricInfo(
        "kafka_server_socket_server_metrics_failed_authentication",
        "counter",
        "TLS handshakes that failed.",
        f"{_SOCKET}failed-authentication-total",
    ),
    MetricInfo("kafka_log_log_size", "gauge", "Bytes of a partition's log.", f"{_LOG}Size"),
    MetricInfo("kafka_log_log_logstartoffset", "gauge", "First offset of a log.", f"{_LOG}LogStartOffset"),
    MetricInfo("kafka_log_log_logendoffset", "gauge", "Offset behind the last.", f"{_LOG}LogEndOffset"),
    MetricInfo("kafka_log_log_numlogsegments", "gauge", "Segments of a log.", f"{_LOG}NumLogSegments"),
    MetricInfo(
        "kafka_log_logflushstats_logflushrateandtimems",
        "summary",
        "Time a sync of a log takes. Quantiles of the last five minutes.",
        "kafka.log:type=LogFlushStats,name=LogFlushRateAndTimeMs",
    ),
    MetricInfo(
        "kafka_log_logmanager_offlinelogdirectorycount",
        "gauge",
        "Log directories that are lost.",
        "kafka.log:type=LogManager,name=OfflineLogDirectoryCount",
    ),
    MetricInfo(
        "kafka_log_logmanager_logdirectoryoffline",
        "gauge",
        "1 for a log directory that is lost.",
        "kafka.log:type=LogManager,name=LogDirectoryOffline",
    ),
    MetricInfo("kafka_cluster_partition_replicascount", "gauge", "Replicas.", f"{_PARTITION}ReplicasCount"),
    MetricInfo(
        "kafka_cluster_partition_insyncreplicascount",
        "gauge",
        "Replicas in sync.",
        f"{_PARTITION}InSyncReplicasCount",
    ),
    MetricInfo(
        "kafka_cluster_partition_underreplicated",
        "gauge",
        "1 when replicas are out of sync.",
        f"{_PARTITION}UnderReplicated",
    ),
    MetricInfo(
        "kafka_cluster_partition_underminisr",
        "gauge",
        "1 when fewer are in sync than min.insync.replicas.",
        f"{_PARTITION}UnderMinIsr",
    ),
    MetricInfo(
        "kafka_cluster_partition_atminisr", "gauge", "1 when just as many are.", f"{_PARTITION}AtMinIsr"
    ),
    MetricInfo(
        "kafka_server_kafkaserver_brokerstate",
        "gauge",
        "3 while it runs, 6 while it stops.",
        "kafka.server:type=KafkaServer,name=BrokerState",
    ),
    MetricInfo(
        "kafka_controller_kafkacontroller_activecontrollercount",
        "gauge",
        "1: this node is the controller.",
        f"{_CONTROLLER}ActiveControllerCount",
    ),
    MetricInfo(
        "kafka_controller_kafkacontroller_activebrokercount",
        "gauge",
        "Brokers that serve.",
        f"{_CONTROLLER}ActiveBrokerCount",
    ),
    MetricInfo(
        "kafka_controller_kafkacontroller_fencedbrokercount",
        "gauge",
        "Brokers that are registered but do not serve.",
        f"{_CONTROLLER}FencedBrokerCount",
    ),
    MetricInfo(
        "kafka_controller_kafkacontroller_globaltopiccount",
        "gauge",
        "Topics of the cluster.",
        f"{_CONTROLLER}GlobalTopicCount",
    ),
    MetricInfo(
        "kafka_controller_kafkacontroller_globalpartitioncount",
        "gauge",
        "Partitions of the cluster.",
        f"{_CONTROLLER}GlobalPartitionCount",
    ),
    MetricInfo(
        "kafka_controller_kafkacontroller_offlinepartitionscount",
        "gauge",
        "Partitions without a leader.",
        f"{_CONTROLLER}OfflinePartitionsCount",
    ),
    MetricInfo(
        "kafka_controller_kafkacontroller_preferredreplicaimbalancecount",
        "gauge",
        "Partitions that another than their first replica leads.",
        f"{_CONTROLLER}PreferredReplicaImbalanceCount",
    ),
    MetricInfo(
        "kafka_controller_kafkacontroller_lastappliedrecordoffset",
        "gauge",
        "Offset of the last metadata record.",
        f"{_CONTROLLER}LastAppliedRecordOffset",
    ),
    MetricInfo(
        "kafka_server_raft_metrics_current_state_info",
        "gauge",
        "1 for the state of this voter.",
        f"{_RAFT}current-state",
    ),
    MetricInfo(
        "kafka_server_raft_metrics_current_epoch", "gauge", "Quorum's epoch.", f"{_RAFT}current-epoch"
    ),
    MetricInfo(
        "kafka_server_raft_metrics_log_end_offset",
        "gauge",
        "End of the metadata log.",
        f"{_RAFT}log-end-offset",
    ),
    MetricInfo(
        "kafka_server_raft_metrics_high_watermark",
        "gauge",
        "Offset up to which metadata are agreed on.",
        f"{_RAFT}high-watermark",
    ),
    MetricInfo(
        "kafka_server_raft_metrics_current_leader", "gauge", "Node that leads.", f"{_RAFT}current-leader"
    ),
    MetricInfo(
        "kafka_server_broker_metadata_metrics_last_applied_record_offset",
        "gauge",
        "Offset of the last metadata record that the broker follows.",
        "kafka.server:type=broker-metadata-metrics,last-applied-record-offset",
    ),
    MetricInfo("barnabas_build_info", "gauge", "1; version, cluster and node as labels."),
    MetricInfo(
        "barnabas_request_duration_seconds",
        "histogram",
        "Times of requests by API and phase (total, local, remote, send) since the start.",
    ),
    MetricInfo("barnabas_fetch_answers", "counter", "Fetches by the reason they were answered for."),
    MetricInfo("barnabas_delayed_operations_completed", "counter", "Waiting requests whose condition came."),
    MetricInfo("barnabas_delayed_operations_expired", "counter", "Waiting requests whose deadline came."),
    MetricInfo("barnabas_delayed_operations_cancelled", "counter", "Waiting requests whose client left."),
    MetricInfo("barnabas_fetch_sessions_created", "counter", "Fetch sessions given out."),
    MetricInfo("barnabas_fetch_sessions_refused", "counter", "Fetches that found no slot for a session."),
    MetricInfo("barnabas_slice_bytes", "counter", "Fetched bytes by mode: zero_copy (sendfile) or heap."),
    MetricInfo("barnabas_sends", "counter", "System calls that sent, by kind: memory or sendfile."),
    MetricInfo("barnabas_partial_sends", "counter", "Those that the socket took only a part of."),
    MetricInfo("barnabas_reads", "counter", "System calls that received."),
    MetricInfo("barnabas_connections_refused_per_ip", "counter", "Closed for max.connections.per.ip."),
    MetricInfo("barnabas_connections_closed_idle", "counter", "Closed for connections.max.idle.ms."),
    MetricInfo("barnabas_accept_failures", "counter", "Connections not taken for want of a descriptor."),
    MetricInfo("barnabas_loop_turns", "counter", "Turns of the event loop."),
    MetricInfo("barnabas_loop_events", "counter", "Readiness events it handled."),
    MetricInfo("barnabas_timers_waiting", "gauge", "Timers that are set."),
    MetricInfo("barnabas_cold_read_hits", "counter", "Ranges that were in memory when they were needed."),
    MetricInfo("barnabas_cold_read_misses", "counter", "Ranges that were not."),
    MetricInfo("barnabas_cold_read_waits", "counter", "Reads from the disk that an answer waited for."),
    MetricInfo("barnabas_cold_read_waiting", "gauge", "Answers that wait for the disk now."),
    MetricInfo("barnabas_cold_read_wait_seconds", "counter", "Time waited for the disk."),
    MetricInfo("barnabas_cold_read_failures", "counter", "Reads that the disk refused."),
    MetricInfo("barnabas_cold_read_bytes", "counter", "Bytes read for an answer that waited."),
    MetricInfo("barnabas_cold_read_ahead_bytes", "counter", "Bytes read ahead of a sequential reader."),
    MetricInfo("barnabas_fetch_verify_bytes", "counter", "Bytes checked before they were served."),
    MetricInfo("barnabas_fetch_verify_helper_bytes", "counter", "Of these, checked by a helper thread."),
    MetricInfo("barnabas_fetch_verify_damaged", "counter", "Damaged places that fetches met, each once."),
    MetricInfo("barnabas_fetch_verify_refused", "counter", "Partitions answered CORRUPT_MESSAGE for it."),
    MetricInfo("barnabas_group_commit_appends", "counter", "Appends that waited for flush.messages."),
    MetricInfo("barnabas_group_commit_rounds", "counter", "Times that syncs were begun for them."),
    MetricInfo("barnabas_group_commit_syncs", "counter", "Logs synced for them; several appends share one."),
    MetricInfo("barnabas_group_commit_files", "counter", "Files and directories synced for them."),
    MetricInfo("barnabas_group_commit_waiting", "gauge", "Logs being synced for them, or about to be."),
    MetricInfo("barnabas_log_high_watermark", "gauge", "Offset up to which consumers read."),
    MetricInfo("barnabas_logs", "gauge", "Figures of the log manager: logs, open files, deletions, moves."),
    MetricInfo("barnabas_metadata_log", "gauge", "Figures of the metadata log."),
    MetricInfo("barnabas_request_log_lines", "counter", "Lines written to the request log."),
    MetricInfo("barnabas_request_log_dropped", "counter", "Lines that could not be written."),
    *(MetricInfo(*row) for row in GROUP_ROWS),
    *(MetricInfo(*row) for row in TRANSACTION_ROWS),
    *(MetricInfo(*row) for row in CLEANER_ROWS),
)

METRICS: Final = {info.name: info for info in _ROWS}
