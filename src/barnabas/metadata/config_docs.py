"""What configs do, in our words, for DescribeConfigs and the command line.

Imported only when somebody asks: a start has no use for it. Broker configs that are a topic's default are
described by the topic config they stand behind.
"""

from __future__ import annotations

from barnabas.base.hints import Final
from barnabas.metadata.config_docs_more import MORE_BROKER_DOCS
from barnabas.metadata.config_table_topic import TOPIC_SYNONYMS

TOPIC_DOCS: Final[dict[str, str]] = {
    "cleanup.policy": "What happens to old records: delete expires segments by age and size, compact keeps "
    "the "
    "newest record of each key; both may be given, and an empty list keeps everything.",
    "compression.gzip.level": "Level used when compression.type is gzip; -1 is the codec's own default.",
    "compression.lz4.level": "Level used when compression.type is lz4.",
    "compression.type": "Codec of stored batches; producer keeps each batch as it was sent.",
    "compression.zstd.level": "Level used when compression.type is zstd.",
    "delete.retention.ms": "How long tombstones stay in a compacted log, so that slow readers still "
    "see them.",
    "errors.deadletterqueue.group.enable": "Whether share groups may use this topic for "
    "undeliverable records.",
    "file.delete.delay.ms": "How long files of a deleted segment stay on disk.",
    "flush.messages": "Records after which the log is synced; 1 acknowledges nothing that is not on disk. "
    "The default leaves syncing to the operating system.",
    "flush.ms": "Longest time a record may wait to be synced.",
    "follower.replication.throttled.replicas": "Replicas whose fetching is throttled on followers, as "
    "partition:broker pairs, or * for all.",
    "index.interval.bytes": "Bytes of batches between two entries of the offset index.",
    "leader.replication.throttled.replicas": "Replicas to which leaders send throttled, as partition:broker "
    "pairs, or * for all.",
    "local.retention.bytes": "With tiered storage: bytes kept locally; -2 takes retention.bytes.",
    "local.retention.ms": "With tiered storage: time kept locally; -2 takes retention.ms.",
    "max.compaction.lag.ms": "Longest time a record can stay uncompacted.",
    "max.decompressed.message.bytes": "Largest size a compressed batch may unpack to.",
    "max.message.bytes": "Largest batch a producer may send, after compression.",
    "message.timestamp.after.max.ms": "How far a record's time may lie ahead of the broker's clock.",
    "message.timestamp.before.max.ms": "How far a record's time may lie behind the broker's clock.",
    "message.timestamp.type": "Whose clock stamps a record: the producer's (CreateTime) or the broker's "
    "(LogAppendTime).",
    "min.cleanable.dirty.ratio": "Share of a compacted log that must be uncompacted before it is "
    "cleaned again.",
    "min.compaction.lag.ms": "Time for which every record is safe from compaction.",
    "min.insync.replicas": "Replicas that must be in sync for a produce with acks=all to be taken.",
    "preallocate": "Whether a new segment's file gets its whole size at once, until it is full.",
    "remote.copy.lag.bytes": "With tiered storage: bytes that stay uncopied; -1 for no such lag.",
    "remote.copy.lag.ms": "With tiered storage: time a segment stays uncopied.",
    "remote.log.copy.disable": "With tiered storage: stops copying, and leaves the remote part readable.",
    "remote.log.delete.on.disable": "With tiered storage: deletes the remote part when tiering is "
    "turned off.",
    "remote.storage.enable": "Whether old segments go to tiered storage.",
    "retention.bytes": "Size of a partition above which its oldest segments are deleted; -1 for no limit.",
    "retention.ms": "Age at which records may be deleted; -1 for never.",
    "segment.bytes": "Size at which a segment is closed and a new one begun.",
    "segment.index.bytes": "Largest size of a segment's indexes; a full one closes the segment.",
    "segment.jitter.ms": "Random time taken off segment.ms, so that segments do not all roll at once.",
    "segment.ms": "Age at which a segment is closed even when it is not full.",
    "unclean.leader.election.enable": "Whether a replica that is behind may lead, at the price of "
    "lost records.",
}

GROUP_DOCS: Final[dict[str, str]] = {
    "consumer.assignment.interval.ms": "Shortest time between two assignments of a consumer group.",
    "consumer.heartbeat.interval.ms": "How often members of a consumer group send heartbeats.",
    "consumer.session.timeout.ms": "Silence after which a member of a consumer group is removed.",
    "errors.deadletterqueue.copy.record.enable": "Whether undeliverable records are copied whole.",
    "errors.deadletterqueue.topic.name": "Topic for records a share group could not deliver; empty for none.",
    "share.assignment.interval.ms": "Shortest time between two assignments of a share group.",
    "share.auto.offset.reset": "Where a new share group begins: latest, earliest, or by_duration:PT1H back.",
    "share.delivery.count.limit": "Deliveries of a record after which a share group gives it up.",
    "share.heartbeat.interval.ms": "How often members of a share group send heartbeats.",
    "share.isolation.level": "Whether a share group sees records of transactions that are not committed.",
    "share.partition.max.record.locks": "Records of one partition a share group may have in flight.",
    "share.record.lock.duration.ms": "Time a member of a share group has to acknowledge a record.",
    "share.renew.acknowledge.enable": "Whether members of a share group may renew their hold on a record.",
    "share.session.timeout.ms": "Silence after which a member of a share group is removed.",
    "streams.assignment.interval.ms": "Shortest time between two assignments of a streams group.",
    "streams.assignor.name": "How a streams group places its tasks.",
    "streams.heartbeat.interval.ms": "How often members of a streams group send heartbeats.",
    "streams.initial.rebalance.delay.ms": "How long a new streams group waits for more members.",
    "streams.num.standby.replicas": "Standby copies of each stateful task of a streams group.",
    "streams.rack.aware.assignment.tags": "Client tags over which a streams group spreads standby tasks.",
    "streams.session.timeout.ms": "Silence after which a member of a streams group is removed.",
}

CLIENT_METRICS_DOCS: Final[dict[str, str]] = {
    "interval.ms": "How often clients push the metrics of this subscription.",
    "match": "Which clients: key=regular expression, over client id, instance, software and address.",
    "metrics": "Prefixes of the metrics' names to push; * for all.",
}

BROKER_DOCS: Final[dict[str, str]] = {
    "advertised.listeners": "Addresses clients are told to connect to; the listeners' own when unset.",
    "auto.create.topics.enable": "Whether asking for an unknown topic's metadata creates it.",
    "broker.rack": "Where the broker stands, for rack-aware placement and fetching.",
    "cold.read.ahead.bytes": "How far the disk is read ahead of a consumer that reads old records in order; "
    "0 reads nothing ahead.",
    "cold.read.threads": "Threads that read what is not in memory, so that no other client waits for the "
    "disk; 0 lets everybody wait.",
    "connections.max.idle.ms": "Idle time after which a connection is closed.",
    "connections.parked.fetch": "What a further request does to a waiting fetch on its connection: complete "
    "answers the fetch at once, mute lets the request wait, as Apache Kafka does.",
    "controller.listener.names": "Listeners that belong to the controller.",
    "controller.quorum.bootstrap.servers": "Addresses at which the metadata quorum can be found.",
    "controller.quorum.voters": "Voters of a quorum that is configured rather than recorded: id@host:port.",
    "default.replication.factor": "Replicas of a topic that does not say how many.",
    "delete.topic.enable": "Whether topics can be deleted.",
    "fetch.max.bytes": "Most bytes one fetch is answered with, whatever it asks for.",
    "fetch.mode": "How fetched bytes are sent: zero_copy from the page cache, heap through memory, or auto "
    "by "
    "size.",
    "fetch.tls.read.bytes": "Bytes read of a log at once to be encrypted on a TLS listener.",
    "fetch.purgatory.purge.interval.requests": "Completed waiting fetches after which lists are cleaned up.",
    "fetch.verify.crc": "Whether batches are checked before they are served; a damaged one is answered "
    "CORRUPT_MESSAGE. Everything goes through memory then, as with fetch.mode=heap.",
    "group.initial.rebalance.delay.ms": "How long a new classic group waits for more members.",
    "group.max.session.timeout.ms": "Longest session timeout a classic group's member may ask for.",
    "group.max.size": "Most members of a classic group.",
    "group.min.session.timeout.ms": "Shortest session timeout a classic group's member may ask for.",
    "listener.security.protocol.map": "Listener names and the security protocol of each.",
    "listeners": "Addresses to listen on: NAME://host:port, several separated by commas.",
    "log.cleaner.enable": "Whether compacted topics are compacted.",
    "log.cleaner.threads": "Logs compacted at one time.",
    "log.dir": "The log directory, when log.dirs is not set.",
    "log.dirs": "Directories that hold logs, separated by commas.",
    "log.flush.offset.checkpoint.interval.ms": "How often recovery points are written down.",
    "log.flush.start.offset.checkpoint.interval.ms": "How often log starts are written down.",
    "log.flush.threads": "Logs that are synced at one time because producers wait for it (flush.messages).",
    "log.retention.check.interval.ms": "How often logs are searched for segments to delete.",
    "log.retention.future.timestamps": "What the age of a segment with a timestamp of the future goes by: "
    "keep leaves it until then, as Apache Kafka does; mtime goes by its file.",
    "max.connection.creation.rate": "New connections per second that are taken.",
    "max.connections": "Connections at one time.",
    "max.connections.per.ip": "Connections at one time from one address.",
    "max.connections.per.ip.overrides": "Exceptions to max.connections.per.ip: host:number.",
    "max.incremental.fetch.session.cache.slots": "Fetch sessions kept at one time, in multiples of 8; "
    "below 8 none are.",
    "max.request.partition.size.limit": "Most partitions in one DescribeTopicPartitions answer.",
    "metadata.log.dir": "Where the metadata log lives; the first of log.dirs when unset.",
    "metadata.log.max.record.bytes.between.snapshots": "Bytes of metadata records after which a snapshot "
    "is made.",
    "metadata.log.max.snapshot.interval.ms": "Time after which a snapshot is made if anything changed.",
    "metadata.log.segment.bytes": "Size at which a segment of the metadata log is closed.",
    "metadata.log.segment.ms": "Age at which a segment of the metadata log is closed.",
    "metadata.max.idle.interval.ms": "Apache Kafka writes an empty record after so long; this broker has no "
    "need to.",
    "metadata.max.retention.bytes": "Size above which old metadata snapshots and segments are deleted.",
    "metadata.max.retention.ms": "Age at which old metadata snapshots and segments are deleted.",
    "node.id": "This node's number in the cluster.",
    "num.partitions": "Partitions of a topic that does not say how many.",
    "num.recovery.threads.per.data.dir": "Segments checked at one time when a start follows a crash.",
    "offset.metadata.max.bytes": "Longest text a consumer may store beside an offset.",
    "offsets.retention.minutes": "How long a group's offsets outlive the group's last member.",
    "offsets.topic.num.partitions": "Partitions of __consumer_offsets; fixed once it exists.",
    "offsets.topic.replication.factor": "Replicas of __consumer_offsets.",
    "process.roles": "What this process is: broker, controller, or both.",
    "producer.id.expiration.ms": "Silence after which an idempotent producer is forgotten.",
    "queued.max.request.bytes": "Bytes of requests that may wait; -1 for no limit.",
    "replica.high.watermark.checkpoint.interval.ms": "How often high watermarks are written down.",
    "request.log.file": "File that gets a line of JSON for every request. Unset, the logger "
    "kafka.request.logger decides, and its lines go where the other lines go.",
    "request.log.file.max.bytes": "Size at which request.log.file is renamed to NAME.1 and begun anew.",
    "request.timeout.ms": "Longest wait for an answer from another broker.",
    "socket.listen.backlog.size": "Connections the system keeps waiting to be accepted.",
    "socket.receive.buffer.bytes": "Receive buffer of a socket; -1 takes the system's.",
    "socket.request.max.bytes": "Largest request that is read.",
    "socket.send.buffer.bytes": "Send buffer of a socket; -1 takes the system's.",
    "transaction.max.timeout.ms": "Longest transaction timeout a producer may ask for.",
    "transaction.state.log.min.isr": "Replicas of __transaction_state that must be in sync.",
    "transaction.state.log.num.partitions": "Partitions of __transaction_state; fixed once it exists.",
    "transaction.state.log.replication.factor": "Replicas of __transaction_state.",
    "transactional.id.expiration.ms": "Silence after which a transactional id is forgotten.",
}


def topic_documentation(name: str) -> str | None:
    """Return what a topic config does; None when nothing is written about it."""
    return TOPIC_DOCS.get(name)


def group_documentation(name: str) -> str | None:
    """Return what a group config does; None when nothing is written about it."""
    return GROUP_DOCS.get(name)


def client_metrics_documentation(name: str) -> str | None:
    """Return what a client metrics config does; None when nothing is written about it."""
    return CLIENT_METRICS_DOCS.get(name)


def broker_documentation(name: str) -> str | None:
    """Return what a broker config does; None when nothing is written about it."""
    found = BROKER_DOCS.get(name) or MORE_BROKER_DOCS.get(name)
    if found is not None:
        return found
    for topic_name, synonyms in TOPIC_SYNONYMS.items():
        for synonym, factor in synonyms:
            if synonym == name:
                unit = {1: "", 60_000: ", in minutes", 3_600_000: ", in hours"}[factor]
                return f"Default of the topic config {topic_name}{unit}: {TOPIC_DOCS[topic_name]}"
    group_text = GROUP_DOCS.get(name.removeprefix("group.")) if name.startswith("group.") else None
    return f"Default of the group config {name.removeprefix('group.')}: {group_text}" if group_text else None
