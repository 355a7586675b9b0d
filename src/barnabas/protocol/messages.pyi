"""Written by tools/write_message_stubs.py out of the catalogue; see messages.py."""

from collections.abc import Iterator, Mapping
from typing import Final

from barnabas.base.region import FileSlice
from barnabas.protocol.structures import Message as Message
from barnabas.protocol.structures import Struct as Struct

_Buffer = bytes | bytearray | memoryview
_Records = bytes | bytearray | memoryview | FileSlice
_Tags = list[tuple[int, bytes]] | None

class ApiSpec:
    def __init__(
        self,
        *,
        key: int,
        name: str,
        valid_versions: range,
        flexible_from: int | None,
        latest_unstable: bool,
        listeners: tuple[str, ...],
    ) -> None: ...
    @property
    def key(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def valid_versions(self) -> range: ...
    @property
    def flexible_from(self) -> int | None: ...
    @property
    def latest_unstable(self) -> bool: ...
    @property
    def listeners(self) -> tuple[str, ...]: ...
    @property
    def request(self) -> type[Message]: ...
    @property
    def response(self) -> type[Message]: ...

class RecordTypes(Mapping[int, type[Message]]):
    def __init__(self, kind: str, file: str) -> None: ...
    def __getitem__(self, record_type: int) -> type[Message]: ...
    def __iter__(self) -> Iterator[int]: ...
    def __len__(self) -> int: ...

BY_KEY: Final[Mapping[int, ApiSpec]]
METADATA_RECORDS: Final[RecordTypes]

def names() -> list[str]: ...

class ProduceRequest(Message):
    transactional_id: str | None
    acks: int
    timeout_ms: int
    topic_data: list[ProduceRequestTopicProduceData]
    def __init__(
        self,
        *,
        transactional_id: str | None = ...,
        acks: int = ...,
        timeout_ms: int = ...,
        topic_data: list[ProduceRequestTopicProduceData] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ProduceRequestTopicProduceData(Struct):
    name: str
    topic_id: bytes
    partition_data: list[ProduceRequestPartitionProduceData]
    def __init__(
        self,
        *,
        name: str = ...,
        topic_id: bytes = ...,
        partition_data: list[ProduceRequestPartitionProduceData] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ProduceRequestPartitionProduceData(Struct):
    index: int
    records: _Records | None
    def __init__(
        self,
        *,
        index: int = ...,
        records: _Records | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ProduceResponse(Message):
    responses: list[ProduceResponseTopicProduceResponse]
    throttle_time_ms: int
    node_endpoints: list[ProduceResponseNodeEndpoint]
    def __init__(
        self,
        *,
        responses: list[ProduceResponseTopicProduceResponse] = ...,
        throttle_time_ms: int = ...,
        node_endpoints: list[ProduceResponseNodeEndpoint] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ProduceResponseTopicProduceResponse(Struct):
    name: str
    topic_id: bytes
    partition_responses: list[ProduceResponsePartitionProduceResponse]
    def __init__(
        self,
        *,
        name: str = ...,
        topic_id: bytes = ...,
        partition_responses: list[ProduceResponsePartitionProduceResponse] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ProduceResponsePartitionProduceResponse(Struct):
    index: int
    error_code: int
    base_offset: int
    log_append_time_ms: int
    log_start_offset: int
    record_errors: list[ProduceResponseBatchIndexAndErrorMessage]
    error_message: str | None
    current_leader: ProduceResponseLeaderIdAndEpoch
    def __init__(
        self,
        *,
        index: int = ...,
        error_code: int = ...,
        base_offset: int = ...,
        log_append_time_ms: int = ...,
        log_start_offset: int = ...,
        record_errors: list[ProduceResponseBatchIndexAndErrorMessage] = ...,
        error_message: str | None = ...,
        current_leader: ProduceResponseLeaderIdAndEpoch = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ProduceResponseBatchIndexAndErrorMessage(Struct):
    batch_index: int
    batch_index_error_message: str | None
    def __init__(
        self,
        *,
        batch_index: int = ...,
        batch_index_error_message: str | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ProduceResponseLeaderIdAndEpoch(Struct):
    leader_id: int
    leader_epoch: int
    def __init__(
        self,
        *,
        leader_id: int = ...,
        leader_epoch: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ProduceResponseNodeEndpoint(Struct):
    node_id: int
    host: str
    port: int
    rack: str | None
    def __init__(
        self,
        *,
        node_id: int = ...,
        host: str = ...,
        port: int = ...,
        rack: str | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class FetchRequest(Message):
    cluster_id: str | None
    replica_id: int
    replica_state: FetchRequestReplicaState
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    isolation_level: int
    session_id: int
    session_epoch: int
    topics: list[FetchRequestFetchTopic]
    forgotten_topics_data: list[FetchRequestForgottenTopic]
    rack_id: str
    def __init__(
        self,
        *,
        cluster_id: str | None = ...,
        replica_id: int = ...,
        replica_state: FetchRequestReplicaState = ...,
        max_wait_ms: int = ...,
        min_bytes: int = ...,
        max_bytes: int = ...,
        isolation_level: int = ...,
        session_id: int = ...,
        session_epoch: int = ...,
        topics: list[FetchRequestFetchTopic] = ...,
        forgotten_topics_data: list[FetchRequestForgottenTopic] = ...,
        rack_id: str = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class FetchRequestReplicaState(Struct):
    replica_id: int
    replica_epoch: int
    def __init__(
        self,
        *,
        replica_id: int = ...,
        replica_epoch: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class FetchRequestFetchTopic(Struct):
    topic: str
    topic_id: bytes
    partitions: list[FetchRequestFetchPartition]
    def __init__(
        self,
        *,
        topic: str = ...,
        topic_id: bytes = ...,
        partitions: list[FetchRequestFetchPartition] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class FetchRequestFetchPartition(Struct):
    partition: int
    current_leader_epoch: int
    fetch_offset: int
    last_fetched_epoch: int
    log_start_offset: int
    partition_max_bytes: int
    replica_directory_id: bytes
    high_watermark: int
    def __init__(
        self,
        *,
        partition: int = ...,
        current_leader_epoch: int = ...,
        fetch_offset: int = ...,
        last_fetched_epoch: int = ...,
        log_start_offset: int = ...,
        partition_max_bytes: int = ...,
        replica_directory_id: bytes = ...,
        high_watermark: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class FetchRequestForgottenTopic(Struct):
    topic: str
    topic_id: bytes
    partitions: list[int]
    def __init__(
        self,
        *,
        topic: str = ...,
        topic_id: bytes = ...,
        partitions: list[int] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class FetchResponse(Message):
    throttle_time_ms: int
    error_code: int
    session_id: int
    responses: list[FetchResponseFetchableTopicResponse]
    node_endpoints: list[FetchResponseNodeEndpoint]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        session_id: int = ...,
        responses: list[FetchResponseFetchableTopicResponse] = ...,
        node_endpoints: list[FetchResponseNodeEndpoint] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class FetchResponseFetchableTopicResponse(Struct):
    topic: str
    topic_id: bytes
    partitions: list[FetchResponsePartitionData]
    def __init__(
        self,
        *,
        topic: str = ...,
        topic_id: bytes = ...,
        partitions: list[FetchResponsePartitionData] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class FetchResponsePartitionData(Struct):
    partition_index: int
    error_code: int
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int
    diverging_epoch: FetchResponseEpochEndOffset
    current_leader: FetchResponseLeaderIdAndEpoch
    snapshot_id: FetchResponseSnapshotId
    aborted_transactions: list[FetchResponseAbortedTransaction] | None
    preferred_read_replica: int
    records: _Records | None
    def __init__(
        self,
        *,
        partition_index: int = ...,
        error_code: int = ...,
        high_watermark: int = ...,
        last_stable_offset: int = ...,
        log_start_offset: int = ...,
        diverging_epoch: FetchResponseEpochEndOffset = ...,
        current_leader: FetchResponseLeaderIdAndEpoch = ...,
        snapshot_id: FetchResponseSnapshotId = ...,
        aborted_transactions: list[FetchResponseAbortedTransaction] | None = ...,
        preferred_read_replica: int = ...,
        records: _Records | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class FetchResponseEpochEndOffset(Struct):
    epoch: int
    end_offset: int
    def __init__(
        self,
        *,
        epoch: int = ...,
        end_offset: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class FetchResponseLeaderIdAndEpoch(Struct):
    leader_id: int
    leader_epoch: int
    def __init__(
        self,
        *,
        leader_id: int = ...,
        leader_epoch: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class FetchResponseSnapshotId(Struct):
    end_offset: int
    epoch: int
    def __init__(
        self,
        *,
        end_offset: int = ...,
        epoch: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class FetchResponseAbortedTransaction(Struct):
    producer_id: int
    first_offset: int
    def __init__(
        self,
        *,
        producer_id: int = ...,
        first_offset: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class FetchResponseNodeEndpoint(Struct):
    node_id: int
    host: str
    port: int
    rack: str | None
    def __init__(
        self,
        *,
        node_id: int = ...,
        host: str = ...,
        port: int = ...,
        rack: str | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ListOffsetsRequest(Message):
    replica_id: int
    isolation_level: int
    topics: list[ListOffsetsRequestListOffsetsTopic]
    timeout_ms: int
    def __init__(
        self,
        *,
        replica_id: int = ...,
        isolation_level: int = ...,
        topics: list[ListOffsetsRequestListOffsetsTopic] = ...,
        timeout_ms: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ListOffsetsRequestListOffsetsTopic(Struct):
    name: str
    partitions: list[ListOffsetsRequestListOffsetsPartition]
    def __init__(
        self,
        *,
        name: str = ...,
        partitions: list[ListOffsetsRequestListOffsetsPartition] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ListOffsetsRequestListOffsetsPartition(Struct):
    partition_index: int
    current_leader_epoch: int
    timestamp: int
    def __init__(
        self,
        *,
        partition_index: int = ...,
        current_leader_epoch: int = ...,
        timestamp: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ListOffsetsResponse(Message):
    throttle_time_ms: int
    topics: list[ListOffsetsResponseListOffsetsTopicResponse]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        topics: list[ListOffsetsResponseListOffsetsTopicResponse] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ListOffsetsResponseListOffsetsTopicResponse(Struct):
    name: str
    partitions: list[ListOffsetsResponseListOffsetsPartitionResponse]
    def __init__(
        self,
        *,
        name: str = ...,
        partitions: list[ListOffsetsResponseListOffsetsPartitionResponse] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ListOffsetsResponseListOffsetsPartitionResponse(Struct):
    partition_index: int
    error_code: int
    timestamp: int
    offset: int
    leader_epoch: int
    def __init__(
        self,
        *,
        partition_index: int = ...,
        error_code: int = ...,
        timestamp: int = ...,
        offset: int = ...,
        leader_epoch: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class MetadataRequest(Message):
    topics: list[MetadataRequestMetadataRequestTopic] | None
    allow_auto_topic_creation: bool
    include_cluster_authorized_operations: bool
    include_topic_authorized_operations: bool
    def __init__(
        self,
        *,
        topics: list[MetadataRequestMetadataRequestTopic] | None = ...,
        allow_auto_topic_creation: bool = ...,
        include_cluster_authorized_operations: bool = ...,
        include_topic_authorized_operations: bool = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class MetadataRequestMetadataRequestTopic(Struct):
    topic_id: bytes
    name: str | None
    def __init__(
        self,
        *,
        topic_id: bytes = ...,
        name: str | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class MetadataResponse(Message):
    throttle_time_ms: int
    brokers: list[MetadataResponseMetadataResponseBroker]
    cluster_id: str | None
    controller_id: int
    topics: list[MetadataResponseMetadataResponseTopic]
    cluster_authorized_operations: int
    error_code: int
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        brokers: list[MetadataResponseMetadataResponseBroker] = ...,
        cluster_id: str | None = ...,
        controller_id: int = ...,
        topics: list[MetadataResponseMetadataResponseTopic] = ...,
        cluster_authorized_operations: int = ...,
        error_code: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class MetadataResponseMetadataResponseBroker(Struct):
    node_id: int
    host: str
    port: int
    rack: str | None
    def __init__(
        self,
        *,
        node_id: int = ...,
        host: str = ...,
        port: int = ...,
        rack: str | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class MetadataResponseMetadataResponseTopic(Struct):
    error_code: int
    name: str | None
    topic_id: bytes
    is_internal: bool
    partitions: list[MetadataResponseMetadataResponsePartition]
    topic_authorized_operations: int
    def __init__(
        self,
        *,
        error_code: int = ...,
        name: str | None = ...,
        topic_id: bytes = ...,
        is_internal: bool = ...,
        partitions: list[MetadataResponseMetadataResponsePartition] = ...,
        topic_authorized_operations: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class MetadataResponseMetadataResponsePartition(Struct):
    error_code: int
    partition_index: int
    leader_id: int
    leader_epoch: int
    replica_nodes: list[int]
    isr_nodes: list[int]
    offline_replicas: list[int]
    def __init__(
        self,
        *,
        error_code: int = ...,
        partition_index: int = ...,
        leader_id: int = ...,
        leader_epoch: int = ...,
        replica_nodes: list[int] = ...,
        isr_nodes: list[int] = ...,
        offline_replicas: list[int] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class OffsetCommitRequest(Message):
    group_id: str
    generation_id_or_member_epoch: int
    member_id: str
    group_instance_id: str | None
    retention_time_ms: int
    topics: list[OffsetCommitRequestOffsetCommitRequestTopic]
    def __init__(
        self,
        *,
        group_id: str = ...,
        generation_id_or_member_epoch: int = ...,
        member_id: str = ...,
        group_instance_id: str | None = ...,
        retention_time_ms: int = ...,
        topics: list[OffsetCommitRequestOffsetCommitRequestTopic] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class OffsetCommitRequestOffsetCommitRequestTopic(Struct):
    name: str
    topic_id: bytes
    partitions: list[OffsetCommitRequestOffsetCommitRequestPartition]
    def __init__(
        self,
        *,
        name: str = ...,
        topic_id: bytes = ...,
        partitions: list[OffsetCommitRequestOffsetCommitRequestPartition] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class OffsetCommitRequestOffsetCommitRequestPartition(Struct):
    partition_index: int
    committed_offset: int
    committed_leader_epoch: int
    committed_metadata: str | None
    def __init__(
        self,
        *,
        partition_index: int = ...,
        committed_offset: int = ...,
        committed_leader_epoch: int = ...,
        committed_metadata: str | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class OffsetCommitResponse(Message):
    throttle_time_ms: int
    topics: list[OffsetCommitResponseOffsetCommitResponseTopic]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        topics: list[OffsetCommitResponseOffsetCommitResponseTopic] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class OffsetCommitResponseOffsetCommitResponseTopic(Struct):
    name: str
    topic_id: bytes
    partitions: list[OffsetCommitResponseOffsetCommitResponsePartition]
    def __init__(
        self,
        *,
        name: str = ...,
        topic_id: bytes = ...,
        partitions: list[OffsetCommitResponseOffsetCommitResponsePartition] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class OffsetCommitResponseOffsetCommitResponsePartition(Struct):
    partition_index: int
    error_code: int
    def __init__(
        self,
        *,
        partition_index: int = ...,
        error_code: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class OffsetFetchRequest(Message):
    group_id: str
    topics: list[OffsetFetchRequestOffsetFetchRequestTopic] | None
    groups: list[OffsetFetchRequestOffsetFetchRequestGroup]
    require_stable: bool
    def __init__(
        self,
        *,
        group_id: str = ...,
        topics: list[OffsetFetchRequestOffsetFetchRequestTopic] | None = ...,
        groups: list[OffsetFetchRequestOffsetFetchRequestGroup] = ...,
        require_stable: bool = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class OffsetFetchRequestOffsetFetchRequestTopic(Struct):
    name: str
    partition_indexes: list[int]
    def __init__(
        self,
        *,
        name: str = ...,
        partition_indexes: list[int] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class OffsetFetchRequestOffsetFetchRequestGroup(Struct):
    group_id: str
    member_id: str | None
    member_epoch: int
    topics: list[OffsetFetchRequestOffsetFetchRequestTopics] | None
    def __init__(
        self,
        *,
        group_id: str = ...,
        member_id: str | None = ...,
        member_epoch: int = ...,
        topics: list[OffsetFetchRequestOffsetFetchRequestTopics] | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class OffsetFetchRequestOffsetFetchRequestTopics(Struct):
    name: str
    topic_id: bytes
    partition_indexes: list[int]
    def __init__(
        self,
        *,
        name: str = ...,
        topic_id: bytes = ...,
        partition_indexes: list[int] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class OffsetFetchResponse(Message):
    throttle_time_ms: int
    topics: list[OffsetFetchResponseOffsetFetchResponseTopic]
    error_code: int
    groups: list[OffsetFetchResponseOffsetFetchResponseGroup]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        topics: list[OffsetFetchResponseOffsetFetchResponseTopic] = ...,
        error_code: int = ...,
        groups: list[OffsetFetchResponseOffsetFetchResponseGroup] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class OffsetFetchResponseOffsetFetchResponseTopic(Struct):
    name: str
    partitions: list[OffsetFetchResponseOffsetFetchResponsePartition]
    def __init__(
        self,
        *,
        name: str = ...,
        partitions: list[OffsetFetchResponseOffsetFetchResponsePartition] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class OffsetFetchResponseOffsetFetchResponsePartition(Struct):
    partition_index: int
    committed_offset: int
    committed_leader_epoch: int
    metadata: str | None
    error_code: int
    def __init__(
        self,
        *,
        partition_index: int = ...,
        committed_offset: int = ...,
        committed_leader_epoch: int = ...,
        metadata: str | None = ...,
        error_code: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class OffsetFetchResponseOffsetFetchResponseGroup(Struct):
    group_id: str
    topics: list[OffsetFetchResponseOffsetFetchResponseTopics]
    error_code: int
    def __init__(
        self,
        *,
        group_id: str = ...,
        topics: list[OffsetFetchResponseOffsetFetchResponseTopics] = ...,
        error_code: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class OffsetFetchResponseOffsetFetchResponseTopics(Struct):
    name: str
    topic_id: bytes
    partitions: list[OffsetFetchResponseOffsetFetchResponsePartitions]
    def __init__(
        self,
        *,
        name: str = ...,
        topic_id: bytes = ...,
        partitions: list[OffsetFetchResponseOffsetFetchResponsePartitions] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class OffsetFetchResponseOffsetFetchResponsePartitions(Struct):
    partition_index: int
    committed_offset: int
    committed_leader_epoch: int
    metadata: str | None
    error_code: int
    def __init__(
        self,
        *,
        partition_index: int = ...,
        committed_offset: int = ...,
        committed_leader_epoch: int = ...,
        metadata: str | None = ...,
        error_code: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class FindCoordinatorRequest(Message):
    key: str
    key_type: int
    coordinator_keys: list[str]
    def __init__(
        self,
        *,
        key: str = ...,
        key_type: int = ...,
        coordinator_keys: list[str] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class FindCoordinatorResponse(Message):
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    node_id: int
    host: str
    port: int
    coordinators: list[FindCoordinatorResponseCoordinator]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        node_id: int = ...,
        host: str = ...,
        port: int = ...,
        coordinators: list[FindCoordinatorResponseCoordinator] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class FindCoordinatorResponseCoordinator(Struct):
    key: str
    node_id: int
    host: str
    port: int
    error_code: int
    error_message: str | None
    def __init__(
        self,
        *,
        key: str = ...,
        node_id: int = ...,
        host: str = ...,
        port: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class JoinGroupRequest(Message):
    group_id: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    member_id: str
    group_instance_id: str | None
    protocol_type: str
    protocols: list[JoinGroupRequestJoinGroupRequestProtocol]
    reason: str | None
    def __init__(
        self,
        *,
        group_id: str = ...,
        session_timeout_ms: int = ...,
        rebalance_timeout_ms: int = ...,
        member_id: str = ...,
        group_instance_id: str | None = ...,
        protocol_type: str = ...,
        protocols: list[JoinGroupRequestJoinGroupRequestProtocol] = ...,
        reason: str | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class JoinGroupRequestJoinGroupRequestProtocol(Struct):
    name: str
    metadata: _Buffer
    def __init__(
        self,
        *,
        name: str = ...,
        metadata: _Buffer = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class JoinGroupResponse(Message):
    throttle_time_ms: int
    error_code: int
    generation_id: int
    protocol_type: str | None
    protocol_name: str | None
    leader: str
    skip_assignment: bool
    member_id: str
    members: list[JoinGroupResponseJoinGroupResponseMember]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        generation_id: int = ...,
        protocol_type: str | None = ...,
        protocol_name: str | None = ...,
        leader: str = ...,
        skip_assignment: bool = ...,
        member_id: str = ...,
        members: list[JoinGroupResponseJoinGroupResponseMember] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class JoinGroupResponseJoinGroupResponseMember(Struct):
    member_id: str
    group_instance_id: str | None
    metadata: _Buffer
    def __init__(
        self,
        *,
        member_id: str = ...,
        group_instance_id: str | None = ...,
        metadata: _Buffer = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class HeartbeatRequest(Message):
    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None
    def __init__(
        self,
        *,
        group_id: str = ...,
        generation_id: int = ...,
        member_id: str = ...,
        group_instance_id: str | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class HeartbeatResponse(Message):
    throttle_time_ms: int
    error_code: int
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class LeaveGroupRequest(Message):
    group_id: str
    member_id: str
    members: list[LeaveGroupRequestMemberIdentity]
    def __init__(
        self,
        *,
        group_id: str = ...,
        member_id: str = ...,
        members: list[LeaveGroupRequestMemberIdentity] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class LeaveGroupRequestMemberIdentity(Struct):
    member_id: str
    group_instance_id: str | None
    reason: str | None
    def __init__(
        self,
        *,
        member_id: str = ...,
        group_instance_id: str | None = ...,
        reason: str | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class LeaveGroupResponse(Message):
    throttle_time_ms: int
    error_code: int
    members: list[LeaveGroupResponseMemberResponse]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        members: list[LeaveGroupResponseMemberResponse] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class LeaveGroupResponseMemberResponse(Struct):
    member_id: str
    group_instance_id: str | None
    error_code: int
    def __init__(
        self,
        *,
        member_id: str = ...,
        group_instance_id: str | None = ...,
        error_code: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class SyncGroupRequest(Message):
    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None
    protocol_type: str | None
    protocol_name: str | None
    assignments: list[SyncGroupRequestSyncGroupRequestAssignment]
    def __init__(
        self,
        *,
        group_id: str = ...,
        generation_id: int = ...,
        member_id: str = ...,
        group_instance_id: str | None = ...,
        protocol_type: str | None = ...,
        protocol_name: str | None = ...,
        assignments: list[SyncGroupRequestSyncGroupRequestAssignment] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class SyncGroupRequestSyncGroupRequestAssignment(Struct):
    member_id: str
    assignment: _Buffer
    def __init__(
        self,
        *,
        member_id: str = ...,
        assignment: _Buffer = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class SyncGroupResponse(Message):
    throttle_time_ms: int
    error_code: int
    protocol_type: str | None
    protocol_name: str | None
    assignment: _Buffer
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        protocol_type: str | None = ...,
        protocol_name: str | None = ...,
        assignment: _Buffer = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeGroupsRequest(Message):
    groups: list[str]
    include_authorized_operations: bool
    def __init__(
        self,
        *,
        groups: list[str] = ...,
        include_authorized_operations: bool = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeGroupsResponse(Message):
    throttle_time_ms: int
    groups: list[DescribeGroupsResponseDescribedGroup]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        groups: list[DescribeGroupsResponseDescribedGroup] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeGroupsResponseDescribedGroup(Struct):
    error_code: int
    error_message: str | None
    group_id: str
    group_state: str
    protocol_type: str
    protocol_data: str
    members: list[DescribeGroupsResponseDescribedGroupMember]
    authorized_operations: int
    def __init__(
        self,
        *,
        error_code: int = ...,
        error_message: str | None = ...,
        group_id: str = ...,
        group_state: str = ...,
        protocol_type: str = ...,
        protocol_data: str = ...,
        members: list[DescribeGroupsResponseDescribedGroupMember] = ...,
        authorized_operations: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeGroupsResponseDescribedGroupMember(Struct):
    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    member_metadata: _Buffer
    member_assignment: _Buffer
    def __init__(
        self,
        *,
        member_id: str = ...,
        group_instance_id: str | None = ...,
        client_id: str = ...,
        client_host: str = ...,
        member_metadata: _Buffer = ...,
        member_assignment: _Buffer = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ListGroupsRequest(Message):
    states_filter: list[str]
    types_filter: list[str]
    def __init__(
        self,
        *,
        states_filter: list[str] = ...,
        types_filter: list[str] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ListGroupsResponse(Message):
    throttle_time_ms: int
    error_code: int
    groups: list[ListGroupsResponseListedGroup]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        groups: list[ListGroupsResponseListedGroup] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ListGroupsResponseListedGroup(Struct):
    group_id: str
    protocol_type: str
    group_state: str
    group_type: str
    def __init__(
        self,
        *,
        group_id: str = ...,
        protocol_type: str = ...,
        group_state: str = ...,
        group_type: str = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class SaslHandshakeRequest(Message):
    mechanism: str
    def __init__(
        self,
        *,
        mechanism: str = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class SaslHandshakeResponse(Message):
    error_code: int
    mechanisms: list[str]
    def __init__(
        self,
        *,
        error_code: int = ...,
        mechanisms: list[str] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ApiVersionsRequest(Message):
    client_software_name: str
    client_software_version: str
    cluster_id: str | None
    node_id: int
    def __init__(
        self,
        *,
        client_software_name: str = ...,
        client_software_version: str = ...,
        cluster_id: str | None = ...,
        node_id: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ApiVersionsResponse(Message):
    error_code: int
    api_keys: list[ApiVersionsResponseApiVersion]
    throttle_time_ms: int
    supported_features: list[ApiVersionsResponseSupportedFeatureKey]
    finalized_features_epoch: int
    finalized_features: list[ApiVersionsResponseFinalizedFeatureKey]
    zk_migration_ready: bool
    def __init__(
        self,
        *,
        error_code: int = ...,
        api_keys: list[ApiVersionsResponseApiVersion] = ...,
        throttle_time_ms: int = ...,
        supported_features: list[ApiVersionsResponseSupportedFeatureKey] = ...,
        finalized_features_epoch: int = ...,
        finalized_features: list[ApiVersionsResponseFinalizedFeatureKey] = ...,
        zk_migration_ready: bool = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ApiVersionsResponseApiVersion(Struct):
    api_key: int
    min_version: int
    max_version: int
    def __init__(
        self,
        *,
        api_key: int = ...,
        min_version: int = ...,
        max_version: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ApiVersionsResponseSupportedFeatureKey(Struct):
    name: str
    min_version: int
    max_version: int
    def __init__(
        self,
        *,
        name: str = ...,
        min_version: int = ...,
        max_version: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ApiVersionsResponseFinalizedFeatureKey(Struct):
    name: str
    max_version_level: int
    min_version_level: int
    def __init__(
        self,
        *,
        name: str = ...,
        max_version_level: int = ...,
        min_version_level: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class CreateTopicsRequest(Message):
    topics: list[CreateTopicsRequestCreatableTopic]
    timeout_ms: int
    validate_only: bool
    def __init__(
        self,
        *,
        topics: list[CreateTopicsRequestCreatableTopic] = ...,
        timeout_ms: int = ...,
        validate_only: bool = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class CreateTopicsRequestCreatableTopic(Struct):
    name: str
    num_partitions: int
    replication_factor: int
    assignments: list[CreateTopicsRequestCreatableReplicaAssignment]
    configs: list[CreateTopicsRequestCreatableTopicConfig]
    def __init__(
        self,
        *,
        name: str = ...,
        num_partitions: int = ...,
        replication_factor: int = ...,
        assignments: list[CreateTopicsRequestCreatableReplicaAssignment] = ...,
        configs: list[CreateTopicsRequestCreatableTopicConfig] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class CreateTopicsRequestCreatableReplicaAssignment(Struct):
    partition_index: int
    broker_ids: list[int]
    def __init__(
        self,
        *,
        partition_index: int = ...,
        broker_ids: list[int] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class CreateTopicsRequestCreatableTopicConfig(Struct):
    name: str
    value: str | None
    def __init__(
        self,
        *,
        name: str = ...,
        value: str | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class CreateTopicsResponse(Message):
    throttle_time_ms: int
    topics: list[CreateTopicsResponseCreatableTopicResult]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        topics: list[CreateTopicsResponseCreatableTopicResult] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class CreateTopicsResponseCreatableTopicResult(Struct):
    name: str
    topic_id: bytes
    error_code: int
    error_message: str | None
    topic_config_error_code: int
    num_partitions: int
    replication_factor: int
    configs: list[CreateTopicsResponseCreatableTopicConfigs] | None
    def __init__(
        self,
        *,
        name: str = ...,
        topic_id: bytes = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        topic_config_error_code: int = ...,
        num_partitions: int = ...,
        replication_factor: int = ...,
        configs: list[CreateTopicsResponseCreatableTopicConfigs] | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class CreateTopicsResponseCreatableTopicConfigs(Struct):
    name: str
    value: str | None
    read_only: bool
    config_source: int
    is_sensitive: bool
    def __init__(
        self,
        *,
        name: str = ...,
        value: str | None = ...,
        read_only: bool = ...,
        config_source: int = ...,
        is_sensitive: bool = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DeleteTopicsRequest(Message):
    topics: list[DeleteTopicsRequestDeleteTopicState]
    topic_names: list[str]
    timeout_ms: int
    def __init__(
        self,
        *,
        topics: list[DeleteTopicsRequestDeleteTopicState] = ...,
        topic_names: list[str] = ...,
        timeout_ms: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DeleteTopicsRequestDeleteTopicState(Struct):
    name: str | None
    topic_id: bytes
    def __init__(
        self,
        *,
        name: str | None = ...,
        topic_id: bytes = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DeleteTopicsResponse(Message):
    throttle_time_ms: int
    responses: list[DeleteTopicsResponseDeletableTopicResult]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        responses: list[DeleteTopicsResponseDeletableTopicResult] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DeleteTopicsResponseDeletableTopicResult(Struct):
    name: str | None
    topic_id: bytes
    error_code: int
    error_message: str | None
    def __init__(
        self,
        *,
        name: str | None = ...,
        topic_id: bytes = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DeleteRecordsRequest(Message):
    topics: list[DeleteRecordsRequestDeleteRecordsTopic]
    timeout_ms: int
    def __init__(
        self,
        *,
        topics: list[DeleteRecordsRequestDeleteRecordsTopic] = ...,
        timeout_ms: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DeleteRecordsRequestDeleteRecordsTopic(Struct):
    name: str
    partitions: list[DeleteRecordsRequestDeleteRecordsPartition]
    def __init__(
        self,
        *,
        name: str = ...,
        partitions: list[DeleteRecordsRequestDeleteRecordsPartition] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DeleteRecordsRequestDeleteRecordsPartition(Struct):
    partition_index: int
    offset: int
    def __init__(
        self,
        *,
        partition_index: int = ...,
        offset: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DeleteRecordsResponse(Message):
    throttle_time_ms: int
    topics: list[DeleteRecordsResponseDeleteRecordsTopicResult]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        topics: list[DeleteRecordsResponseDeleteRecordsTopicResult] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DeleteRecordsResponseDeleteRecordsTopicResult(Struct):
    name: str
    partitions: list[DeleteRecordsResponseDeleteRecordsPartitionResult]
    def __init__(
        self,
        *,
        name: str = ...,
        partitions: list[DeleteRecordsResponseDeleteRecordsPartitionResult] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DeleteRecordsResponseDeleteRecordsPartitionResult(Struct):
    partition_index: int
    low_watermark: int
    error_code: int
    def __init__(
        self,
        *,
        partition_index: int = ...,
        low_watermark: int = ...,
        error_code: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class InitProducerIdRequest(Message):
    transactional_id: str | None
    transaction_timeout_ms: int
    producer_id: int
    producer_epoch: int
    enable2_pc: bool
    keep_prepared_txn: bool
    def __init__(
        self,
        *,
        transactional_id: str | None = ...,
        transaction_timeout_ms: int = ...,
        producer_id: int = ...,
        producer_epoch: int = ...,
        enable2_pc: bool = ...,
        keep_prepared_txn: bool = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class InitProducerIdResponse(Message):
    throttle_time_ms: int
    error_code: int
    producer_id: int
    producer_epoch: int
    ongoing_txn_producer_id: int
    ongoing_txn_producer_epoch: int
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        producer_id: int = ...,
        producer_epoch: int = ...,
        ongoing_txn_producer_id: int = ...,
        ongoing_txn_producer_epoch: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class OffsetForLeaderEpochRequest(Message):
    replica_id: int
    topics: list[OffsetForLeaderEpochRequestOffsetForLeaderTopic]
    def __init__(
        self,
        *,
        replica_id: int = ...,
        topics: list[OffsetForLeaderEpochRequestOffsetForLeaderTopic] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class OffsetForLeaderEpochRequestOffsetForLeaderTopic(Struct):
    topic: str
    partitions: list[OffsetForLeaderEpochRequestOffsetForLeaderPartition]
    def __init__(
        self,
        *,
        topic: str = ...,
        partitions: list[OffsetForLeaderEpochRequestOffsetForLeaderPartition] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class OffsetForLeaderEpochRequestOffsetForLeaderPartition(Struct):
    partition: int
    current_leader_epoch: int
    leader_epoch: int
    def __init__(
        self,
        *,
        partition: int = ...,
        current_leader_epoch: int = ...,
        leader_epoch: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class OffsetForLeaderEpochResponse(Message):
    throttle_time_ms: int
    topics: list[OffsetForLeaderEpochResponseOffsetForLeaderTopicResult]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        topics: list[OffsetForLeaderEpochResponseOffsetForLeaderTopicResult] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class OffsetForLeaderEpochResponseOffsetForLeaderTopicResult(Struct):
    topic: str
    partitions: list[OffsetForLeaderEpochResponseEpochEndOffset]
    def __init__(
        self,
        *,
        topic: str = ...,
        partitions: list[OffsetForLeaderEpochResponseEpochEndOffset] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class OffsetForLeaderEpochResponseEpochEndOffset(Struct):
    error_code: int
    partition: int
    leader_epoch: int
    end_offset: int
    def __init__(
        self,
        *,
        error_code: int = ...,
        partition: int = ...,
        leader_epoch: int = ...,
        end_offset: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AddPartitionsToTxnRequest(Message):
    transactions: list[AddPartitionsToTxnRequestAddPartitionsToTxnTransaction]
    v3_and_below_transactional_id: str
    v3_and_below_producer_id: int
    v3_and_below_producer_epoch: int
    v3_and_below_topics: list[AddPartitionsToTxnRequestAddPartitionsToTxnTopic]
    def __init__(
        self,
        *,
        transactions: list[AddPartitionsToTxnRequestAddPartitionsToTxnTransaction] = ...,
        v3_and_below_transactional_id: str = ...,
        v3_and_below_producer_id: int = ...,
        v3_and_below_producer_epoch: int = ...,
        v3_and_below_topics: list[AddPartitionsToTxnRequestAddPartitionsToTxnTopic] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AddPartitionsToTxnRequestAddPartitionsToTxnTopic(Struct):
    name: str
    partitions: list[int]
    def __init__(
        self,
        *,
        name: str = ...,
        partitions: list[int] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AddPartitionsToTxnRequestAddPartitionsToTxnTransaction(Struct):
    transactional_id: str
    producer_id: int
    producer_epoch: int
    verify_only: bool
    topics: list[AddPartitionsToTxnRequestAddPartitionsToTxnTopic]
    def __init__(
        self,
        *,
        transactional_id: str = ...,
        producer_id: int = ...,
        producer_epoch: int = ...,
        verify_only: bool = ...,
        topics: list[AddPartitionsToTxnRequestAddPartitionsToTxnTopic] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AddPartitionsToTxnResponse(Message):
    throttle_time_ms: int
    error_code: int
    results_by_transaction: list[AddPartitionsToTxnResponseAddPartitionsToTxnResult]
    results_by_topic_v3_and_below: list[AddPartitionsToTxnResponseAddPartitionsToTxnTopicResult]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        results_by_transaction: list[AddPartitionsToTxnResponseAddPartitionsToTxnResult] = ...,
        results_by_topic_v3_and_below: list[AddPartitionsToTxnResponseAddPartitionsToTxnTopicResult] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AddPartitionsToTxnResponseAddPartitionsToTxnTopicResult(Struct):
    name: str
    results_by_partition: list[AddPartitionsToTxnResponseAddPartitionsToTxnPartitionResult]
    def __init__(
        self,
        *,
        name: str = ...,
        results_by_partition: list[AddPartitionsToTxnResponseAddPartitionsToTxnPartitionResult] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AddPartitionsToTxnResponseAddPartitionsToTxnPartitionResult(Struct):
    partition_index: int
    partition_error_code: int
    def __init__(
        self,
        *,
        partition_index: int = ...,
        partition_error_code: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AddPartitionsToTxnResponseAddPartitionsToTxnResult(Struct):
    transactional_id: str
    topic_results: list[AddPartitionsToTxnResponseAddPartitionsToTxnTopicResult]
    def __init__(
        self,
        *,
        transactional_id: str = ...,
        topic_results: list[AddPartitionsToTxnResponseAddPartitionsToTxnTopicResult] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AddOffsetsToTxnRequest(Message):
    transactional_id: str
    producer_id: int
    producer_epoch: int
    group_id: str
    def __init__(
        self,
        *,
        transactional_id: str = ...,
        producer_id: int = ...,
        producer_epoch: int = ...,
        group_id: str = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AddOffsetsToTxnResponse(Message):
    throttle_time_ms: int
    error_code: int
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class EndTxnRequest(Message):
    transactional_id: str
    producer_id: int
    producer_epoch: int
    committed: bool
    def __init__(
        self,
        *,
        transactional_id: str = ...,
        producer_id: int = ...,
        producer_epoch: int = ...,
        committed: bool = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class EndTxnResponse(Message):
    throttle_time_ms: int
    error_code: int
    producer_id: int
    producer_epoch: int
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        producer_id: int = ...,
        producer_epoch: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class WriteTxnMarkersRequest(Message):
    markers: list[WriteTxnMarkersRequestWritableTxnMarker]
    def __init__(
        self,
        *,
        markers: list[WriteTxnMarkersRequestWritableTxnMarker] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class WriteTxnMarkersRequestWritableTxnMarker(Struct):
    producer_id: int
    producer_epoch: int
    transaction_result: bool
    topics: list[WriteTxnMarkersRequestWritableTxnMarkerTopic]
    coordinator_epoch: int
    transaction_version: int
    def __init__(
        self,
        *,
        producer_id: int = ...,
        producer_epoch: int = ...,
        transaction_result: bool = ...,
        topics: list[WriteTxnMarkersRequestWritableTxnMarkerTopic] = ...,
        coordinator_epoch: int = ...,
        transaction_version: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class WriteTxnMarkersRequestWritableTxnMarkerTopic(Struct):
    name: str
    partition_indexes: list[int]
    def __init__(
        self,
        *,
        name: str = ...,
        partition_indexes: list[int] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class WriteTxnMarkersResponse(Message):
    markers: list[WriteTxnMarkersResponseWritableTxnMarkerResult]
    def __init__(
        self,
        *,
        markers: list[WriteTxnMarkersResponseWritableTxnMarkerResult] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class WriteTxnMarkersResponseWritableTxnMarkerResult(Struct):
    producer_id: int
    topics: list[WriteTxnMarkersResponseWritableTxnMarkerTopicResult]
    def __init__(
        self,
        *,
        producer_id: int = ...,
        topics: list[WriteTxnMarkersResponseWritableTxnMarkerTopicResult] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class WriteTxnMarkersResponseWritableTxnMarkerTopicResult(Struct):
    name: str
    partitions: list[WriteTxnMarkersResponseWritableTxnMarkerPartitionResult]
    def __init__(
        self,
        *,
        name: str = ...,
        partitions: list[WriteTxnMarkersResponseWritableTxnMarkerPartitionResult] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class WriteTxnMarkersResponseWritableTxnMarkerPartitionResult(Struct):
    partition_index: int
    error_code: int
    def __init__(
        self,
        *,
        partition_index: int = ...,
        error_code: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class TxnOffsetCommitRequest(Message):
    transactional_id: str
    group_id: str
    producer_id: int
    producer_epoch: int
    generation_id_or_member_epoch: int
    member_id: str
    group_instance_id: str | None
    topics: list[TxnOffsetCommitRequestTxnOffsetCommitRequestTopic]
    def __init__(
        self,
        *,
        transactional_id: str = ...,
        group_id: str = ...,
        producer_id: int = ...,
        producer_epoch: int = ...,
        generation_id_or_member_epoch: int = ...,
        member_id: str = ...,
        group_instance_id: str | None = ...,
        topics: list[TxnOffsetCommitRequestTxnOffsetCommitRequestTopic] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class TxnOffsetCommitRequestTxnOffsetCommitRequestTopic(Struct):
    name: str
    topic_id: bytes
    partitions: list[TxnOffsetCommitRequestTxnOffsetCommitRequestPartition]
    def __init__(
        self,
        *,
        name: str = ...,
        topic_id: bytes = ...,
        partitions: list[TxnOffsetCommitRequestTxnOffsetCommitRequestPartition] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class TxnOffsetCommitRequestTxnOffsetCommitRequestPartition(Struct):
    partition_index: int
    committed_offset: int
    committed_leader_epoch: int
    committed_metadata: str | None
    def __init__(
        self,
        *,
        partition_index: int = ...,
        committed_offset: int = ...,
        committed_leader_epoch: int = ...,
        committed_metadata: str | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class TxnOffsetCommitResponse(Message):
    throttle_time_ms: int
    topics: list[TxnOffsetCommitResponseTxnOffsetCommitResponseTopic]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        topics: list[TxnOffsetCommitResponseTxnOffsetCommitResponseTopic] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class TxnOffsetCommitResponseTxnOffsetCommitResponseTopic(Struct):
    name: str
    topic_id: bytes
    partitions: list[TxnOffsetCommitResponseTxnOffsetCommitResponsePartition]
    def __init__(
        self,
        *,
        name: str = ...,
        topic_id: bytes = ...,
        partitions: list[TxnOffsetCommitResponseTxnOffsetCommitResponsePartition] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class TxnOffsetCommitResponseTxnOffsetCommitResponsePartition(Struct):
    partition_index: int
    error_code: int
    def __init__(
        self,
        *,
        partition_index: int = ...,
        error_code: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeAclsRequest(Message):
    resource_type_filter: int
    resource_name_filter: str | None
    pattern_type_filter: int
    principal_filter: str | None
    host_filter: str | None
    operation: int
    permission_type: int
    def __init__(
        self,
        *,
        resource_type_filter: int = ...,
        resource_name_filter: str | None = ...,
        pattern_type_filter: int = ...,
        principal_filter: str | None = ...,
        host_filter: str | None = ...,
        operation: int = ...,
        permission_type: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeAclsResponse(Message):
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    resources: list[DescribeAclsResponseDescribeAclsResource]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        resources: list[DescribeAclsResponseDescribeAclsResource] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeAclsResponseDescribeAclsResource(Struct):
    resource_type: int
    resource_name: str
    pattern_type: int
    acls: list[DescribeAclsResponseAclDescription]
    def __init__(
        self,
        *,
        resource_type: int = ...,
        resource_name: str = ...,
        pattern_type: int = ...,
        acls: list[DescribeAclsResponseAclDescription] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeAclsResponseAclDescription(Struct):
    principal: str
    host: str
    operation: int
    permission_type: int
    def __init__(
        self,
        *,
        principal: str = ...,
        host: str = ...,
        operation: int = ...,
        permission_type: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class CreateAclsRequest(Message):
    creations: list[CreateAclsRequestAclCreation]
    def __init__(
        self,
        *,
        creations: list[CreateAclsRequestAclCreation] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class CreateAclsRequestAclCreation(Struct):
    resource_type: int
    resource_name: str
    resource_pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int
    def __init__(
        self,
        *,
        resource_type: int = ...,
        resource_name: str = ...,
        resource_pattern_type: int = ...,
        principal: str = ...,
        host: str = ...,
        operation: int = ...,
        permission_type: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class CreateAclsResponse(Message):
    throttle_time_ms: int
    results: list[CreateAclsResponseAclCreationResult]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        results: list[CreateAclsResponseAclCreationResult] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class CreateAclsResponseAclCreationResult(Struct):
    error_code: int
    error_message: str | None
    def __init__(
        self,
        *,
        error_code: int = ...,
        error_message: str | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DeleteAclsRequest(Message):
    filters: list[DeleteAclsRequestDeleteAclsFilter]
    def __init__(
        self,
        *,
        filters: list[DeleteAclsRequestDeleteAclsFilter] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DeleteAclsRequestDeleteAclsFilter(Struct):
    resource_type_filter: int
    resource_name_filter: str | None
    pattern_type_filter: int
    principal_filter: str | None
    host_filter: str | None
    operation: int
    permission_type: int
    def __init__(
        self,
        *,
        resource_type_filter: int = ...,
        resource_name_filter: str | None = ...,
        pattern_type_filter: int = ...,
        principal_filter: str | None = ...,
        host_filter: str | None = ...,
        operation: int = ...,
        permission_type: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DeleteAclsResponse(Message):
    throttle_time_ms: int
    filter_results: list[DeleteAclsResponseDeleteAclsFilterResult]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        filter_results: list[DeleteAclsResponseDeleteAclsFilterResult] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DeleteAclsResponseDeleteAclsFilterResult(Struct):
    error_code: int
    error_message: str | None
    matching_acls: list[DeleteAclsResponseDeleteAclsMatchingAcl]
    def __init__(
        self,
        *,
        error_code: int = ...,
        error_message: str | None = ...,
        matching_acls: list[DeleteAclsResponseDeleteAclsMatchingAcl] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DeleteAclsResponseDeleteAclsMatchingAcl(Struct):
    error_code: int
    error_message: str | None
    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int
    def __init__(
        self,
        *,
        error_code: int = ...,
        error_message: str | None = ...,
        resource_type: int = ...,
        resource_name: str = ...,
        pattern_type: int = ...,
        principal: str = ...,
        host: str = ...,
        operation: int = ...,
        permission_type: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeConfigsRequest(Message):
    resources: list[DescribeConfigsRequestDescribeConfigsResource]
    include_synonyms: bool
    include_documentation: bool
    def __init__(
        self,
        *,
        resources: list[DescribeConfigsRequestDescribeConfigsResource] = ...,
        include_synonyms: bool = ...,
        include_documentation: bool = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeConfigsRequestDescribeConfigsResource(Struct):
    resource_type: int
    resource_name: str
    configuration_keys: list[str] | None
    def __init__(
        self,
        *,
        resource_type: int = ...,
        resource_name: str = ...,
        configuration_keys: list[str] | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeConfigsResponse(Message):
    throttle_time_ms: int
    results: list[DescribeConfigsResponseDescribeConfigsResult]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        results: list[DescribeConfigsResponseDescribeConfigsResult] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeConfigsResponseDescribeConfigsResult(Struct):
    error_code: int
    error_message: str | None
    resource_type: int
    resource_name: str
    configs: list[DescribeConfigsResponseDescribeConfigsResourceResult]
    def __init__(
        self,
        *,
        error_code: int = ...,
        error_message: str | None = ...,
        resource_type: int = ...,
        resource_name: str = ...,
        configs: list[DescribeConfigsResponseDescribeConfigsResourceResult] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeConfigsResponseDescribeConfigsResourceResult(Struct):
    name: str
    value: str | None
    read_only: bool
    config_source: int
    is_sensitive: bool
    synonyms: list[DescribeConfigsResponseDescribeConfigsSynonym]
    config_type: int
    documentation: str | None
    def __init__(
        self,
        *,
        name: str = ...,
        value: str | None = ...,
        read_only: bool = ...,
        config_source: int = ...,
        is_sensitive: bool = ...,
        synonyms: list[DescribeConfigsResponseDescribeConfigsSynonym] = ...,
        config_type: int = ...,
        documentation: str | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeConfigsResponseDescribeConfigsSynonym(Struct):
    name: str
    value: str | None
    source: int
    def __init__(
        self,
        *,
        name: str = ...,
        value: str | None = ...,
        source: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AlterConfigsRequest(Message):
    resources: list[AlterConfigsRequestAlterConfigsResource]
    validate_only: bool
    def __init__(
        self,
        *,
        resources: list[AlterConfigsRequestAlterConfigsResource] = ...,
        validate_only: bool = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AlterConfigsRequestAlterConfigsResource(Struct):
    resource_type: int
    resource_name: str
    configs: list[AlterConfigsRequestAlterableConfig]
    def __init__(
        self,
        *,
        resource_type: int = ...,
        resource_name: str = ...,
        configs: list[AlterConfigsRequestAlterableConfig] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AlterConfigsRequestAlterableConfig(Struct):
    name: str
    value: str | None
    def __init__(
        self,
        *,
        name: str = ...,
        value: str | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AlterConfigsResponse(Message):
    throttle_time_ms: int
    responses: list[AlterConfigsResponseAlterConfigsResourceResponse]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        responses: list[AlterConfigsResponseAlterConfigsResourceResponse] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AlterConfigsResponseAlterConfigsResourceResponse(Struct):
    error_code: int
    error_message: str | None
    resource_type: int
    resource_name: str
    def __init__(
        self,
        *,
        error_code: int = ...,
        error_message: str | None = ...,
        resource_type: int = ...,
        resource_name: str = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AlterReplicaLogDirsRequest(Message):
    dirs: list[AlterReplicaLogDirsRequestAlterReplicaLogDir]
    def __init__(
        self,
        *,
        dirs: list[AlterReplicaLogDirsRequestAlterReplicaLogDir] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AlterReplicaLogDirsRequestAlterReplicaLogDir(Struct):
    path: str
    topics: list[AlterReplicaLogDirsRequestAlterReplicaLogDirTopic]
    def __init__(
        self,
        *,
        path: str = ...,
        topics: list[AlterReplicaLogDirsRequestAlterReplicaLogDirTopic] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AlterReplicaLogDirsRequestAlterReplicaLogDirTopic(Struct):
    name: str
    partitions: list[int]
    def __init__(
        self,
        *,
        name: str = ...,
        partitions: list[int] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AlterReplicaLogDirsResponse(Message):
    throttle_time_ms: int
    results: list[AlterReplicaLogDirsResponseAlterReplicaLogDirTopicResult]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        results: list[AlterReplicaLogDirsResponseAlterReplicaLogDirTopicResult] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AlterReplicaLogDirsResponseAlterReplicaLogDirTopicResult(Struct):
    topic_name: str
    partitions: list[AlterReplicaLogDirsResponseAlterReplicaLogDirPartitionResult]
    def __init__(
        self,
        *,
        topic_name: str = ...,
        partitions: list[AlterReplicaLogDirsResponseAlterReplicaLogDirPartitionResult] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AlterReplicaLogDirsResponseAlterReplicaLogDirPartitionResult(Struct):
    partition_index: int
    error_code: int
    def __init__(
        self,
        *,
        partition_index: int = ...,
        error_code: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeLogDirsRequest(Message):
    topics: list[DescribeLogDirsRequestDescribableLogDirTopic] | None
    def __init__(
        self,
        *,
        topics: list[DescribeLogDirsRequestDescribableLogDirTopic] | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeLogDirsRequestDescribableLogDirTopic(Struct):
    topic: str
    partitions: list[int]
    def __init__(
        self,
        *,
        topic: str = ...,
        partitions: list[int] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeLogDirsResponse(Message):
    throttle_time_ms: int
    error_code: int
    results: list[DescribeLogDirsResponseDescribeLogDirsResult]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        results: list[DescribeLogDirsResponseDescribeLogDirsResult] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeLogDirsResponseDescribeLogDirsResult(Struct):
    error_code: int
    log_dir: str
    topics: list[DescribeLogDirsResponseDescribeLogDirsTopic]
    total_bytes: int
    usable_bytes: int
    is_cordoned: bool
    def __init__(
        self,
        *,
        error_code: int = ...,
        log_dir: str = ...,
        topics: list[DescribeLogDirsResponseDescribeLogDirsTopic] = ...,
        total_bytes: int = ...,
        usable_bytes: int = ...,
        is_cordoned: bool = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeLogDirsResponseDescribeLogDirsTopic(Struct):
    name: str
    partitions: list[DescribeLogDirsResponseDescribeLogDirsPartition]
    def __init__(
        self,
        *,
        name: str = ...,
        partitions: list[DescribeLogDirsResponseDescribeLogDirsPartition] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeLogDirsResponseDescribeLogDirsPartition(Struct):
    partition_index: int
    partition_size: int
    offset_lag: int
    is_future_key: bool
    def __init__(
        self,
        *,
        partition_index: int = ...,
        partition_size: int = ...,
        offset_lag: int = ...,
        is_future_key: bool = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class SaslAuthenticateRequest(Message):
    auth_bytes: _Buffer
    def __init__(
        self,
        *,
        auth_bytes: _Buffer = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class SaslAuthenticateResponse(Message):
    error_code: int
    error_message: str | None
    auth_bytes: _Buffer
    session_lifetime_ms: int
    def __init__(
        self,
        *,
        error_code: int = ...,
        error_message: str | None = ...,
        auth_bytes: _Buffer = ...,
        session_lifetime_ms: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class CreatePartitionsRequest(Message):
    topics: list[CreatePartitionsRequestCreatePartitionsTopic]
    timeout_ms: int
    validate_only: bool
    def __init__(
        self,
        *,
        topics: list[CreatePartitionsRequestCreatePartitionsTopic] = ...,
        timeout_ms: int = ...,
        validate_only: bool = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class CreatePartitionsRequestCreatePartitionsTopic(Struct):
    name: str
    count: int
    assignments: list[CreatePartitionsRequestCreatePartitionsAssignment] | None
    def __init__(
        self,
        *,
        name: str = ...,
        count: int = ...,
        assignments: list[CreatePartitionsRequestCreatePartitionsAssignment] | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class CreatePartitionsRequestCreatePartitionsAssignment(Struct):
    broker_ids: list[int]
    def __init__(
        self,
        *,
        broker_ids: list[int] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class CreatePartitionsResponse(Message):
    throttle_time_ms: int
    results: list[CreatePartitionsResponseCreatePartitionsTopicResult]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        results: list[CreatePartitionsResponseCreatePartitionsTopicResult] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class CreatePartitionsResponseCreatePartitionsTopicResult(Struct):
    name: str
    error_code: int
    error_message: str | None
    def __init__(
        self,
        *,
        name: str = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class CreateDelegationTokenRequest(Message):
    owner_principal_type: str | None
    owner_principal_name: str | None
    renewers: list[CreateDelegationTokenRequestCreatableRenewers]
    max_lifetime_ms: int
    def __init__(
        self,
        *,
        owner_principal_type: str | None = ...,
        owner_principal_name: str | None = ...,
        renewers: list[CreateDelegationTokenRequestCreatableRenewers] = ...,
        max_lifetime_ms: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class CreateDelegationTokenRequestCreatableRenewers(Struct):
    principal_type: str
    principal_name: str
    def __init__(
        self,
        *,
        principal_type: str = ...,
        principal_name: str = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class CreateDelegationTokenResponse(Message):
    error_code: int
    principal_type: str
    principal_name: str
    token_requester_principal_type: str
    token_requester_principal_name: str
    issue_timestamp_ms: int
    expiry_timestamp_ms: int
    max_timestamp_ms: int
    token_id: str
    hmac: _Buffer
    throttle_time_ms: int
    def __init__(
        self,
        *,
        error_code: int = ...,
        principal_type: str = ...,
        principal_name: str = ...,
        token_requester_principal_type: str = ...,
        token_requester_principal_name: str = ...,
        issue_timestamp_ms: int = ...,
        expiry_timestamp_ms: int = ...,
        max_timestamp_ms: int = ...,
        token_id: str = ...,
        hmac: _Buffer = ...,
        throttle_time_ms: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class RenewDelegationTokenRequest(Message):
    hmac: _Buffer
    renew_period_ms: int
    def __init__(
        self,
        *,
        hmac: _Buffer = ...,
        renew_period_ms: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class RenewDelegationTokenResponse(Message):
    error_code: int
    expiry_timestamp_ms: int
    throttle_time_ms: int
    def __init__(
        self,
        *,
        error_code: int = ...,
        expiry_timestamp_ms: int = ...,
        throttle_time_ms: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ExpireDelegationTokenRequest(Message):
    hmac: _Buffer
    expiry_time_period_ms: int
    def __init__(
        self,
        *,
        hmac: _Buffer = ...,
        expiry_time_period_ms: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ExpireDelegationTokenResponse(Message):
    error_code: int
    expiry_timestamp_ms: int
    throttle_time_ms: int
    def __init__(
        self,
        *,
        error_code: int = ...,
        expiry_timestamp_ms: int = ...,
        throttle_time_ms: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeDelegationTokenRequest(Message):
    owners: list[DescribeDelegationTokenRequestDescribeDelegationTokenOwner] | None
    def __init__(
        self,
        *,
        owners: list[DescribeDelegationTokenRequestDescribeDelegationTokenOwner] | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeDelegationTokenRequestDescribeDelegationTokenOwner(Struct):
    principal_type: str
    principal_name: str
    def __init__(
        self,
        *,
        principal_type: str = ...,
        principal_name: str = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeDelegationTokenResponse(Message):
    error_code: int
    tokens: list[DescribeDelegationTokenResponseDescribedDelegationToken]
    throttle_time_ms: int
    def __init__(
        self,
        *,
        error_code: int = ...,
        tokens: list[DescribeDelegationTokenResponseDescribedDelegationToken] = ...,
        throttle_time_ms: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeDelegationTokenResponseDescribedDelegationToken(Struct):
    principal_type: str
    principal_name: str
    token_requester_principal_type: str
    token_requester_principal_name: str
    issue_timestamp: int
    expiry_timestamp: int
    max_timestamp: int
    token_id: str
    hmac: _Buffer
    renewers: list[DescribeDelegationTokenResponseDescribedDelegationTokenRenewer]
    def __init__(
        self,
        *,
        principal_type: str = ...,
        principal_name: str = ...,
        token_requester_principal_type: str = ...,
        token_requester_principal_name: str = ...,
        issue_timestamp: int = ...,
        expiry_timestamp: int = ...,
        max_timestamp: int = ...,
        token_id: str = ...,
        hmac: _Buffer = ...,
        renewers: list[DescribeDelegationTokenResponseDescribedDelegationTokenRenewer] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeDelegationTokenResponseDescribedDelegationTokenRenewer(Struct):
    principal_type: str
    principal_name: str
    def __init__(
        self,
        *,
        principal_type: str = ...,
        principal_name: str = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DeleteGroupsRequest(Message):
    groups_names: list[str]
    def __init__(
        self,
        *,
        groups_names: list[str] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DeleteGroupsResponse(Message):
    throttle_time_ms: int
    results: list[DeleteGroupsResponseDeletableGroupResult]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        results: list[DeleteGroupsResponseDeletableGroupResult] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DeleteGroupsResponseDeletableGroupResult(Struct):
    group_id: str
    error_code: int
    error_message: str | None
    def __init__(
        self,
        *,
        group_id: str = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ElectLeadersRequest(Message):
    election_type: int
    topic_partitions: list[ElectLeadersRequestTopicPartitions] | None
    timeout_ms: int
    def __init__(
        self,
        *,
        election_type: int = ...,
        topic_partitions: list[ElectLeadersRequestTopicPartitions] | None = ...,
        timeout_ms: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ElectLeadersRequestTopicPartitions(Struct):
    topic: str
    partitions: list[int]
    def __init__(
        self,
        *,
        topic: str = ...,
        partitions: list[int] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ElectLeadersResponse(Message):
    throttle_time_ms: int
    error_code: int
    replica_election_results: list[ElectLeadersResponseReplicaElectionResult]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        replica_election_results: list[ElectLeadersResponseReplicaElectionResult] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ElectLeadersResponseReplicaElectionResult(Struct):
    topic: str
    partition_result: list[ElectLeadersResponsePartitionResult]
    def __init__(
        self,
        *,
        topic: str = ...,
        partition_result: list[ElectLeadersResponsePartitionResult] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ElectLeadersResponsePartitionResult(Struct):
    partition_id: int
    error_code: int
    error_message: str | None
    def __init__(
        self,
        *,
        partition_id: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class IncrementalAlterConfigsRequest(Message):
    resources: list[IncrementalAlterConfigsRequestAlterConfigsResource]
    validate_only: bool
    def __init__(
        self,
        *,
        resources: list[IncrementalAlterConfigsRequestAlterConfigsResource] = ...,
        validate_only: bool = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class IncrementalAlterConfigsRequestAlterConfigsResource(Struct):
    resource_type: int
    resource_name: str
    configs: list[IncrementalAlterConfigsRequestAlterableConfig]
    def __init__(
        self,
        *,
        resource_type: int = ...,
        resource_name: str = ...,
        configs: list[IncrementalAlterConfigsRequestAlterableConfig] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class IncrementalAlterConfigsRequestAlterableConfig(Struct):
    name: str
    config_operation: int
    value: str | None
    def __init__(
        self,
        *,
        name: str = ...,
        config_operation: int = ...,
        value: str | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class IncrementalAlterConfigsResponse(Message):
    throttle_time_ms: int
    responses: list[IncrementalAlterConfigsResponseAlterConfigsResourceResponse]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        responses: list[IncrementalAlterConfigsResponseAlterConfigsResourceResponse] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class IncrementalAlterConfigsResponseAlterConfigsResourceResponse(Struct):
    error_code: int
    error_message: str | None
    resource_type: int
    resource_name: str
    def __init__(
        self,
        *,
        error_code: int = ...,
        error_message: str | None = ...,
        resource_type: int = ...,
        resource_name: str = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AlterPartitionReassignmentsRequest(Message):
    timeout_ms: int
    allow_replication_factor_change: bool
    topics: list[AlterPartitionReassignmentsRequestReassignableTopic]
    def __init__(
        self,
        *,
        timeout_ms: int = ...,
        allow_replication_factor_change: bool = ...,
        topics: list[AlterPartitionReassignmentsRequestReassignableTopic] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AlterPartitionReassignmentsRequestReassignableTopic(Struct):
    name: str
    partitions: list[AlterPartitionReassignmentsRequestReassignablePartition]
    def __init__(
        self,
        *,
        name: str = ...,
        partitions: list[AlterPartitionReassignmentsRequestReassignablePartition] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AlterPartitionReassignmentsRequestReassignablePartition(Struct):
    partition_index: int
    replicas: list[int] | None
    def __init__(
        self,
        *,
        partition_index: int = ...,
        replicas: list[int] | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AlterPartitionReassignmentsResponse(Message):
    throttle_time_ms: int
    allow_replication_factor_change: bool
    error_code: int
    error_message: str | None
    responses: list[AlterPartitionReassignmentsResponseReassignableTopicResponse]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        allow_replication_factor_change: bool = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        responses: list[AlterPartitionReassignmentsResponseReassignableTopicResponse] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AlterPartitionReassignmentsResponseReassignableTopicResponse(Struct):
    name: str
    partitions: list[AlterPartitionReassignmentsResponseReassignablePartitionResponse]
    def __init__(
        self,
        *,
        name: str = ...,
        partitions: list[AlterPartitionReassignmentsResponseReassignablePartitionResponse] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AlterPartitionReassignmentsResponseReassignablePartitionResponse(Struct):
    partition_index: int
    error_code: int
    error_message: str | None
    def __init__(
        self,
        *,
        partition_index: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ListPartitionReassignmentsRequest(Message):
    timeout_ms: int
    topics: list[ListPartitionReassignmentsRequestListPartitionReassignmentsTopics] | None
    def __init__(
        self,
        *,
        timeout_ms: int = ...,
        topics: list[ListPartitionReassignmentsRequestListPartitionReassignmentsTopics] | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ListPartitionReassignmentsRequestListPartitionReassignmentsTopics(Struct):
    name: str
    partition_indexes: list[int]
    def __init__(
        self,
        *,
        name: str = ...,
        partition_indexes: list[int] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ListPartitionReassignmentsResponse(Message):
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    topics: list[ListPartitionReassignmentsResponseOngoingTopicReassignment]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        topics: list[ListPartitionReassignmentsResponseOngoingTopicReassignment] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ListPartitionReassignmentsResponseOngoingTopicReassignment(Struct):
    name: str
    partitions: list[ListPartitionReassignmentsResponseOngoingPartitionReassignment]
    def __init__(
        self,
        *,
        name: str = ...,
        partitions: list[ListPartitionReassignmentsResponseOngoingPartitionReassignment] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ListPartitionReassignmentsResponseOngoingPartitionReassignment(Struct):
    partition_index: int
    replicas: list[int]
    adding_replicas: list[int]
    removing_replicas: list[int]
    def __init__(
        self,
        *,
        partition_index: int = ...,
        replicas: list[int] = ...,
        adding_replicas: list[int] = ...,
        removing_replicas: list[int] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class OffsetDeleteRequest(Message):
    group_id: str
    topics: list[OffsetDeleteRequestOffsetDeleteRequestTopic]
    def __init__(
        self,
        *,
        group_id: str = ...,
        topics: list[OffsetDeleteRequestOffsetDeleteRequestTopic] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class OffsetDeleteRequestOffsetDeleteRequestTopic(Struct):
    name: str
    partitions: list[OffsetDeleteRequestOffsetDeleteRequestPartition]
    def __init__(
        self,
        *,
        name: str = ...,
        partitions: list[OffsetDeleteRequestOffsetDeleteRequestPartition] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class OffsetDeleteRequestOffsetDeleteRequestPartition(Struct):
    partition_index: int
    def __init__(
        self,
        *,
        partition_index: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class OffsetDeleteResponse(Message):
    error_code: int
    throttle_time_ms: int
    topics: list[OffsetDeleteResponseOffsetDeleteResponseTopic]
    def __init__(
        self,
        *,
        error_code: int = ...,
        throttle_time_ms: int = ...,
        topics: list[OffsetDeleteResponseOffsetDeleteResponseTopic] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class OffsetDeleteResponseOffsetDeleteResponseTopic(Struct):
    name: str
    partitions: list[OffsetDeleteResponseOffsetDeleteResponsePartition]
    def __init__(
        self,
        *,
        name: str = ...,
        partitions: list[OffsetDeleteResponseOffsetDeleteResponsePartition] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class OffsetDeleteResponseOffsetDeleteResponsePartition(Struct):
    partition_index: int
    error_code: int
    def __init__(
        self,
        *,
        partition_index: int = ...,
        error_code: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeClientQuotasRequest(Message):
    components: list[DescribeClientQuotasRequestComponentData]
    strict: bool
    def __init__(
        self,
        *,
        components: list[DescribeClientQuotasRequestComponentData] = ...,
        strict: bool = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeClientQuotasRequestComponentData(Struct):
    entity_type: str
    match_type: int
    match: str | None
    def __init__(
        self,
        *,
        entity_type: str = ...,
        match_type: int = ...,
        match: str | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeClientQuotasResponse(Message):
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    entries: list[DescribeClientQuotasResponseEntryData] | None
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        entries: list[DescribeClientQuotasResponseEntryData] | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeClientQuotasResponseEntryData(Struct):
    entity: list[DescribeClientQuotasResponseEntityData]
    values: list[DescribeClientQuotasResponseValueData]
    def __init__(
        self,
        *,
        entity: list[DescribeClientQuotasResponseEntityData] = ...,
        values: list[DescribeClientQuotasResponseValueData] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeClientQuotasResponseEntityData(Struct):
    entity_type: str
    entity_name: str | None
    def __init__(
        self,
        *,
        entity_type: str = ...,
        entity_name: str | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeClientQuotasResponseValueData(Struct):
    key: str
    value: float
    def __init__(
        self,
        *,
        key: str = ...,
        value: float = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AlterClientQuotasRequest(Message):
    entries: list[AlterClientQuotasRequestEntryData]
    validate_only: bool
    def __init__(
        self,
        *,
        entries: list[AlterClientQuotasRequestEntryData] = ...,
        validate_only: bool = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AlterClientQuotasRequestEntryData(Struct):
    entity: list[AlterClientQuotasRequestEntityData]
    ops: list[AlterClientQuotasRequestOpData]
    def __init__(
        self,
        *,
        entity: list[AlterClientQuotasRequestEntityData] = ...,
        ops: list[AlterClientQuotasRequestOpData] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AlterClientQuotasRequestEntityData(Struct):
    entity_type: str
    entity_name: str | None
    def __init__(
        self,
        *,
        entity_type: str = ...,
        entity_name: str | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AlterClientQuotasRequestOpData(Struct):
    key: str
    value: float
    remove: bool
    def __init__(
        self,
        *,
        key: str = ...,
        value: float = ...,
        remove: bool = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AlterClientQuotasResponse(Message):
    throttle_time_ms: int
    entries: list[AlterClientQuotasResponseEntryData]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        entries: list[AlterClientQuotasResponseEntryData] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AlterClientQuotasResponseEntryData(Struct):
    error_code: int
    error_message: str | None
    entity: list[AlterClientQuotasResponseEntityData]
    def __init__(
        self,
        *,
        error_code: int = ...,
        error_message: str | None = ...,
        entity: list[AlterClientQuotasResponseEntityData] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AlterClientQuotasResponseEntityData(Struct):
    entity_type: str
    entity_name: str | None
    def __init__(
        self,
        *,
        entity_type: str = ...,
        entity_name: str | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeUserScramCredentialsRequest(Message):
    users: list[DescribeUserScramCredentialsRequestUserName] | None
    def __init__(
        self,
        *,
        users: list[DescribeUserScramCredentialsRequestUserName] | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeUserScramCredentialsRequestUserName(Struct):
    name: str
    def __init__(
        self,
        *,
        name: str = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeUserScramCredentialsResponse(Message):
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    results: list[DescribeUserScramCredentialsResponseDescribeUserScramCredentialsResult]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        results: list[DescribeUserScramCredentialsResponseDescribeUserScramCredentialsResult] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeUserScramCredentialsResponseDescribeUserScramCredentialsResult(Struct):
    user: str
    error_code: int
    error_message: str | None
    credential_infos: list[DescribeUserScramCredentialsResponseCredentialInfo]
    def __init__(
        self,
        *,
        user: str = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        credential_infos: list[DescribeUserScramCredentialsResponseCredentialInfo] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeUserScramCredentialsResponseCredentialInfo(Struct):
    mechanism: int
    iterations: int
    def __init__(
        self,
        *,
        mechanism: int = ...,
        iterations: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AlterUserScramCredentialsRequest(Message):
    deletions: list[AlterUserScramCredentialsRequestScramCredentialDeletion]
    upsertions: list[AlterUserScramCredentialsRequestScramCredentialUpsertion]
    def __init__(
        self,
        *,
        deletions: list[AlterUserScramCredentialsRequestScramCredentialDeletion] = ...,
        upsertions: list[AlterUserScramCredentialsRequestScramCredentialUpsertion] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AlterUserScramCredentialsRequestScramCredentialDeletion(Struct):
    name: str
    mechanism: int
    def __init__(
        self,
        *,
        name: str = ...,
        mechanism: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AlterUserScramCredentialsRequestScramCredentialUpsertion(Struct):
    name: str
    mechanism: int
    iterations: int
    salt: _Buffer
    salted_password: _Buffer
    def __init__(
        self,
        *,
        name: str = ...,
        mechanism: int = ...,
        iterations: int = ...,
        salt: _Buffer = ...,
        salted_password: _Buffer = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AlterUserScramCredentialsResponse(Message):
    throttle_time_ms: int
    results: list[AlterUserScramCredentialsResponseAlterUserScramCredentialsResult]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        results: list[AlterUserScramCredentialsResponseAlterUserScramCredentialsResult] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AlterUserScramCredentialsResponseAlterUserScramCredentialsResult(Struct):
    user: str
    error_code: int
    error_message: str | None
    def __init__(
        self,
        *,
        user: str = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class VoteRequest(Message):
    cluster_id: str | None
    voter_id: int
    topics: list[VoteRequestTopicData]
    def __init__(
        self,
        *,
        cluster_id: str | None = ...,
        voter_id: int = ...,
        topics: list[VoteRequestTopicData] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class VoteRequestTopicData(Struct):
    topic_name: str
    partitions: list[VoteRequestPartitionData]
    def __init__(
        self,
        *,
        topic_name: str = ...,
        partitions: list[VoteRequestPartitionData] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class VoteRequestPartitionData(Struct):
    partition_index: int
    replica_epoch: int
    replica_id: int
    replica_directory_id: bytes
    voter_directory_id: bytes
    last_offset_epoch: int
    last_offset: int
    pre_vote: bool
    def __init__(
        self,
        *,
        partition_index: int = ...,
        replica_epoch: int = ...,
        replica_id: int = ...,
        replica_directory_id: bytes = ...,
        voter_directory_id: bytes = ...,
        last_offset_epoch: int = ...,
        last_offset: int = ...,
        pre_vote: bool = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class VoteResponse(Message):
    error_code: int
    topics: list[VoteResponseTopicData]
    node_endpoints: list[VoteResponseNodeEndpoint]
    def __init__(
        self,
        *,
        error_code: int = ...,
        topics: list[VoteResponseTopicData] = ...,
        node_endpoints: list[VoteResponseNodeEndpoint] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class VoteResponseTopicData(Struct):
    topic_name: str
    partitions: list[VoteResponsePartitionData]
    def __init__(
        self,
        *,
        topic_name: str = ...,
        partitions: list[VoteResponsePartitionData] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class VoteResponsePartitionData(Struct):
    partition_index: int
    error_code: int
    leader_id: int
    leader_epoch: int
    vote_granted: bool
    def __init__(
        self,
        *,
        partition_index: int = ...,
        error_code: int = ...,
        leader_id: int = ...,
        leader_epoch: int = ...,
        vote_granted: bool = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class VoteResponseNodeEndpoint(Struct):
    node_id: int
    host: str
    port: int
    def __init__(
        self,
        *,
        node_id: int = ...,
        host: str = ...,
        port: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class BeginQuorumEpochRequest(Message):
    cluster_id: str | None
    voter_id: int
    topics: list[BeginQuorumEpochRequestTopicData]
    leader_endpoints: list[BeginQuorumEpochRequestLeaderEndpoint]
    def __init__(
        self,
        *,
        cluster_id: str | None = ...,
        voter_id: int = ...,
        topics: list[BeginQuorumEpochRequestTopicData] = ...,
        leader_endpoints: list[BeginQuorumEpochRequestLeaderEndpoint] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class BeginQuorumEpochRequestTopicData(Struct):
    topic_name: str
    partitions: list[BeginQuorumEpochRequestPartitionData]
    def __init__(
        self,
        *,
        topic_name: str = ...,
        partitions: list[BeginQuorumEpochRequestPartitionData] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class BeginQuorumEpochRequestPartitionData(Struct):
    partition_index: int
    voter_directory_id: bytes
    leader_id: int
    leader_epoch: int
    def __init__(
        self,
        *,
        partition_index: int = ...,
        voter_directory_id: bytes = ...,
        leader_id: int = ...,
        leader_epoch: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class BeginQuorumEpochRequestLeaderEndpoint(Struct):
    name: str
    host: str
    port: int
    def __init__(
        self,
        *,
        name: str = ...,
        host: str = ...,
        port: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class BeginQuorumEpochResponse(Message):
    error_code: int
    topics: list[BeginQuorumEpochResponseTopicData]
    node_endpoints: list[BeginQuorumEpochResponseNodeEndpoint]
    def __init__(
        self,
        *,
        error_code: int = ...,
        topics: list[BeginQuorumEpochResponseTopicData] = ...,
        node_endpoints: list[BeginQuorumEpochResponseNodeEndpoint] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class BeginQuorumEpochResponseTopicData(Struct):
    topic_name: str
    partitions: list[BeginQuorumEpochResponsePartitionData]
    def __init__(
        self,
        *,
        topic_name: str = ...,
        partitions: list[BeginQuorumEpochResponsePartitionData] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class BeginQuorumEpochResponsePartitionData(Struct):
    partition_index: int
    error_code: int
    leader_id: int
    leader_epoch: int
    def __init__(
        self,
        *,
        partition_index: int = ...,
        error_code: int = ...,
        leader_id: int = ...,
        leader_epoch: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class BeginQuorumEpochResponseNodeEndpoint(Struct):
    node_id: int
    host: str
    port: int
    def __init__(
        self,
        *,
        node_id: int = ...,
        host: str = ...,
        port: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class EndQuorumEpochRequest(Message):
    cluster_id: str | None
    topics: list[EndQuorumEpochRequestTopicData]
    leader_endpoints: list[EndQuorumEpochRequestLeaderEndpoint]
    def __init__(
        self,
        *,
        cluster_id: str | None = ...,
        topics: list[EndQuorumEpochRequestTopicData] = ...,
        leader_endpoints: list[EndQuorumEpochRequestLeaderEndpoint] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class EndQuorumEpochRequestTopicData(Struct):
    topic_name: str
    partitions: list[EndQuorumEpochRequestPartitionData]
    def __init__(
        self,
        *,
        topic_name: str = ...,
        partitions: list[EndQuorumEpochRequestPartitionData] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class EndQuorumEpochRequestPartitionData(Struct):
    partition_index: int
    leader_id: int
    leader_epoch: int
    preferred_successors: list[int]
    preferred_candidates: list[EndQuorumEpochRequestReplicaInfo]
    def __init__(
        self,
        *,
        partition_index: int = ...,
        leader_id: int = ...,
        leader_epoch: int = ...,
        preferred_successors: list[int] = ...,
        preferred_candidates: list[EndQuorumEpochRequestReplicaInfo] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class EndQuorumEpochRequestReplicaInfo(Struct):
    candidate_id: int
    candidate_directory_id: bytes
    def __init__(
        self,
        *,
        candidate_id: int = ...,
        candidate_directory_id: bytes = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class EndQuorumEpochRequestLeaderEndpoint(Struct):
    name: str
    host: str
    port: int
    def __init__(
        self,
        *,
        name: str = ...,
        host: str = ...,
        port: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class EndQuorumEpochResponse(Message):
    error_code: int
    topics: list[EndQuorumEpochResponseTopicData]
    node_endpoints: list[EndQuorumEpochResponseNodeEndpoint]
    def __init__(
        self,
        *,
        error_code: int = ...,
        topics: list[EndQuorumEpochResponseTopicData] = ...,
        node_endpoints: list[EndQuorumEpochResponseNodeEndpoint] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class EndQuorumEpochResponseTopicData(Struct):
    topic_name: str
    partitions: list[EndQuorumEpochResponsePartitionData]
    def __init__(
        self,
        *,
        topic_name: str = ...,
        partitions: list[EndQuorumEpochResponsePartitionData] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class EndQuorumEpochResponsePartitionData(Struct):
    partition_index: int
    error_code: int
    leader_id: int
    leader_epoch: int
    def __init__(
        self,
        *,
        partition_index: int = ...,
        error_code: int = ...,
        leader_id: int = ...,
        leader_epoch: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class EndQuorumEpochResponseNodeEndpoint(Struct):
    node_id: int
    host: str
    port: int
    def __init__(
        self,
        *,
        node_id: int = ...,
        host: str = ...,
        port: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeQuorumRequest(Message):
    topics: list[DescribeQuorumRequestTopicData]
    def __init__(
        self,
        *,
        topics: list[DescribeQuorumRequestTopicData] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeQuorumRequestTopicData(Struct):
    topic_name: str
    partitions: list[DescribeQuorumRequestPartitionData]
    def __init__(
        self,
        *,
        topic_name: str = ...,
        partitions: list[DescribeQuorumRequestPartitionData] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeQuorumRequestPartitionData(Struct):
    partition_index: int
    def __init__(
        self,
        *,
        partition_index: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeQuorumResponse(Message):
    error_code: int
    error_message: str | None
    topics: list[DescribeQuorumResponseTopicData]
    nodes: list[DescribeQuorumResponseNode]
    def __init__(
        self,
        *,
        error_code: int = ...,
        error_message: str | None = ...,
        topics: list[DescribeQuorumResponseTopicData] = ...,
        nodes: list[DescribeQuorumResponseNode] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeQuorumResponseReplicaState(Struct):
    replica_id: int
    replica_directory_id: bytes
    log_end_offset: int
    last_fetch_timestamp: int
    last_caught_up_timestamp: int
    def __init__(
        self,
        *,
        replica_id: int = ...,
        replica_directory_id: bytes = ...,
        log_end_offset: int = ...,
        last_fetch_timestamp: int = ...,
        last_caught_up_timestamp: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeQuorumResponseTopicData(Struct):
    topic_name: str
    partitions: list[DescribeQuorumResponsePartitionData]
    def __init__(
        self,
        *,
        topic_name: str = ...,
        partitions: list[DescribeQuorumResponsePartitionData] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeQuorumResponsePartitionData(Struct):
    partition_index: int
    error_code: int
    error_message: str | None
    leader_id: int
    leader_epoch: int
    high_watermark: int
    current_voters: list[DescribeQuorumResponseReplicaState]
    observers: list[DescribeQuorumResponseReplicaState]
    def __init__(
        self,
        *,
        partition_index: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        leader_id: int = ...,
        leader_epoch: int = ...,
        high_watermark: int = ...,
        current_voters: list[DescribeQuorumResponseReplicaState] = ...,
        observers: list[DescribeQuorumResponseReplicaState] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeQuorumResponseNode(Struct):
    node_id: int
    listeners: list[DescribeQuorumResponseListener]
    def __init__(
        self,
        *,
        node_id: int = ...,
        listeners: list[DescribeQuorumResponseListener] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeQuorumResponseListener(Struct):
    name: str
    host: str
    port: int
    def __init__(
        self,
        *,
        name: str = ...,
        host: str = ...,
        port: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AlterPartitionRequest(Message):
    broker_id: int
    broker_epoch: int
    topics: list[AlterPartitionRequestTopicData]
    def __init__(
        self,
        *,
        broker_id: int = ...,
        broker_epoch: int = ...,
        topics: list[AlterPartitionRequestTopicData] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AlterPartitionRequestTopicData(Struct):
    topic_id: bytes
    partitions: list[AlterPartitionRequestPartitionData]
    def __init__(
        self,
        *,
        topic_id: bytes = ...,
        partitions: list[AlterPartitionRequestPartitionData] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AlterPartitionRequestPartitionData(Struct):
    partition_index: int
    leader_epoch: int
    new_isr: list[int]
    new_isr_with_epochs: list[AlterPartitionRequestBrokerState]
    leader_recovery_state: int
    partition_epoch: int
    def __init__(
        self,
        *,
        partition_index: int = ...,
        leader_epoch: int = ...,
        new_isr: list[int] = ...,
        new_isr_with_epochs: list[AlterPartitionRequestBrokerState] = ...,
        leader_recovery_state: int = ...,
        partition_epoch: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AlterPartitionRequestBrokerState(Struct):
    broker_id: int
    broker_epoch: int
    def __init__(
        self,
        *,
        broker_id: int = ...,
        broker_epoch: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AlterPartitionResponse(Message):
    throttle_time_ms: int
    error_code: int
    topics: list[AlterPartitionResponseTopicData]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        topics: list[AlterPartitionResponseTopicData] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AlterPartitionResponseTopicData(Struct):
    topic_id: bytes
    partitions: list[AlterPartitionResponsePartitionData]
    def __init__(
        self,
        *,
        topic_id: bytes = ...,
        partitions: list[AlterPartitionResponsePartitionData] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AlterPartitionResponsePartitionData(Struct):
    partition_index: int
    error_code: int
    leader_id: int
    leader_epoch: int
    isr: list[int]
    leader_recovery_state: int
    partition_epoch: int
    def __init__(
        self,
        *,
        partition_index: int = ...,
        error_code: int = ...,
        leader_id: int = ...,
        leader_epoch: int = ...,
        isr: list[int] = ...,
        leader_recovery_state: int = ...,
        partition_epoch: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class UpdateFeaturesRequest(Message):
    timeout_ms: int
    feature_updates: list[UpdateFeaturesRequestFeatureUpdateKey]
    validate_only: bool
    def __init__(
        self,
        *,
        timeout_ms: int = ...,
        feature_updates: list[UpdateFeaturesRequestFeatureUpdateKey] = ...,
        validate_only: bool = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class UpdateFeaturesRequestFeatureUpdateKey(Struct):
    feature: str
    max_version_level: int
    allow_downgrade: bool
    upgrade_type: int
    def __init__(
        self,
        *,
        feature: str = ...,
        max_version_level: int = ...,
        allow_downgrade: bool = ...,
        upgrade_type: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class UpdateFeaturesResponse(Message):
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    results: list[UpdateFeaturesResponseUpdatableFeatureResult]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        results: list[UpdateFeaturesResponseUpdatableFeatureResult] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class UpdateFeaturesResponseUpdatableFeatureResult(Struct):
    feature: str
    error_code: int
    error_message: str | None
    def __init__(
        self,
        *,
        feature: str = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class EnvelopeRequest(Message):
    request_data: _Buffer
    request_principal: _Buffer | None
    client_host_address: _Buffer
    def __init__(
        self,
        *,
        request_data: _Buffer = ...,
        request_principal: _Buffer | None = ...,
        client_host_address: _Buffer = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class EnvelopeResponse(Message):
    response_data: _Buffer | None
    error_code: int
    def __init__(
        self,
        *,
        response_data: _Buffer | None = ...,
        error_code: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class FetchSnapshotRequest(Message):
    cluster_id: str | None
    replica_id: int
    max_bytes: int
    topics: list[FetchSnapshotRequestTopicSnapshot]
    def __init__(
        self,
        *,
        cluster_id: str | None = ...,
        replica_id: int = ...,
        max_bytes: int = ...,
        topics: list[FetchSnapshotRequestTopicSnapshot] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class FetchSnapshotRequestTopicSnapshot(Struct):
    name: str
    partitions: list[FetchSnapshotRequestPartitionSnapshot]
    def __init__(
        self,
        *,
        name: str = ...,
        partitions: list[FetchSnapshotRequestPartitionSnapshot] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class FetchSnapshotRequestPartitionSnapshot(Struct):
    partition: int
    current_leader_epoch: int
    snapshot_id: FetchSnapshotRequestSnapshotId
    position: int
    replica_directory_id: bytes
    def __init__(
        self,
        *,
        partition: int = ...,
        current_leader_epoch: int = ...,
        snapshot_id: FetchSnapshotRequestSnapshotId = ...,
        position: int = ...,
        replica_directory_id: bytes = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class FetchSnapshotRequestSnapshotId(Struct):
    end_offset: int
    epoch: int
    def __init__(
        self,
        *,
        end_offset: int = ...,
        epoch: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class FetchSnapshotResponse(Message):
    throttle_time_ms: int
    error_code: int
    topics: list[FetchSnapshotResponseTopicSnapshot]
    node_endpoints: list[FetchSnapshotResponseNodeEndpoint]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        topics: list[FetchSnapshotResponseTopicSnapshot] = ...,
        node_endpoints: list[FetchSnapshotResponseNodeEndpoint] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class FetchSnapshotResponseTopicSnapshot(Struct):
    name: str
    partitions: list[FetchSnapshotResponsePartitionSnapshot]
    def __init__(
        self,
        *,
        name: str = ...,
        partitions: list[FetchSnapshotResponsePartitionSnapshot] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class FetchSnapshotResponsePartitionSnapshot(Struct):
    index: int
    error_code: int
    snapshot_id: FetchSnapshotResponseSnapshotId
    current_leader: FetchSnapshotResponseLeaderIdAndEpoch
    size: int
    position: int
    unaligned_records: _Records
    def __init__(
        self,
        *,
        index: int = ...,
        error_code: int = ...,
        snapshot_id: FetchSnapshotResponseSnapshotId = ...,
        current_leader: FetchSnapshotResponseLeaderIdAndEpoch = ...,
        size: int = ...,
        position: int = ...,
        unaligned_records: _Records = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class FetchSnapshotResponseSnapshotId(Struct):
    end_offset: int
    epoch: int
    def __init__(
        self,
        *,
        end_offset: int = ...,
        epoch: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class FetchSnapshotResponseLeaderIdAndEpoch(Struct):
    leader_id: int
    leader_epoch: int
    def __init__(
        self,
        *,
        leader_id: int = ...,
        leader_epoch: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class FetchSnapshotResponseNodeEndpoint(Struct):
    node_id: int
    host: str
    port: int
    def __init__(
        self,
        *,
        node_id: int = ...,
        host: str = ...,
        port: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeClusterRequest(Message):
    include_cluster_authorized_operations: bool
    endpoint_type: int
    include_fenced_brokers: bool
    def __init__(
        self,
        *,
        include_cluster_authorized_operations: bool = ...,
        endpoint_type: int = ...,
        include_fenced_brokers: bool = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeClusterResponse(Message):
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    endpoint_type: int
    cluster_id: str
    controller_id: int
    brokers: list[DescribeClusterResponseDescribeClusterBroker]
    cluster_authorized_operations: int
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        endpoint_type: int = ...,
        cluster_id: str = ...,
        controller_id: int = ...,
        brokers: list[DescribeClusterResponseDescribeClusterBroker] = ...,
        cluster_authorized_operations: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeClusterResponseDescribeClusterBroker(Struct):
    broker_id: int
    host: str
    port: int
    rack: str | None
    is_fenced: bool
    def __init__(
        self,
        *,
        broker_id: int = ...,
        host: str = ...,
        port: int = ...,
        rack: str | None = ...,
        is_fenced: bool = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeProducersRequest(Message):
    topics: list[DescribeProducersRequestTopicRequest]
    def __init__(
        self,
        *,
        topics: list[DescribeProducersRequestTopicRequest] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeProducersRequestTopicRequest(Struct):
    name: str
    partition_indexes: list[int]
    def __init__(
        self,
        *,
        name: str = ...,
        partition_indexes: list[int] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeProducersResponse(Message):
    throttle_time_ms: int
    topics: list[DescribeProducersResponseTopicResponse]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        topics: list[DescribeProducersResponseTopicResponse] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeProducersResponseTopicResponse(Struct):
    name: str
    partitions: list[DescribeProducersResponsePartitionResponse]
    def __init__(
        self,
        *,
        name: str = ...,
        partitions: list[DescribeProducersResponsePartitionResponse] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeProducersResponsePartitionResponse(Struct):
    partition_index: int
    error_code: int
    error_message: str | None
    active_producers: list[DescribeProducersResponseProducerState]
    def __init__(
        self,
        *,
        partition_index: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        active_producers: list[DescribeProducersResponseProducerState] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeProducersResponseProducerState(Struct):
    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp: int
    coordinator_epoch: int
    current_txn_start_offset: int
    def __init__(
        self,
        *,
        producer_id: int = ...,
        producer_epoch: int = ...,
        last_sequence: int = ...,
        last_timestamp: int = ...,
        coordinator_epoch: int = ...,
        current_txn_start_offset: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class BrokerRegistrationRequest(Message):
    broker_id: int
    cluster_id: str
    incarnation_id: bytes
    listeners: list[BrokerRegistrationRequestListener]
    features: list[BrokerRegistrationRequestFeature]
    rack: str | None
    is_migrating_zk_broker: bool
    log_dirs: list[bytes]
    previous_broker_epoch: int
    def __init__(
        self,
        *,
        broker_id: int = ...,
        cluster_id: str = ...,
        incarnation_id: bytes = ...,
        listeners: list[BrokerRegistrationRequestListener] = ...,
        features: list[BrokerRegistrationRequestFeature] = ...,
        rack: str | None = ...,
        is_migrating_zk_broker: bool = ...,
        log_dirs: list[bytes] = ...,
        previous_broker_epoch: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class BrokerRegistrationRequestListener(Struct):
    name: str
    host: str
    port: int
    security_protocol: int
    def __init__(
        self,
        *,
        name: str = ...,
        host: str = ...,
        port: int = ...,
        security_protocol: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class BrokerRegistrationRequestFeature(Struct):
    name: str
    min_supported_version: int
    max_supported_version: int
    def __init__(
        self,
        *,
        name: str = ...,
        min_supported_version: int = ...,
        max_supported_version: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class BrokerRegistrationResponse(Message):
    throttle_time_ms: int
    error_code: int
    broker_epoch: int
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        broker_epoch: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class BrokerHeartbeatRequest(Message):
    broker_id: int
    broker_epoch: int
    current_metadata_offset: int
    want_fence: bool
    want_shut_down: bool
    offline_log_dirs: list[bytes]
    cordoned_log_dirs: list[bytes] | None
    def __init__(
        self,
        *,
        broker_id: int = ...,
        broker_epoch: int = ...,
        current_metadata_offset: int = ...,
        want_fence: bool = ...,
        want_shut_down: bool = ...,
        offline_log_dirs: list[bytes] = ...,
        cordoned_log_dirs: list[bytes] | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class BrokerHeartbeatResponse(Message):
    throttle_time_ms: int
    error_code: int
    is_caught_up: bool
    is_fenced: bool
    should_shut_down: bool
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        is_caught_up: bool = ...,
        is_fenced: bool = ...,
        should_shut_down: bool = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class UnregisterBrokerRequest(Message):
    broker_id: int
    def __init__(
        self,
        *,
        broker_id: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class UnregisterBrokerResponse(Message):
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeTransactionsRequest(Message):
    transactional_ids: list[str]
    def __init__(
        self,
        *,
        transactional_ids: list[str] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeTransactionsResponse(Message):
    throttle_time_ms: int
    transaction_states: list[DescribeTransactionsResponseTransactionState]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        transaction_states: list[DescribeTransactionsResponseTransactionState] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeTransactionsResponseTransactionState(Struct):
    error_code: int
    transactional_id: str
    transaction_state: str
    transaction_timeout_ms: int
    transaction_start_time_ms: int
    producer_id: int
    producer_epoch: int
    topics: list[DescribeTransactionsResponseTopicData]
    def __init__(
        self,
        *,
        error_code: int = ...,
        transactional_id: str = ...,
        transaction_state: str = ...,
        transaction_timeout_ms: int = ...,
        transaction_start_time_ms: int = ...,
        producer_id: int = ...,
        producer_epoch: int = ...,
        topics: list[DescribeTransactionsResponseTopicData] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeTransactionsResponseTopicData(Struct):
    topic: str
    partitions: list[int]
    def __init__(
        self,
        *,
        topic: str = ...,
        partitions: list[int] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ListTransactionsRequest(Message):
    state_filters: list[str]
    producer_id_filters: list[int]
    duration_filter: int
    transactional_id_pattern: str | None
    def __init__(
        self,
        *,
        state_filters: list[str] = ...,
        producer_id_filters: list[int] = ...,
        duration_filter: int = ...,
        transactional_id_pattern: str | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ListTransactionsResponse(Message):
    throttle_time_ms: int
    error_code: int
    unknown_state_filters: list[str]
    transaction_states: list[ListTransactionsResponseTransactionState]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        unknown_state_filters: list[str] = ...,
        transaction_states: list[ListTransactionsResponseTransactionState] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ListTransactionsResponseTransactionState(Struct):
    transactional_id: str
    producer_id: int
    transaction_state: str
    def __init__(
        self,
        *,
        transactional_id: str = ...,
        producer_id: int = ...,
        transaction_state: str = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AllocateProducerIdsRequest(Message):
    broker_id: int
    broker_epoch: int
    def __init__(
        self,
        *,
        broker_id: int = ...,
        broker_epoch: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AllocateProducerIdsResponse(Message):
    throttle_time_ms: int
    error_code: int
    producer_id_start: int
    producer_id_len: int
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        producer_id_start: int = ...,
        producer_id_len: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ConsumerGroupHeartbeatRequest(Message):
    group_id: str
    member_id: str
    member_epoch: int
    instance_id: str | None
    rack_id: str | None
    rebalance_timeout_ms: int
    subscribed_topic_names: list[str] | None
    subscribed_topic_regex: str | None
    server_assignor: str | None
    topic_partitions: list[ConsumerGroupHeartbeatRequestTopicPartitions] | None
    def __init__(
        self,
        *,
        group_id: str = ...,
        member_id: str = ...,
        member_epoch: int = ...,
        instance_id: str | None = ...,
        rack_id: str | None = ...,
        rebalance_timeout_ms: int = ...,
        subscribed_topic_names: list[str] | None = ...,
        subscribed_topic_regex: str | None = ...,
        server_assignor: str | None = ...,
        topic_partitions: list[ConsumerGroupHeartbeatRequestTopicPartitions] | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ConsumerGroupHeartbeatRequestTopicPartitions(Struct):
    topic_id: bytes
    partitions: list[int]
    def __init__(
        self,
        *,
        topic_id: bytes = ...,
        partitions: list[int] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ConsumerGroupHeartbeatResponse(Message):
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    member_id: str | None
    member_epoch: int
    heartbeat_interval_ms: int
    assignment: ConsumerGroupHeartbeatResponseAssignment | None
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        member_id: str | None = ...,
        member_epoch: int = ...,
        heartbeat_interval_ms: int = ...,
        assignment: ConsumerGroupHeartbeatResponseAssignment | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ConsumerGroupHeartbeatResponseTopicPartitions(Struct):
    topic_id: bytes
    partitions: list[int]
    def __init__(
        self,
        *,
        topic_id: bytes = ...,
        partitions: list[int] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ConsumerGroupHeartbeatResponseAssignment(Struct):
    topic_partitions: list[ConsumerGroupHeartbeatResponseTopicPartitions]
    def __init__(
        self,
        *,
        topic_partitions: list[ConsumerGroupHeartbeatResponseTopicPartitions] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ConsumerGroupDescribeRequest(Message):
    group_ids: list[str]
    include_authorized_operations: bool
    def __init__(
        self,
        *,
        group_ids: list[str] = ...,
        include_authorized_operations: bool = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ConsumerGroupDescribeResponse(Message):
    throttle_time_ms: int
    groups: list[ConsumerGroupDescribeResponseDescribedGroup]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        groups: list[ConsumerGroupDescribeResponseDescribedGroup] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ConsumerGroupDescribeResponseTopicPartitions(Struct):
    topic_id: bytes
    topic_name: str
    partitions: list[int]
    def __init__(
        self,
        *,
        topic_id: bytes = ...,
        topic_name: str = ...,
        partitions: list[int] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ConsumerGroupDescribeResponseAssignment(Struct):
    topic_partitions: list[ConsumerGroupDescribeResponseTopicPartitions]
    def __init__(
        self,
        *,
        topic_partitions: list[ConsumerGroupDescribeResponseTopicPartitions] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ConsumerGroupDescribeResponseDescribedGroup(Struct):
    error_code: int
    error_message: str | None
    group_id: str
    group_state: str
    group_epoch: int
    assignment_epoch: int
    assignor_name: str
    members: list[ConsumerGroupDescribeResponseMember]
    authorized_operations: int
    def __init__(
        self,
        *,
        error_code: int = ...,
        error_message: str | None = ...,
        group_id: str = ...,
        group_state: str = ...,
        group_epoch: int = ...,
        assignment_epoch: int = ...,
        assignor_name: str = ...,
        members: list[ConsumerGroupDescribeResponseMember] = ...,
        authorized_operations: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ConsumerGroupDescribeResponseMember(Struct):
    member_id: str
    instance_id: str | None
    rack_id: str | None
    member_epoch: int
    client_id: str
    client_host: str
    subscribed_topic_names: list[str]
    subscribed_topic_regex: str | None
    assignment: ConsumerGroupDescribeResponseAssignment
    target_assignment: ConsumerGroupDescribeResponseAssignment
    member_type: int
    def __init__(
        self,
        *,
        member_id: str = ...,
        instance_id: str | None = ...,
        rack_id: str | None = ...,
        member_epoch: int = ...,
        client_id: str = ...,
        client_host: str = ...,
        subscribed_topic_names: list[str] = ...,
        subscribed_topic_regex: str | None = ...,
        assignment: ConsumerGroupDescribeResponseAssignment = ...,
        target_assignment: ConsumerGroupDescribeResponseAssignment = ...,
        member_type: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ControllerRegistrationRequest(Message):
    controller_id: int
    incarnation_id: bytes
    zk_migration_ready: bool
    listeners: list[ControllerRegistrationRequestListener]
    features: list[ControllerRegistrationRequestFeature]
    def __init__(
        self,
        *,
        controller_id: int = ...,
        incarnation_id: bytes = ...,
        zk_migration_ready: bool = ...,
        listeners: list[ControllerRegistrationRequestListener] = ...,
        features: list[ControllerRegistrationRequestFeature] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ControllerRegistrationRequestListener(Struct):
    name: str
    host: str
    port: int
    security_protocol: int
    def __init__(
        self,
        *,
        name: str = ...,
        host: str = ...,
        port: int = ...,
        security_protocol: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ControllerRegistrationRequestFeature(Struct):
    name: str
    min_supported_version: int
    max_supported_version: int
    def __init__(
        self,
        *,
        name: str = ...,
        min_supported_version: int = ...,
        max_supported_version: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ControllerRegistrationResponse(Message):
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class GetTelemetrySubscriptionsRequest(Message):
    client_instance_id: bytes
    def __init__(
        self,
        *,
        client_instance_id: bytes = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class GetTelemetrySubscriptionsResponse(Message):
    throttle_time_ms: int
    error_code: int
    client_instance_id: bytes
    subscription_id: int
    accepted_compression_types: list[int]
    push_interval_ms: int
    telemetry_max_bytes: int
    delta_temporality: bool
    requested_metrics: list[str]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        client_instance_id: bytes = ...,
        subscription_id: int = ...,
        accepted_compression_types: list[int] = ...,
        push_interval_ms: int = ...,
        telemetry_max_bytes: int = ...,
        delta_temporality: bool = ...,
        requested_metrics: list[str] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class PushTelemetryRequest(Message):
    client_instance_id: bytes
    subscription_id: int
    terminating: bool
    compression_type: int
    metrics: _Buffer
    def __init__(
        self,
        *,
        client_instance_id: bytes = ...,
        subscription_id: int = ...,
        terminating: bool = ...,
        compression_type: int = ...,
        metrics: _Buffer = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class PushTelemetryResponse(Message):
    throttle_time_ms: int
    error_code: int
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AssignReplicasToDirsRequest(Message):
    broker_id: int
    broker_epoch: int
    directories: list[AssignReplicasToDirsRequestDirectoryData]
    def __init__(
        self,
        *,
        broker_id: int = ...,
        broker_epoch: int = ...,
        directories: list[AssignReplicasToDirsRequestDirectoryData] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AssignReplicasToDirsRequestDirectoryData(Struct):
    id: bytes
    topics: list[AssignReplicasToDirsRequestTopicData]
    def __init__(
        self,
        *,
        id: bytes = ...,
        topics: list[AssignReplicasToDirsRequestTopicData] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AssignReplicasToDirsRequestTopicData(Struct):
    topic_id: bytes
    partitions: list[AssignReplicasToDirsRequestPartitionData]
    def __init__(
        self,
        *,
        topic_id: bytes = ...,
        partitions: list[AssignReplicasToDirsRequestPartitionData] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AssignReplicasToDirsRequestPartitionData(Struct):
    partition_index: int
    def __init__(
        self,
        *,
        partition_index: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AssignReplicasToDirsResponse(Message):
    throttle_time_ms: int
    error_code: int
    directories: list[AssignReplicasToDirsResponseDirectoryData]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        directories: list[AssignReplicasToDirsResponseDirectoryData] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AssignReplicasToDirsResponseDirectoryData(Struct):
    id: bytes
    topics: list[AssignReplicasToDirsResponseTopicData]
    def __init__(
        self,
        *,
        id: bytes = ...,
        topics: list[AssignReplicasToDirsResponseTopicData] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AssignReplicasToDirsResponseTopicData(Struct):
    topic_id: bytes
    partitions: list[AssignReplicasToDirsResponsePartitionData]
    def __init__(
        self,
        *,
        topic_id: bytes = ...,
        partitions: list[AssignReplicasToDirsResponsePartitionData] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AssignReplicasToDirsResponsePartitionData(Struct):
    partition_index: int
    error_code: int
    def __init__(
        self,
        *,
        partition_index: int = ...,
        error_code: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ListConfigResourcesRequest(Message):
    resource_types: list[int]
    def __init__(
        self,
        *,
        resource_types: list[int] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ListConfigResourcesResponse(Message):
    throttle_time_ms: int
    error_code: int
    config_resources: list[ListConfigResourcesResponseConfigResource]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        config_resources: list[ListConfigResourcesResponseConfigResource] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ListConfigResourcesResponseConfigResource(Struct):
    resource_name: str
    resource_type: int
    def __init__(
        self,
        *,
        resource_name: str = ...,
        resource_type: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeTopicPartitionsRequest(Message):
    topics: list[DescribeTopicPartitionsRequestTopicRequest]
    response_partition_limit: int
    cursor: DescribeTopicPartitionsRequestCursor | None
    def __init__(
        self,
        *,
        topics: list[DescribeTopicPartitionsRequestTopicRequest] = ...,
        response_partition_limit: int = ...,
        cursor: DescribeTopicPartitionsRequestCursor | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeTopicPartitionsRequestTopicRequest(Struct):
    name: str
    def __init__(
        self,
        *,
        name: str = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeTopicPartitionsRequestCursor(Struct):
    topic_name: str
    partition_index: int
    def __init__(
        self,
        *,
        topic_name: str = ...,
        partition_index: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeTopicPartitionsResponse(Message):
    throttle_time_ms: int
    topics: list[DescribeTopicPartitionsResponseDescribeTopicPartitionsResponseTopic]
    next_cursor: DescribeTopicPartitionsResponseCursor | None
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        topics: list[DescribeTopicPartitionsResponseDescribeTopicPartitionsResponseTopic] = ...,
        next_cursor: DescribeTopicPartitionsResponseCursor | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeTopicPartitionsResponseDescribeTopicPartitionsResponseTopic(Struct):
    error_code: int
    name: str | None
    topic_id: bytes
    is_internal: bool
    partitions: list[DescribeTopicPartitionsResponseDescribeTopicPartitionsResponsePartition]
    topic_authorized_operations: int
    def __init__(
        self,
        *,
        error_code: int = ...,
        name: str | None = ...,
        topic_id: bytes = ...,
        is_internal: bool = ...,
        partitions: list[DescribeTopicPartitionsResponseDescribeTopicPartitionsResponsePartition] = ...,
        topic_authorized_operations: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeTopicPartitionsResponseDescribeTopicPartitionsResponsePartition(Struct):
    error_code: int
    partition_index: int
    leader_id: int
    leader_epoch: int
    replica_nodes: list[int]
    isr_nodes: list[int]
    eligible_leader_replicas: list[int] | None
    last_known_elr: list[int] | None
    offline_replicas: list[int]
    def __init__(
        self,
        *,
        error_code: int = ...,
        partition_index: int = ...,
        leader_id: int = ...,
        leader_epoch: int = ...,
        replica_nodes: list[int] = ...,
        isr_nodes: list[int] = ...,
        eligible_leader_replicas: list[int] | None = ...,
        last_known_elr: list[int] | None = ...,
        offline_replicas: list[int] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeTopicPartitionsResponseCursor(Struct):
    topic_name: str
    partition_index: int
    def __init__(
        self,
        *,
        topic_name: str = ...,
        partition_index: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ShareGroupHeartbeatRequest(Message):
    group_id: str
    member_id: str
    member_epoch: int
    rack_id: str | None
    subscribed_topic_names: list[str] | None
    def __init__(
        self,
        *,
        group_id: str = ...,
        member_id: str = ...,
        member_epoch: int = ...,
        rack_id: str | None = ...,
        subscribed_topic_names: list[str] | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ShareGroupHeartbeatResponse(Message):
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    member_id: str | None
    member_epoch: int
    heartbeat_interval_ms: int
    assignment: ShareGroupHeartbeatResponseAssignment | None
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        member_id: str | None = ...,
        member_epoch: int = ...,
        heartbeat_interval_ms: int = ...,
        assignment: ShareGroupHeartbeatResponseAssignment | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ShareGroupHeartbeatResponseTopicPartitions(Struct):
    topic_id: bytes
    partitions: list[int]
    def __init__(
        self,
        *,
        topic_id: bytes = ...,
        partitions: list[int] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ShareGroupHeartbeatResponseAssignment(Struct):
    topic_partitions: list[ShareGroupHeartbeatResponseTopicPartitions]
    def __init__(
        self,
        *,
        topic_partitions: list[ShareGroupHeartbeatResponseTopicPartitions] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ShareGroupDescribeRequest(Message):
    group_ids: list[str]
    include_authorized_operations: bool
    def __init__(
        self,
        *,
        group_ids: list[str] = ...,
        include_authorized_operations: bool = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ShareGroupDescribeResponse(Message):
    throttle_time_ms: int
    groups: list[ShareGroupDescribeResponseDescribedGroup]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        groups: list[ShareGroupDescribeResponseDescribedGroup] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ShareGroupDescribeResponseTopicPartitions(Struct):
    topic_id: bytes
    topic_name: str
    partitions: list[int]
    def __init__(
        self,
        *,
        topic_id: bytes = ...,
        topic_name: str = ...,
        partitions: list[int] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ShareGroupDescribeResponseAssignment(Struct):
    topic_partitions: list[ShareGroupDescribeResponseTopicPartitions]
    def __init__(
        self,
        *,
        topic_partitions: list[ShareGroupDescribeResponseTopicPartitions] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ShareGroupDescribeResponseDescribedGroup(Struct):
    error_code: int
    error_message: str | None
    group_id: str
    group_state: str
    group_epoch: int
    assignment_epoch: int
    assignor_name: str
    members: list[ShareGroupDescribeResponseMember]
    authorized_operations: int
    def __init__(
        self,
        *,
        error_code: int = ...,
        error_message: str | None = ...,
        group_id: str = ...,
        group_state: str = ...,
        group_epoch: int = ...,
        assignment_epoch: int = ...,
        assignor_name: str = ...,
        members: list[ShareGroupDescribeResponseMember] = ...,
        authorized_operations: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ShareGroupDescribeResponseMember(Struct):
    member_id: str
    rack_id: str | None
    member_epoch: int
    client_id: str
    client_host: str
    subscribed_topic_names: list[str]
    assignment: ShareGroupDescribeResponseAssignment
    def __init__(
        self,
        *,
        member_id: str = ...,
        rack_id: str | None = ...,
        member_epoch: int = ...,
        client_id: str = ...,
        client_host: str = ...,
        subscribed_topic_names: list[str] = ...,
        assignment: ShareGroupDescribeResponseAssignment = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ShareFetchRequest(Message):
    group_id: str | None
    member_id: str | None
    share_session_epoch: int
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    max_records: int
    batch_size: int
    share_acquire_mode: int
    is_renew_ack: bool
    topics: list[ShareFetchRequestFetchTopic]
    forgotten_topics_data: list[ShareFetchRequestForgottenTopic]
    def __init__(
        self,
        *,
        group_id: str | None = ...,
        member_id: str | None = ...,
        share_session_epoch: int = ...,
        max_wait_ms: int = ...,
        min_bytes: int = ...,
        max_bytes: int = ...,
        max_records: int = ...,
        batch_size: int = ...,
        share_acquire_mode: int = ...,
        is_renew_ack: bool = ...,
        topics: list[ShareFetchRequestFetchTopic] = ...,
        forgotten_topics_data: list[ShareFetchRequestForgottenTopic] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ShareFetchRequestFetchTopic(Struct):
    topic_id: bytes
    partitions: list[ShareFetchRequestFetchPartition]
    def __init__(
        self,
        *,
        topic_id: bytes = ...,
        partitions: list[ShareFetchRequestFetchPartition] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ShareFetchRequestFetchPartition(Struct):
    partition_index: int
    partition_max_bytes: int
    acknowledgement_batches: list[ShareFetchRequestAcknowledgementBatch]
    def __init__(
        self,
        *,
        partition_index: int = ...,
        partition_max_bytes: int = ...,
        acknowledgement_batches: list[ShareFetchRequestAcknowledgementBatch] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ShareFetchRequestAcknowledgementBatch(Struct):
    first_offset: int
    last_offset: int
    acknowledge_types: list[int]
    def __init__(
        self,
        *,
        first_offset: int = ...,
        last_offset: int = ...,
        acknowledge_types: list[int] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ShareFetchRequestForgottenTopic(Struct):
    topic_id: bytes
    partitions: list[int]
    def __init__(
        self,
        *,
        topic_id: bytes = ...,
        partitions: list[int] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ShareFetchResponse(Message):
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    acquisition_lock_timeout_ms: int
    responses: list[ShareFetchResponseShareFetchableTopicResponse]
    node_endpoints: list[ShareFetchResponseNodeEndpoint]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        acquisition_lock_timeout_ms: int = ...,
        responses: list[ShareFetchResponseShareFetchableTopicResponse] = ...,
        node_endpoints: list[ShareFetchResponseNodeEndpoint] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ShareFetchResponseShareFetchableTopicResponse(Struct):
    topic_id: bytes
    partitions: list[ShareFetchResponsePartitionData]
    def __init__(
        self,
        *,
        topic_id: bytes = ...,
        partitions: list[ShareFetchResponsePartitionData] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ShareFetchResponsePartitionData(Struct):
    partition_index: int
    error_code: int
    error_message: str | None
    acknowledge_error_code: int
    acknowledge_error_message: str | None
    current_leader: ShareFetchResponseLeaderIdAndEpoch
    records: _Records | None
    acquired_records: list[ShareFetchResponseAcquiredRecords]
    def __init__(
        self,
        *,
        partition_index: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        acknowledge_error_code: int = ...,
        acknowledge_error_message: str | None = ...,
        current_leader: ShareFetchResponseLeaderIdAndEpoch = ...,
        records: _Records | None = ...,
        acquired_records: list[ShareFetchResponseAcquiredRecords] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ShareFetchResponseLeaderIdAndEpoch(Struct):
    leader_id: int
    leader_epoch: int
    def __init__(
        self,
        *,
        leader_id: int = ...,
        leader_epoch: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ShareFetchResponseAcquiredRecords(Struct):
    first_offset: int
    last_offset: int
    delivery_count: int
    def __init__(
        self,
        *,
        first_offset: int = ...,
        last_offset: int = ...,
        delivery_count: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ShareFetchResponseNodeEndpoint(Struct):
    node_id: int
    host: str
    port: int
    rack: str | None
    def __init__(
        self,
        *,
        node_id: int = ...,
        host: str = ...,
        port: int = ...,
        rack: str | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ShareAcknowledgeRequest(Message):
    group_id: str | None
    member_id: str | None
    share_session_epoch: int
    is_renew_ack: bool
    topics: list[ShareAcknowledgeRequestAcknowledgeTopic]
    def __init__(
        self,
        *,
        group_id: str | None = ...,
        member_id: str | None = ...,
        share_session_epoch: int = ...,
        is_renew_ack: bool = ...,
        topics: list[ShareAcknowledgeRequestAcknowledgeTopic] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ShareAcknowledgeRequestAcknowledgeTopic(Struct):
    topic_id: bytes
    partitions: list[ShareAcknowledgeRequestAcknowledgePartition]
    def __init__(
        self,
        *,
        topic_id: bytes = ...,
        partitions: list[ShareAcknowledgeRequestAcknowledgePartition] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ShareAcknowledgeRequestAcknowledgePartition(Struct):
    partition_index: int
    acknowledgement_batches: list[ShareAcknowledgeRequestAcknowledgementBatch]
    def __init__(
        self,
        *,
        partition_index: int = ...,
        acknowledgement_batches: list[ShareAcknowledgeRequestAcknowledgementBatch] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ShareAcknowledgeRequestAcknowledgementBatch(Struct):
    first_offset: int
    last_offset: int
    acknowledge_types: list[int]
    def __init__(
        self,
        *,
        first_offset: int = ...,
        last_offset: int = ...,
        acknowledge_types: list[int] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ShareAcknowledgeResponse(Message):
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    acquisition_lock_timeout_ms: int
    responses: list[ShareAcknowledgeResponseShareAcknowledgeTopicResponse]
    node_endpoints: list[ShareAcknowledgeResponseNodeEndpoint]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        acquisition_lock_timeout_ms: int = ...,
        responses: list[ShareAcknowledgeResponseShareAcknowledgeTopicResponse] = ...,
        node_endpoints: list[ShareAcknowledgeResponseNodeEndpoint] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ShareAcknowledgeResponseShareAcknowledgeTopicResponse(Struct):
    topic_id: bytes
    partitions: list[ShareAcknowledgeResponsePartitionData]
    def __init__(
        self,
        *,
        topic_id: bytes = ...,
        partitions: list[ShareAcknowledgeResponsePartitionData] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ShareAcknowledgeResponsePartitionData(Struct):
    partition_index: int
    error_code: int
    error_message: str | None
    current_leader: ShareAcknowledgeResponseLeaderIdAndEpoch
    def __init__(
        self,
        *,
        partition_index: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        current_leader: ShareAcknowledgeResponseLeaderIdAndEpoch = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ShareAcknowledgeResponseLeaderIdAndEpoch(Struct):
    leader_id: int
    leader_epoch: int
    def __init__(
        self,
        *,
        leader_id: int = ...,
        leader_epoch: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ShareAcknowledgeResponseNodeEndpoint(Struct):
    node_id: int
    host: str
    port: int
    rack: str | None
    def __init__(
        self,
        *,
        node_id: int = ...,
        host: str = ...,
        port: int = ...,
        rack: str | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AddRaftVoterRequest(Message):
    cluster_id: str | None
    timeout_ms: int
    voter_id: int
    voter_directory_id: bytes
    listeners: list[AddRaftVoterRequestListener]
    ack_when_committed: bool
    def __init__(
        self,
        *,
        cluster_id: str | None = ...,
        timeout_ms: int = ...,
        voter_id: int = ...,
        voter_directory_id: bytes = ...,
        listeners: list[AddRaftVoterRequestListener] = ...,
        ack_when_committed: bool = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AddRaftVoterRequestListener(Struct):
    name: str
    host: str
    port: int
    def __init__(
        self,
        *,
        name: str = ...,
        host: str = ...,
        port: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AddRaftVoterResponse(Message):
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class RemoveRaftVoterRequest(Message):
    cluster_id: str | None
    voter_id: int
    voter_directory_id: bytes
    def __init__(
        self,
        *,
        cluster_id: str | None = ...,
        voter_id: int = ...,
        voter_directory_id: bytes = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class RemoveRaftVoterResponse(Message):
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class UpdateRaftVoterRequest(Message):
    cluster_id: str | None
    current_leader_epoch: int
    voter_id: int
    voter_directory_id: bytes
    listeners: list[UpdateRaftVoterRequestListener]
    kraft_version_feature: UpdateRaftVoterRequestKRaftVersionFeature
    def __init__(
        self,
        *,
        cluster_id: str | None = ...,
        current_leader_epoch: int = ...,
        voter_id: int = ...,
        voter_directory_id: bytes = ...,
        listeners: list[UpdateRaftVoterRequestListener] = ...,
        kraft_version_feature: UpdateRaftVoterRequestKRaftVersionFeature = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class UpdateRaftVoterRequestListener(Struct):
    name: str
    host: str
    port: int
    def __init__(
        self,
        *,
        name: str = ...,
        host: str = ...,
        port: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class UpdateRaftVoterRequestKRaftVersionFeature(Struct):
    min_supported_version: int
    max_supported_version: int
    def __init__(
        self,
        *,
        min_supported_version: int = ...,
        max_supported_version: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class UpdateRaftVoterResponse(Message):
    throttle_time_ms: int
    error_code: int
    current_leader: UpdateRaftVoterResponseCurrentLeader
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        current_leader: UpdateRaftVoterResponseCurrentLeader = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class UpdateRaftVoterResponseCurrentLeader(Struct):
    leader_id: int
    leader_epoch: int
    host: str
    port: int
    def __init__(
        self,
        *,
        leader_id: int = ...,
        leader_epoch: int = ...,
        host: str = ...,
        port: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class InitializeShareGroupStateRequest(Message):
    group_id: str
    topics: list[InitializeShareGroupStateRequestInitializeStateData]
    def __init__(
        self,
        *,
        group_id: str = ...,
        topics: list[InitializeShareGroupStateRequestInitializeStateData] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class InitializeShareGroupStateRequestInitializeStateData(Struct):
    topic_id: bytes
    partitions: list[InitializeShareGroupStateRequestPartitionData]
    def __init__(
        self,
        *,
        topic_id: bytes = ...,
        partitions: list[InitializeShareGroupStateRequestPartitionData] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class InitializeShareGroupStateRequestPartitionData(Struct):
    partition: int
    state_epoch: int
    start_offset: int
    def __init__(
        self,
        *,
        partition: int = ...,
        state_epoch: int = ...,
        start_offset: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class InitializeShareGroupStateResponse(Message):
    results: list[InitializeShareGroupStateResponseInitializeStateResult]
    def __init__(
        self,
        *,
        results: list[InitializeShareGroupStateResponseInitializeStateResult] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class InitializeShareGroupStateResponseInitializeStateResult(Struct):
    topic_id: bytes
    partitions: list[InitializeShareGroupStateResponsePartitionResult]
    def __init__(
        self,
        *,
        topic_id: bytes = ...,
        partitions: list[InitializeShareGroupStateResponsePartitionResult] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class InitializeShareGroupStateResponsePartitionResult(Struct):
    partition: int
    error_code: int
    error_message: str | None
    def __init__(
        self,
        *,
        partition: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ReadShareGroupStateRequest(Message):
    group_id: str
    topics: list[ReadShareGroupStateRequestReadStateData]
    def __init__(
        self,
        *,
        group_id: str = ...,
        topics: list[ReadShareGroupStateRequestReadStateData] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ReadShareGroupStateRequestReadStateData(Struct):
    topic_id: bytes
    partitions: list[ReadShareGroupStateRequestPartitionData]
    def __init__(
        self,
        *,
        topic_id: bytes = ...,
        partitions: list[ReadShareGroupStateRequestPartitionData] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ReadShareGroupStateRequestPartitionData(Struct):
    partition: int
    leader_epoch: int
    def __init__(
        self,
        *,
        partition: int = ...,
        leader_epoch: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ReadShareGroupStateResponse(Message):
    results: list[ReadShareGroupStateResponseReadStateResult]
    def __init__(
        self,
        *,
        results: list[ReadShareGroupStateResponseReadStateResult] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ReadShareGroupStateResponseReadStateResult(Struct):
    topic_id: bytes
    partitions: list[ReadShareGroupStateResponsePartitionResult]
    def __init__(
        self,
        *,
        topic_id: bytes = ...,
        partitions: list[ReadShareGroupStateResponsePartitionResult] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ReadShareGroupStateResponsePartitionResult(Struct):
    partition: int
    error_code: int
    error_message: str | None
    state_epoch: int
    start_offset: int
    state_batches: list[ReadShareGroupStateResponseStateBatch]
    def __init__(
        self,
        *,
        partition: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        state_epoch: int = ...,
        start_offset: int = ...,
        state_batches: list[ReadShareGroupStateResponseStateBatch] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ReadShareGroupStateResponseStateBatch(Struct):
    first_offset: int
    last_offset: int
    delivery_state: int
    delivery_count: int
    def __init__(
        self,
        *,
        first_offset: int = ...,
        last_offset: int = ...,
        delivery_state: int = ...,
        delivery_count: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class WriteShareGroupStateRequest(Message):
    group_id: str
    topics: list[WriteShareGroupStateRequestWriteStateData]
    def __init__(
        self,
        *,
        group_id: str = ...,
        topics: list[WriteShareGroupStateRequestWriteStateData] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class WriteShareGroupStateRequestWriteStateData(Struct):
    topic_id: bytes
    partitions: list[WriteShareGroupStateRequestPartitionData]
    def __init__(
        self,
        *,
        topic_id: bytes = ...,
        partitions: list[WriteShareGroupStateRequestPartitionData] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class WriteShareGroupStateRequestPartitionData(Struct):
    partition: int
    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    state_batches: list[WriteShareGroupStateRequestStateBatch]
    def __init__(
        self,
        *,
        partition: int = ...,
        state_epoch: int = ...,
        leader_epoch: int = ...,
        start_offset: int = ...,
        delivery_complete_count: int = ...,
        state_batches: list[WriteShareGroupStateRequestStateBatch] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class WriteShareGroupStateRequestStateBatch(Struct):
    first_offset: int
    last_offset: int
    delivery_state: int
    delivery_count: int
    def __init__(
        self,
        *,
        first_offset: int = ...,
        last_offset: int = ...,
        delivery_state: int = ...,
        delivery_count: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class WriteShareGroupStateResponse(Message):
    results: list[WriteShareGroupStateResponseWriteStateResult]
    def __init__(
        self,
        *,
        results: list[WriteShareGroupStateResponseWriteStateResult] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class WriteShareGroupStateResponseWriteStateResult(Struct):
    topic_id: bytes
    partitions: list[WriteShareGroupStateResponsePartitionResult]
    def __init__(
        self,
        *,
        topic_id: bytes = ...,
        partitions: list[WriteShareGroupStateResponsePartitionResult] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class WriteShareGroupStateResponsePartitionResult(Struct):
    partition: int
    error_code: int
    error_message: str | None
    def __init__(
        self,
        *,
        partition: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DeleteShareGroupStateRequest(Message):
    group_id: str
    topics: list[DeleteShareGroupStateRequestDeleteStateData]
    def __init__(
        self,
        *,
        group_id: str = ...,
        topics: list[DeleteShareGroupStateRequestDeleteStateData] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DeleteShareGroupStateRequestDeleteStateData(Struct):
    topic_id: bytes
    partitions: list[DeleteShareGroupStateRequestPartitionData]
    def __init__(
        self,
        *,
        topic_id: bytes = ...,
        partitions: list[DeleteShareGroupStateRequestPartitionData] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DeleteShareGroupStateRequestPartitionData(Struct):
    partition: int
    def __init__(
        self,
        *,
        partition: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DeleteShareGroupStateResponse(Message):
    results: list[DeleteShareGroupStateResponseDeleteStateResult]
    def __init__(
        self,
        *,
        results: list[DeleteShareGroupStateResponseDeleteStateResult] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DeleteShareGroupStateResponseDeleteStateResult(Struct):
    topic_id: bytes
    partitions: list[DeleteShareGroupStateResponsePartitionResult]
    def __init__(
        self,
        *,
        topic_id: bytes = ...,
        partitions: list[DeleteShareGroupStateResponsePartitionResult] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DeleteShareGroupStateResponsePartitionResult(Struct):
    partition: int
    error_code: int
    error_message: str | None
    def __init__(
        self,
        *,
        partition: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ReadShareGroupStateSummaryRequest(Message):
    group_id: str
    topics: list[ReadShareGroupStateSummaryRequestReadStateSummaryData]
    def __init__(
        self,
        *,
        group_id: str = ...,
        topics: list[ReadShareGroupStateSummaryRequestReadStateSummaryData] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ReadShareGroupStateSummaryRequestReadStateSummaryData(Struct):
    topic_id: bytes
    partitions: list[ReadShareGroupStateSummaryRequestPartitionData]
    def __init__(
        self,
        *,
        topic_id: bytes = ...,
        partitions: list[ReadShareGroupStateSummaryRequestPartitionData] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ReadShareGroupStateSummaryRequestPartitionData(Struct):
    partition: int
    leader_epoch: int
    def __init__(
        self,
        *,
        partition: int = ...,
        leader_epoch: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ReadShareGroupStateSummaryResponse(Message):
    results: list[ReadShareGroupStateSummaryResponseReadStateSummaryResult]
    def __init__(
        self,
        *,
        results: list[ReadShareGroupStateSummaryResponseReadStateSummaryResult] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ReadShareGroupStateSummaryResponseReadStateSummaryResult(Struct):
    topic_id: bytes
    partitions: list[ReadShareGroupStateSummaryResponsePartitionResult]
    def __init__(
        self,
        *,
        topic_id: bytes = ...,
        partitions: list[ReadShareGroupStateSummaryResponsePartitionResult] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ReadShareGroupStateSummaryResponsePartitionResult(Struct):
    partition: int
    error_code: int
    error_message: str | None
    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    def __init__(
        self,
        *,
        partition: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        state_epoch: int = ...,
        leader_epoch: int = ...,
        start_offset: int = ...,
        delivery_complete_count: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupHeartbeatRequest(Message):
    group_id: str
    member_id: str
    member_epoch: int
    endpoint_information_epoch: int
    instance_id: str | None
    rack_id: str | None
    rebalance_timeout_ms: int
    topology: StreamsGroupHeartbeatRequestTopology | None
    active_tasks: list[StreamsGroupHeartbeatRequestTaskIds] | None
    standby_tasks: list[StreamsGroupHeartbeatRequestTaskIds] | None
    warmup_tasks: list[StreamsGroupHeartbeatRequestTaskIds] | None
    process_id: str | None
    user_endpoint: StreamsGroupHeartbeatRequestEndpoint | None
    client_tags: list[StreamsGroupHeartbeatRequestKeyValue] | None
    task_offsets: list[StreamsGroupHeartbeatRequestTaskOffset] | None
    task_end_offsets: list[StreamsGroupHeartbeatRequestTaskOffset] | None
    shutdown_application: bool
    def __init__(
        self,
        *,
        group_id: str = ...,
        member_id: str = ...,
        member_epoch: int = ...,
        endpoint_information_epoch: int = ...,
        instance_id: str | None = ...,
        rack_id: str | None = ...,
        rebalance_timeout_ms: int = ...,
        topology: StreamsGroupHeartbeatRequestTopology | None = ...,
        active_tasks: list[StreamsGroupHeartbeatRequestTaskIds] | None = ...,
        standby_tasks: list[StreamsGroupHeartbeatRequestTaskIds] | None = ...,
        warmup_tasks: list[StreamsGroupHeartbeatRequestTaskIds] | None = ...,
        process_id: str | None = ...,
        user_endpoint: StreamsGroupHeartbeatRequestEndpoint | None = ...,
        client_tags: list[StreamsGroupHeartbeatRequestKeyValue] | None = ...,
        task_offsets: list[StreamsGroupHeartbeatRequestTaskOffset] | None = ...,
        task_end_offsets: list[StreamsGroupHeartbeatRequestTaskOffset] | None = ...,
        shutdown_application: bool = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupHeartbeatRequestKeyValue(Struct):
    key: str
    value: str
    def __init__(
        self,
        *,
        key: str = ...,
        value: str = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupHeartbeatRequestTopicInfo(Struct):
    name: str
    partitions: int
    replication_factor: int
    topic_configs: list[StreamsGroupHeartbeatRequestKeyValue]
    def __init__(
        self,
        *,
        name: str = ...,
        partitions: int = ...,
        replication_factor: int = ...,
        topic_configs: list[StreamsGroupHeartbeatRequestKeyValue] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupHeartbeatRequestEndpoint(Struct):
    host: str
    port: int
    def __init__(
        self,
        *,
        host: str = ...,
        port: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupHeartbeatRequestTaskOffset(Struct):
    subtopology_id: str
    partition: int
    offset: int
    def __init__(
        self,
        *,
        subtopology_id: str = ...,
        partition: int = ...,
        offset: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupHeartbeatRequestTaskIds(Struct):
    subtopology_id: str
    partitions: list[int]
    def __init__(
        self,
        *,
        subtopology_id: str = ...,
        partitions: list[int] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupHeartbeatRequestTopology(Struct):
    epoch: int
    subtopologies: list[StreamsGroupHeartbeatRequestSubtopology]
    def __init__(
        self,
        *,
        epoch: int = ...,
        subtopologies: list[StreamsGroupHeartbeatRequestSubtopology] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupHeartbeatRequestSubtopology(Struct):
    subtopology_id: str
    source_topics: list[str]
    source_topic_regex: list[str]
    state_changelog_topics: list[StreamsGroupHeartbeatRequestTopicInfo]
    repartition_sink_topics: list[str]
    repartition_source_topics: list[StreamsGroupHeartbeatRequestTopicInfo]
    copartition_groups: list[StreamsGroupHeartbeatRequestCopartitionGroup]
    def __init__(
        self,
        *,
        subtopology_id: str = ...,
        source_topics: list[str] = ...,
        source_topic_regex: list[str] = ...,
        state_changelog_topics: list[StreamsGroupHeartbeatRequestTopicInfo] = ...,
        repartition_sink_topics: list[str] = ...,
        repartition_source_topics: list[StreamsGroupHeartbeatRequestTopicInfo] = ...,
        copartition_groups: list[StreamsGroupHeartbeatRequestCopartitionGroup] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupHeartbeatRequestCopartitionGroup(Struct):
    source_topics: list[int]
    source_topic_regex: list[int]
    repartition_source_topics: list[int]
    def __init__(
        self,
        *,
        source_topics: list[int] = ...,
        source_topic_regex: list[int] = ...,
        repartition_source_topics: list[int] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupHeartbeatResponse(Message):
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    member_id: str
    member_epoch: int
    heartbeat_interval_ms: int
    acceptable_recovery_lag_legacy: int
    task_offset_interval_ms: int
    acceptable_recovery_lag: int
    status: list[StreamsGroupHeartbeatResponseStatus] | None
    active_tasks: list[StreamsGroupHeartbeatResponseTaskIds] | None
    standby_tasks: list[StreamsGroupHeartbeatResponseTaskIds] | None
    warmup_tasks: list[StreamsGroupHeartbeatResponseTaskIds] | None
    topology_description_required: bool
    endpoint_information_epoch: int
    partitions_by_user_endpoint: list[StreamsGroupHeartbeatResponseEndpointToPartitions] | None
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        member_id: str = ...,
        member_epoch: int = ...,
        heartbeat_interval_ms: int = ...,
        acceptable_recovery_lag_legacy: int = ...,
        task_offset_interval_ms: int = ...,
        acceptable_recovery_lag: int = ...,
        status: list[StreamsGroupHeartbeatResponseStatus] | None = ...,
        active_tasks: list[StreamsGroupHeartbeatResponseTaskIds] | None = ...,
        standby_tasks: list[StreamsGroupHeartbeatResponseTaskIds] | None = ...,
        warmup_tasks: list[StreamsGroupHeartbeatResponseTaskIds] | None = ...,
        topology_description_required: bool = ...,
        endpoint_information_epoch: int = ...,
        partitions_by_user_endpoint: list[StreamsGroupHeartbeatResponseEndpointToPartitions] | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupHeartbeatResponseStatus(Struct):
    status_code: int
    status_detail: str
    def __init__(
        self,
        *,
        status_code: int = ...,
        status_detail: str = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupHeartbeatResponseTopicPartition(Struct):
    topic: str
    partitions: list[int]
    def __init__(
        self,
        *,
        topic: str = ...,
        partitions: list[int] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupHeartbeatResponseTaskIds(Struct):
    subtopology_id: str
    partitions: list[int]
    def __init__(
        self,
        *,
        subtopology_id: str = ...,
        partitions: list[int] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupHeartbeatResponseEndpoint(Struct):
    host: str
    port: int
    def __init__(
        self,
        *,
        host: str = ...,
        port: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupHeartbeatResponseEndpointToPartitions(Struct):
    user_endpoint: StreamsGroupHeartbeatResponseEndpoint
    active_partitions: list[StreamsGroupHeartbeatResponseTopicPartition]
    standby_partitions: list[StreamsGroupHeartbeatResponseTopicPartition]
    def __init__(
        self,
        *,
        user_endpoint: StreamsGroupHeartbeatResponseEndpoint = ...,
        active_partitions: list[StreamsGroupHeartbeatResponseTopicPartition] = ...,
        standby_partitions: list[StreamsGroupHeartbeatResponseTopicPartition] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupDescribeRequest(Message):
    group_ids: list[str]
    include_authorized_operations: bool
    include_topology_description: bool
    def __init__(
        self,
        *,
        group_ids: list[str] = ...,
        include_authorized_operations: bool = ...,
        include_topology_description: bool = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupDescribeResponse(Message):
    throttle_time_ms: int
    groups: list[StreamsGroupDescribeResponseDescribedGroup]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        groups: list[StreamsGroupDescribeResponseDescribedGroup] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupDescribeResponseEndpoint(Struct):
    host: str
    port: int
    def __init__(
        self,
        *,
        host: str = ...,
        port: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupDescribeResponseTaskOffset(Struct):
    subtopology_id: str
    partition: int
    offset: int
    def __init__(
        self,
        *,
        subtopology_id: str = ...,
        partition: int = ...,
        offset: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupDescribeResponseAssignment(Struct):
    active_tasks: list[StreamsGroupDescribeResponseTaskIds]
    standby_tasks: list[StreamsGroupDescribeResponseTaskIds]
    warmup_tasks: list[StreamsGroupDescribeResponseTaskIds]
    def __init__(
        self,
        *,
        active_tasks: list[StreamsGroupDescribeResponseTaskIds] = ...,
        standby_tasks: list[StreamsGroupDescribeResponseTaskIds] = ...,
        warmup_tasks: list[StreamsGroupDescribeResponseTaskIds] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupDescribeResponseTaskIds(Struct):
    subtopology_id: str
    partitions: list[int]
    def __init__(
        self,
        *,
        subtopology_id: str = ...,
        partitions: list[int] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupDescribeResponseKeyValue(Struct):
    key: str
    value: str
    def __init__(
        self,
        *,
        key: str = ...,
        value: str = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupDescribeResponseTopicInfo(Struct):
    name: str
    partitions: int
    replication_factor: int
    topic_configs: list[StreamsGroupDescribeResponseKeyValue]
    def __init__(
        self,
        *,
        name: str = ...,
        partitions: int = ...,
        replication_factor: int = ...,
        topic_configs: list[StreamsGroupDescribeResponseKeyValue] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupDescribeResponseTopologyDescription(Struct):
    subtopologies: list[StreamsGroupDescribeResponseTopologyDescriptionSubtopology]
    global_stores: list[StreamsGroupDescribeResponseTopologyDescriptionGlobalStore]
    def __init__(
        self,
        *,
        subtopologies: list[StreamsGroupDescribeResponseTopologyDescriptionSubtopology] = ...,
        global_stores: list[StreamsGroupDescribeResponseTopologyDescriptionGlobalStore] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupDescribeResponseTopologyDescriptionSubtopology(Struct):
    subtopology_id: str
    nodes: list[StreamsGroupDescribeResponseTopologyDescriptionNode]
    def __init__(
        self,
        *,
        subtopology_id: str = ...,
        nodes: list[StreamsGroupDescribeResponseTopologyDescriptionNode] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupDescribeResponseTopologyDescriptionNode(Struct):
    name: str
    node_type: int
    source_topics: list[str]
    sink_topic: str | None
    stores: list[str]
    successors: list[str]
    def __init__(
        self,
        *,
        name: str = ...,
        node_type: int = ...,
        source_topics: list[str] = ...,
        sink_topic: str | None = ...,
        stores: list[str] = ...,
        successors: list[str] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupDescribeResponseTopologyDescriptionGlobalStore(Struct):
    source: StreamsGroupDescribeResponseTopologyDescriptionNode
    processor: StreamsGroupDescribeResponseTopologyDescriptionNode
    def __init__(
        self,
        *,
        source: StreamsGroupDescribeResponseTopologyDescriptionNode = ...,
        processor: StreamsGroupDescribeResponseTopologyDescriptionNode = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupDescribeResponseDescribedGroup(Struct):
    error_code: int
    error_message: str | None
    group_id: str
    group_state: str
    group_epoch: int
    assignment_epoch: int
    topology: StreamsGroupDescribeResponseTopology | None
    members: list[StreamsGroupDescribeResponseMember]
    authorized_operations: int
    topology_description: StreamsGroupDescribeResponseTopologyDescription | None
    topology_description_status: int
    assignor_name: str | None
    def __init__(
        self,
        *,
        error_code: int = ...,
        error_message: str | None = ...,
        group_id: str = ...,
        group_state: str = ...,
        group_epoch: int = ...,
        assignment_epoch: int = ...,
        topology: StreamsGroupDescribeResponseTopology | None = ...,
        members: list[StreamsGroupDescribeResponseMember] = ...,
        authorized_operations: int = ...,
        topology_description: StreamsGroupDescribeResponseTopologyDescription | None = ...,
        topology_description_status: int = ...,
        assignor_name: str | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupDescribeResponseTopology(Struct):
    epoch: int
    subtopologies: list[StreamsGroupDescribeResponseSubtopology] | None
    def __init__(
        self,
        *,
        epoch: int = ...,
        subtopologies: list[StreamsGroupDescribeResponseSubtopology] | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupDescribeResponseSubtopology(Struct):
    subtopology_id: str
    source_topics: list[str]
    repartition_sink_topics: list[str]
    state_changelog_topics: list[StreamsGroupDescribeResponseTopicInfo]
    repartition_source_topics: list[StreamsGroupDescribeResponseTopicInfo]
    def __init__(
        self,
        *,
        subtopology_id: str = ...,
        source_topics: list[str] = ...,
        repartition_sink_topics: list[str] = ...,
        state_changelog_topics: list[StreamsGroupDescribeResponseTopicInfo] = ...,
        repartition_source_topics: list[StreamsGroupDescribeResponseTopicInfo] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupDescribeResponseMember(Struct):
    member_id: str
    member_epoch: int
    instance_id: str | None
    rack_id: str | None
    client_id: str
    client_host: str
    topology_epoch: int
    process_id: str
    user_endpoint: StreamsGroupDescribeResponseEndpoint | None
    client_tags: list[StreamsGroupDescribeResponseKeyValue]
    task_offsets: list[StreamsGroupDescribeResponseTaskOffset]
    task_end_offsets: list[StreamsGroupDescribeResponseTaskOffset]
    assignment: StreamsGroupDescribeResponseAssignment
    target_assignment: StreamsGroupDescribeResponseAssignment
    is_classic: bool
    def __init__(
        self,
        *,
        member_id: str = ...,
        member_epoch: int = ...,
        instance_id: str | None = ...,
        rack_id: str | None = ...,
        client_id: str = ...,
        client_host: str = ...,
        topology_epoch: int = ...,
        process_id: str = ...,
        user_endpoint: StreamsGroupDescribeResponseEndpoint | None = ...,
        client_tags: list[StreamsGroupDescribeResponseKeyValue] = ...,
        task_offsets: list[StreamsGroupDescribeResponseTaskOffset] = ...,
        task_end_offsets: list[StreamsGroupDescribeResponseTaskOffset] = ...,
        assignment: StreamsGroupDescribeResponseAssignment = ...,
        target_assignment: StreamsGroupDescribeResponseAssignment = ...,
        is_classic: bool = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeShareGroupOffsetsRequest(Message):
    groups: list[DescribeShareGroupOffsetsRequestDescribeShareGroupOffsetsRequestGroup]
    def __init__(
        self,
        *,
        groups: list[DescribeShareGroupOffsetsRequestDescribeShareGroupOffsetsRequestGroup] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeShareGroupOffsetsRequestDescribeShareGroupOffsetsRequestGroup(Struct):
    group_id: str
    topics: list[DescribeShareGroupOffsetsRequestDescribeShareGroupOffsetsRequestTopic] | None
    def __init__(
        self,
        *,
        group_id: str = ...,
        topics: list[DescribeShareGroupOffsetsRequestDescribeShareGroupOffsetsRequestTopic] | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeShareGroupOffsetsRequestDescribeShareGroupOffsetsRequestTopic(Struct):
    topic_name: str
    partitions: list[int]
    def __init__(
        self,
        *,
        topic_name: str = ...,
        partitions: list[int] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeShareGroupOffsetsResponse(Message):
    throttle_time_ms: int
    groups: list[DescribeShareGroupOffsetsResponseDescribeShareGroupOffsetsResponseGroup]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        groups: list[DescribeShareGroupOffsetsResponseDescribeShareGroupOffsetsResponseGroup] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeShareGroupOffsetsResponseDescribeShareGroupOffsetsResponseGroup(Struct):
    group_id: str
    topics: list[DescribeShareGroupOffsetsResponseDescribeShareGroupOffsetsResponseTopic]
    error_code: int
    error_message: str | None
    def __init__(
        self,
        *,
        group_id: str = ...,
        topics: list[DescribeShareGroupOffsetsResponseDescribeShareGroupOffsetsResponseTopic] = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeShareGroupOffsetsResponseDescribeShareGroupOffsetsResponseTopic(Struct):
    topic_name: str
    topic_id: bytes
    partitions: list[DescribeShareGroupOffsetsResponseDescribeShareGroupOffsetsResponsePartition]
    def __init__(
        self,
        *,
        topic_name: str = ...,
        topic_id: bytes = ...,
        partitions: list[DescribeShareGroupOffsetsResponseDescribeShareGroupOffsetsResponsePartition] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DescribeShareGroupOffsetsResponseDescribeShareGroupOffsetsResponsePartition(Struct):
    partition_index: int
    start_offset: int
    leader_epoch: int
    lag: int
    error_code: int
    error_message: str | None
    def __init__(
        self,
        *,
        partition_index: int = ...,
        start_offset: int = ...,
        leader_epoch: int = ...,
        lag: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AlterShareGroupOffsetsRequest(Message):
    group_id: str
    topics: list[AlterShareGroupOffsetsRequestAlterShareGroupOffsetsRequestTopic]
    def __init__(
        self,
        *,
        group_id: str = ...,
        topics: list[AlterShareGroupOffsetsRequestAlterShareGroupOffsetsRequestTopic] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AlterShareGroupOffsetsRequestAlterShareGroupOffsetsRequestTopic(Struct):
    topic_name: str
    partitions: list[AlterShareGroupOffsetsRequestAlterShareGroupOffsetsRequestPartition]
    def __init__(
        self,
        *,
        topic_name: str = ...,
        partitions: list[AlterShareGroupOffsetsRequestAlterShareGroupOffsetsRequestPartition] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AlterShareGroupOffsetsRequestAlterShareGroupOffsetsRequestPartition(Struct):
    partition_index: int
    start_offset: int
    def __init__(
        self,
        *,
        partition_index: int = ...,
        start_offset: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AlterShareGroupOffsetsResponse(Message):
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    responses: list[AlterShareGroupOffsetsResponseAlterShareGroupOffsetsResponseTopic]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        responses: list[AlterShareGroupOffsetsResponseAlterShareGroupOffsetsResponseTopic] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AlterShareGroupOffsetsResponseAlterShareGroupOffsetsResponseTopic(Struct):
    topic_name: str
    topic_id: bytes
    partitions: list[AlterShareGroupOffsetsResponseAlterShareGroupOffsetsResponsePartition]
    def __init__(
        self,
        *,
        topic_name: str = ...,
        topic_id: bytes = ...,
        partitions: list[AlterShareGroupOffsetsResponseAlterShareGroupOffsetsResponsePartition] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AlterShareGroupOffsetsResponseAlterShareGroupOffsetsResponsePartition(Struct):
    partition_index: int
    error_code: int
    error_message: str | None
    def __init__(
        self,
        *,
        partition_index: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DeleteShareGroupOffsetsRequest(Message):
    group_id: str
    topics: list[DeleteShareGroupOffsetsRequestDeleteShareGroupOffsetsRequestTopic]
    def __init__(
        self,
        *,
        group_id: str = ...,
        topics: list[DeleteShareGroupOffsetsRequestDeleteShareGroupOffsetsRequestTopic] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DeleteShareGroupOffsetsRequestDeleteShareGroupOffsetsRequestTopic(Struct):
    topic_name: str
    def __init__(
        self,
        *,
        topic_name: str = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DeleteShareGroupOffsetsResponse(Message):
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    responses: list[DeleteShareGroupOffsetsResponseDeleteShareGroupOffsetsResponseTopic]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        responses: list[DeleteShareGroupOffsetsResponseDeleteShareGroupOffsetsResponseTopic] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DeleteShareGroupOffsetsResponseDeleteShareGroupOffsetsResponseTopic(Struct):
    topic_name: str
    topic_id: bytes
    error_code: int
    error_message: str | None
    def __init__(
        self,
        *,
        topic_name: str = ...,
        topic_id: bytes = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupTopologyDescriptionUpdateRequest(Message):
    group_id: str
    member_id: str
    topology_epoch: int
    topology_description: StreamsGroupTopologyDescriptionUpdateRequestTopologyDescription
    def __init__(
        self,
        *,
        group_id: str = ...,
        member_id: str = ...,
        topology_epoch: int = ...,
        topology_description: StreamsGroupTopologyDescriptionUpdateRequestTopologyDescription = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupTopologyDescriptionUpdateRequestTopologyDescription(Struct):
    subtopologies: list[StreamsGroupTopologyDescriptionUpdateRequestTopologyDescriptionSubtopology]
    global_stores: list[StreamsGroupTopologyDescriptionUpdateRequestTopologyDescriptionGlobalStore]
    def __init__(
        self,
        *,
        subtopologies: list[StreamsGroupTopologyDescriptionUpdateRequestTopologyDescriptionSubtopology] = ...,
        global_stores: list[StreamsGroupTopologyDescriptionUpdateRequestTopologyDescriptionGlobalStore] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupTopologyDescriptionUpdateRequestTopologyDescriptionSubtopology(Struct):
    subtopology_id: str
    nodes: list[StreamsGroupTopologyDescriptionUpdateRequestTopologyDescriptionNode]
    def __init__(
        self,
        *,
        subtopology_id: str = ...,
        nodes: list[StreamsGroupTopologyDescriptionUpdateRequestTopologyDescriptionNode] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupTopologyDescriptionUpdateRequestTopologyDescriptionNode(Struct):
    name: str
    node_type: int
    source_topics: list[str]
    sink_topic: str | None
    stores: list[str]
    successors: list[str]
    def __init__(
        self,
        *,
        name: str = ...,
        node_type: int = ...,
        source_topics: list[str] = ...,
        sink_topic: str | None = ...,
        stores: list[str] = ...,
        successors: list[str] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupTopologyDescriptionUpdateRequestTopologyDescriptionGlobalStore(Struct):
    source: StreamsGroupTopologyDescriptionUpdateRequestTopologyDescriptionNode
    processor: StreamsGroupTopologyDescriptionUpdateRequestTopologyDescriptionNode
    def __init__(
        self,
        *,
        source: StreamsGroupTopologyDescriptionUpdateRequestTopologyDescriptionNode = ...,
        processor: StreamsGroupTopologyDescriptionUpdateRequestTopologyDescriptionNode = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupTopologyDescriptionUpdateResponse(Message):
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class UnregisterControllerRequest(Message):
    controller_id: int
    def __init__(
        self,
        *,
        controller_id: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class UnregisterControllerResponse(Message):
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ConsumerProtocolAssignment(Message):
    assigned_partitions: list[ConsumerProtocolAssignmentTopicPartition]
    user_data: _Buffer | None
    def __init__(
        self,
        *,
        assigned_partitions: list[ConsumerProtocolAssignmentTopicPartition] = ...,
        user_data: _Buffer | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ConsumerProtocolAssignmentTopicPartition(Struct):
    topic: str
    partitions: list[int]
    def __init__(
        self,
        *,
        topic: str = ...,
        partitions: list[int] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ConsumerProtocolSubscription(Message):
    topics: list[str]
    user_data: _Buffer | None
    owned_partitions: list[ConsumerProtocolSubscriptionTopicPartition]
    generation_id: int
    rack_id: str | None
    def __init__(
        self,
        *,
        topics: list[str] = ...,
        user_data: _Buffer | None = ...,
        owned_partitions: list[ConsumerProtocolSubscriptionTopicPartition] = ...,
        generation_id: int = ...,
        rack_id: str | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ConsumerProtocolSubscriptionTopicPartition(Struct):
    topic: str
    partitions: list[int]
    def __init__(
        self,
        *,
        topic: str = ...,
        partitions: list[int] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ControlRecordTypeSchema(Message):
    type: int
    def __init__(
        self,
        *,
        type: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class EndTxnMarker(Message):
    coordinator_epoch: int
    def __init__(
        self,
        *,
        coordinator_epoch: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class KRaftVersionRecord(Message):
    version: int
    kraft_version: int
    def __init__(
        self,
        *,
        version: int = ...,
        kraft_version: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class LeaderChangeMessage(Message):
    version: int
    leader_id: int
    voters: list[LeaderChangeMessageVoter]
    granting_voters: list[LeaderChangeMessageVoter]
    def __init__(
        self,
        *,
        version: int = ...,
        leader_id: int = ...,
        voters: list[LeaderChangeMessageVoter] = ...,
        granting_voters: list[LeaderChangeMessageVoter] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class LeaderChangeMessageVoter(Struct):
    voter_id: int
    voter_directory_id: bytes
    def __init__(
        self,
        *,
        voter_id: int = ...,
        voter_directory_id: bytes = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class SnapshotFooterRecord(Message):
    version: int
    def __init__(
        self,
        *,
        version: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class SnapshotHeaderRecord(Message):
    version: int
    last_contained_log_timestamp: int
    def __init__(
        self,
        *,
        version: int = ...,
        last_contained_log_timestamp: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class VotersRecord(Message):
    version: int
    voters: list[VotersRecordVoter]
    def __init__(
        self,
        *,
        version: int = ...,
        voters: list[VotersRecordVoter] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class VotersRecordVoter(Struct):
    voter_id: int
    voter_directory_id: bytes
    endpoints: list[VotersRecordEndpoint]
    kraft_version_feature: VotersRecordKRaftVersionFeature
    def __init__(
        self,
        *,
        voter_id: int = ...,
        voter_directory_id: bytes = ...,
        endpoints: list[VotersRecordEndpoint] = ...,
        kraft_version_feature: VotersRecordKRaftVersionFeature = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class VotersRecordEndpoint(Struct):
    name: str
    host: str
    port: int
    def __init__(
        self,
        *,
        name: str = ...,
        host: str = ...,
        port: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class VotersRecordKRaftVersionFeature(Struct):
    min_supported_version: int
    max_supported_version: int
    def __init__(
        self,
        *,
        min_supported_version: int = ...,
        max_supported_version: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class LegacyOffsetCommitKey(Message):
    group: str
    topic: str
    partition: int
    def __init__(
        self,
        *,
        group: str = ...,
        topic: str = ...,
        partition: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class LegacyOffsetCommitValue(Message):
    offset: int
    metadata: str
    commit_timestamp: int
    def __init__(
        self,
        *,
        offset: int = ...,
        metadata: str = ...,
        commit_timestamp: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class OffsetCommitKey(Message):
    group: str
    topic: str
    partition: int
    def __init__(
        self,
        *,
        group: str = ...,
        topic: str = ...,
        partition: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class OffsetCommitValue(Message):
    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp: int
    expire_timestamp: int
    topic_id: bytes
    def __init__(
        self,
        *,
        offset: int = ...,
        leader_epoch: int = ...,
        metadata: str = ...,
        commit_timestamp: int = ...,
        expire_timestamp: int = ...,
        topic_id: bytes = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class GroupMetadataKey(Message):
    group: str
    def __init__(
        self,
        *,
        group: str = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class GroupMetadataValue(Message):
    protocol_type: str
    generation: int
    protocol: str | None
    leader: str | None
    current_state_timestamp: int
    members: list[GroupMetadataValueMemberMetadata]
    def __init__(
        self,
        *,
        protocol_type: str = ...,
        generation: int = ...,
        protocol: str | None = ...,
        leader: str | None = ...,
        current_state_timestamp: int = ...,
        members: list[GroupMetadataValueMemberMetadata] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class GroupMetadataValueMemberMetadata(Struct):
    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout: int
    session_timeout: int
    subscription: _Buffer
    assignment: _Buffer
    def __init__(
        self,
        *,
        member_id: str = ...,
        group_instance_id: str | None = ...,
        client_id: str = ...,
        client_host: str = ...,
        rebalance_timeout: int = ...,
        session_timeout: int = ...,
        subscription: _Buffer = ...,
        assignment: _Buffer = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ConsumerGroupMetadataKey(Message):
    group_id: str
    def __init__(
        self,
        *,
        group_id: str = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ConsumerGroupMetadataValue(Message):
    epoch: int
    metadata_hash: int
    def __init__(
        self,
        *,
        epoch: int = ...,
        metadata_hash: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ConsumerGroupPartitionMetadataKey(Message):
    group_id: str
    def __init__(
        self,
        *,
        group_id: str = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ConsumerGroupPartitionMetadataValue(Message):
    topics: list[ConsumerGroupPartitionMetadataValueTopicMetadata]
    def __init__(
        self,
        *,
        topics: list[ConsumerGroupPartitionMetadataValueTopicMetadata] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ConsumerGroupPartitionMetadataValueTopicMetadata(Struct):
    topic_id: bytes
    topic_name: str
    num_partitions: int
    partition_metadata: list[ConsumerGroupPartitionMetadataValuePartitionMetadata]
    def __init__(
        self,
        *,
        topic_id: bytes = ...,
        topic_name: str = ...,
        num_partitions: int = ...,
        partition_metadata: list[ConsumerGroupPartitionMetadataValuePartitionMetadata] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ConsumerGroupPartitionMetadataValuePartitionMetadata(Struct):
    partition: int
    racks: list[str]
    def __init__(
        self,
        *,
        partition: int = ...,
        racks: list[str] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ConsumerGroupMemberMetadataKey(Message):
    group_id: str
    member_id: str
    def __init__(
        self,
        *,
        group_id: str = ...,
        member_id: str = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ConsumerGroupMemberMetadataValue(Message):
    instance_id: str | None
    rack_id: str | None
    client_id: str
    client_host: str
    subscribed_topic_names: list[str]
    subscribed_topic_regex: str | None
    rebalance_timeout_ms: int
    server_assignor: str | None
    classic_member_metadata: ConsumerGroupMemberMetadataValueClassicMemberMetadata | None
    def __init__(
        self,
        *,
        instance_id: str | None = ...,
        rack_id: str | None = ...,
        client_id: str = ...,
        client_host: str = ...,
        subscribed_topic_names: list[str] = ...,
        subscribed_topic_regex: str | None = ...,
        rebalance_timeout_ms: int = ...,
        server_assignor: str | None = ...,
        classic_member_metadata: ConsumerGroupMemberMetadataValueClassicMemberMetadata | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ConsumerGroupMemberMetadataValueClassicMemberMetadata(Struct):
    session_timeout_ms: int
    supported_protocols: list[ConsumerGroupMemberMetadataValueClassicProtocol]
    def __init__(
        self,
        *,
        session_timeout_ms: int = ...,
        supported_protocols: list[ConsumerGroupMemberMetadataValueClassicProtocol] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ConsumerGroupMemberMetadataValueClassicProtocol(Struct):
    name: str
    metadata: _Buffer
    def __init__(
        self,
        *,
        name: str = ...,
        metadata: _Buffer = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ConsumerGroupTargetAssignmentMetadataKey(Message):
    group_id: str
    def __init__(
        self,
        *,
        group_id: str = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ConsumerGroupTargetAssignmentMetadataValue(Message):
    assignment_epoch: int
    assignment_timestamp: int
    def __init__(
        self,
        *,
        assignment_epoch: int = ...,
        assignment_timestamp: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ConsumerGroupTargetAssignmentMemberKey(Message):
    group_id: str
    member_id: str
    def __init__(
        self,
        *,
        group_id: str = ...,
        member_id: str = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ConsumerGroupTargetAssignmentMemberValue(Message):
    topic_partitions: list[ConsumerGroupTargetAssignmentMemberValueTopicPartition]
    def __init__(
        self,
        *,
        topic_partitions: list[ConsumerGroupTargetAssignmentMemberValueTopicPartition] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ConsumerGroupTargetAssignmentMemberValueTopicPartition(Struct):
    topic_id: bytes
    partitions: list[int]
    def __init__(
        self,
        *,
        topic_id: bytes = ...,
        partitions: list[int] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ConsumerGroupCurrentMemberAssignmentKey(Message):
    group_id: str
    member_id: str
    def __init__(
        self,
        *,
        group_id: str = ...,
        member_id: str = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ConsumerGroupCurrentMemberAssignmentValue(Message):
    member_epoch: int
    previous_member_epoch: int
    state: int
    assigned_partitions: list[ConsumerGroupCurrentMemberAssignmentValueTopicPartitions]
    partitions_pending_revocation: list[ConsumerGroupCurrentMemberAssignmentValueTopicPartitions]
    def __init__(
        self,
        *,
        member_epoch: int = ...,
        previous_member_epoch: int = ...,
        state: int = ...,
        assigned_partitions: list[ConsumerGroupCurrentMemberAssignmentValueTopicPartitions] = ...,
        partitions_pending_revocation: list[ConsumerGroupCurrentMemberAssignmentValueTopicPartitions] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ConsumerGroupCurrentMemberAssignmentValueTopicPartitions(Struct):
    topic_id: bytes
    partitions: list[int]
    assignment_epochs: list[int] | None
    def __init__(
        self,
        *,
        topic_id: bytes = ...,
        partitions: list[int] = ...,
        assignment_epochs: list[int] | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ShareGroupMemberMetadataKey(Message):
    group_id: str
    member_id: str
    def __init__(
        self,
        *,
        group_id: str = ...,
        member_id: str = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ShareGroupMemberMetadataValue(Message):
    rack_id: str | None
    client_id: str
    client_host: str
    subscribed_topic_names: list[str]
    def __init__(
        self,
        *,
        rack_id: str | None = ...,
        client_id: str = ...,
        client_host: str = ...,
        subscribed_topic_names: list[str] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ShareGroupMetadataKey(Message):
    group_id: str
    def __init__(
        self,
        *,
        group_id: str = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ShareGroupMetadataValue(Message):
    epoch: int
    metadata_hash: int
    def __init__(
        self,
        *,
        epoch: int = ...,
        metadata_hash: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ShareGroupTargetAssignmentMetadataKey(Message):
    group_id: str
    def __init__(
        self,
        *,
        group_id: str = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ShareGroupTargetAssignmentMetadataValue(Message):
    assignment_epoch: int
    assignment_timestamp: int
    def __init__(
        self,
        *,
        assignment_epoch: int = ...,
        assignment_timestamp: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ShareGroupTargetAssignmentMemberKey(Message):
    group_id: str
    member_id: str
    def __init__(
        self,
        *,
        group_id: str = ...,
        member_id: str = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ShareGroupTargetAssignmentMemberValue(Message):
    topic_partitions: list[ShareGroupTargetAssignmentMemberValueTopicPartition]
    def __init__(
        self,
        *,
        topic_partitions: list[ShareGroupTargetAssignmentMemberValueTopicPartition] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ShareGroupTargetAssignmentMemberValueTopicPartition(Struct):
    topic_id: bytes
    partitions: list[int]
    def __init__(
        self,
        *,
        topic_id: bytes = ...,
        partitions: list[int] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ShareGroupCurrentMemberAssignmentKey(Message):
    group_id: str
    member_id: str
    def __init__(
        self,
        *,
        group_id: str = ...,
        member_id: str = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ShareGroupCurrentMemberAssignmentValue(Message):
    member_epoch: int
    previous_member_epoch: int
    state: int
    assigned_partitions: list[ShareGroupCurrentMemberAssignmentValueTopicPartitions]
    def __init__(
        self,
        *,
        member_epoch: int = ...,
        previous_member_epoch: int = ...,
        state: int = ...,
        assigned_partitions: list[ShareGroupCurrentMemberAssignmentValueTopicPartitions] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ShareGroupCurrentMemberAssignmentValueTopicPartitions(Struct):
    topic_id: bytes
    partitions: list[int]
    def __init__(
        self,
        *,
        topic_id: bytes = ...,
        partitions: list[int] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ShareGroupStatePartitionMetadataKey(Message):
    group_id: str
    def __init__(
        self,
        *,
        group_id: str = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ShareGroupStatePartitionMetadataValue(Message):
    initializing_topics: list[ShareGroupStatePartitionMetadataValueTopicPartitionsInfo]
    initialized_topics: list[ShareGroupStatePartitionMetadataValueTopicPartitionsInfo]
    deleting_topics: list[ShareGroupStatePartitionMetadataValueTopicInfo]
    def __init__(
        self,
        *,
        initializing_topics: list[ShareGroupStatePartitionMetadataValueTopicPartitionsInfo] = ...,
        initialized_topics: list[ShareGroupStatePartitionMetadataValueTopicPartitionsInfo] = ...,
        deleting_topics: list[ShareGroupStatePartitionMetadataValueTopicInfo] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ShareGroupStatePartitionMetadataValueTopicPartitionsInfo(Struct):
    topic_id: bytes
    topic_name: str
    partitions: list[int]
    def __init__(
        self,
        *,
        topic_id: bytes = ...,
        topic_name: str = ...,
        partitions: list[int] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ShareGroupStatePartitionMetadataValueTopicInfo(Struct):
    topic_id: bytes
    topic_name: str
    def __init__(
        self,
        *,
        topic_id: bytes = ...,
        topic_name: str = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ConsumerGroupRegularExpressionKey(Message):
    group_id: str
    regular_expression: str
    def __init__(
        self,
        *,
        group_id: str = ...,
        regular_expression: str = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ConsumerGroupRegularExpressionValue(Message):
    topics: list[str]
    version: int
    timestamp: int
    def __init__(
        self,
        *,
        topics: list[str] = ...,
        version: int = ...,
        timestamp: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupMetadataKey(Message):
    group_id: str
    def __init__(
        self,
        *,
        group_id: str = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupMetadataValue(Message):
    epoch: int
    metadata_hash: int
    validated_topology_epoch: int
    last_assignment_configs: list[StreamsGroupMetadataValueLastAssignmentConfig] | None
    stored_description_topology_epoch: int
    failed_description_topology_epoch: int
    def __init__(
        self,
        *,
        epoch: int = ...,
        metadata_hash: int = ...,
        validated_topology_epoch: int = ...,
        last_assignment_configs: list[StreamsGroupMetadataValueLastAssignmentConfig] | None = ...,
        stored_description_topology_epoch: int = ...,
        failed_description_topology_epoch: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupMetadataValueLastAssignmentConfig(Struct):
    key: str
    value: str
    def __init__(
        self,
        *,
        key: str = ...,
        value: str = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupMemberMetadataKey(Message):
    group_id: str
    member_id: str
    def __init__(
        self,
        *,
        group_id: str = ...,
        member_id: str = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupMemberMetadataValue(Message):
    instance_id: str | None
    rack_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    topology_epoch: int
    process_id: str
    user_endpoint: StreamsGroupMemberMetadataValueEndpoint | None
    client_tags: list[StreamsGroupMemberMetadataValueKeyValue]
    def __init__(
        self,
        *,
        instance_id: str | None = ...,
        rack_id: str | None = ...,
        client_id: str = ...,
        client_host: str = ...,
        rebalance_timeout_ms: int = ...,
        topology_epoch: int = ...,
        process_id: str = ...,
        user_endpoint: StreamsGroupMemberMetadataValueEndpoint | None = ...,
        client_tags: list[StreamsGroupMemberMetadataValueKeyValue] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupMemberMetadataValueEndpoint(Struct):
    host: str
    port: int
    def __init__(
        self,
        *,
        host: str = ...,
        port: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupMemberMetadataValueKeyValue(Struct):
    key: str
    value: str
    def __init__(
        self,
        *,
        key: str = ...,
        value: str = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupTargetAssignmentMetadataKey(Message):
    group_id: str
    def __init__(
        self,
        *,
        group_id: str = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupTargetAssignmentMetadataValue(Message):
    assignment_epoch: int
    assignment_timestamp: int
    def __init__(
        self,
        *,
        assignment_epoch: int = ...,
        assignment_timestamp: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupTargetAssignmentMemberKey(Message):
    group_id: str
    member_id: str
    def __init__(
        self,
        *,
        group_id: str = ...,
        member_id: str = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupTargetAssignmentMemberValue(Message):
    active_tasks: list[StreamsGroupTargetAssignmentMemberValueTaskIds]
    standby_tasks: list[StreamsGroupTargetAssignmentMemberValueTaskIds]
    warmup_tasks: list[StreamsGroupTargetAssignmentMemberValueTaskIds]
    def __init__(
        self,
        *,
        active_tasks: list[StreamsGroupTargetAssignmentMemberValueTaskIds] = ...,
        standby_tasks: list[StreamsGroupTargetAssignmentMemberValueTaskIds] = ...,
        warmup_tasks: list[StreamsGroupTargetAssignmentMemberValueTaskIds] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupTargetAssignmentMemberValueTaskIds(Struct):
    subtopology_id: str
    partitions: list[int]
    def __init__(
        self,
        *,
        subtopology_id: str = ...,
        partitions: list[int] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupCurrentMemberAssignmentKey(Message):
    group_id: str
    member_id: str
    def __init__(
        self,
        *,
        group_id: str = ...,
        member_id: str = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupCurrentMemberAssignmentValue(Message):
    member_epoch: int
    previous_member_epoch: int
    state: int
    active_tasks: list[StreamsGroupCurrentMemberAssignmentValueTaskIds]
    standby_tasks: list[StreamsGroupCurrentMemberAssignmentValueTaskIds]
    warmup_tasks: list[StreamsGroupCurrentMemberAssignmentValueTaskIds]
    active_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentValueTaskIds]
    standby_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentValueTaskIds]
    warmup_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentValueTaskIds]
    def __init__(
        self,
        *,
        member_epoch: int = ...,
        previous_member_epoch: int = ...,
        state: int = ...,
        active_tasks: list[StreamsGroupCurrentMemberAssignmentValueTaskIds] = ...,
        standby_tasks: list[StreamsGroupCurrentMemberAssignmentValueTaskIds] = ...,
        warmup_tasks: list[StreamsGroupCurrentMemberAssignmentValueTaskIds] = ...,
        active_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentValueTaskIds] = ...,
        standby_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentValueTaskIds] = ...,
        warmup_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentValueTaskIds] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupCurrentMemberAssignmentValueTaskIds(Struct):
    subtopology_id: str
    partitions: list[int]
    assignment_epochs: list[int] | None
    def __init__(
        self,
        *,
        subtopology_id: str = ...,
        partitions: list[int] = ...,
        assignment_epochs: list[int] | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupTopologyKey(Message):
    group_id: str
    def __init__(
        self,
        *,
        group_id: str = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupTopologyValue(Message):
    epoch: int
    subtopologies: list[StreamsGroupTopologyValueSubtopology]
    def __init__(
        self,
        *,
        epoch: int = ...,
        subtopologies: list[StreamsGroupTopologyValueSubtopology] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupTopologyValueTopicConfig(Struct):
    key: str
    value: str
    def __init__(
        self,
        *,
        key: str = ...,
        value: str = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupTopologyValueTopicInfo(Struct):
    name: str
    partitions: int
    replication_factor: int
    topic_configs: list[StreamsGroupTopologyValueTopicConfig]
    def __init__(
        self,
        *,
        name: str = ...,
        partitions: int = ...,
        replication_factor: int = ...,
        topic_configs: list[StreamsGroupTopologyValueTopicConfig] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupTopologyValueSubtopology(Struct):
    subtopology_id: str
    source_topics: list[str]
    source_topic_regex: list[str]
    state_changelog_topics: list[StreamsGroupTopologyValueTopicInfo]
    repartition_sink_topics: list[str]
    repartition_source_topics: list[StreamsGroupTopologyValueTopicInfo]
    copartition_groups: list[StreamsGroupTopologyValueCopartitionGroup]
    def __init__(
        self,
        *,
        subtopology_id: str = ...,
        source_topics: list[str] = ...,
        source_topic_regex: list[str] = ...,
        state_changelog_topics: list[StreamsGroupTopologyValueTopicInfo] = ...,
        repartition_sink_topics: list[str] = ...,
        repartition_source_topics: list[StreamsGroupTopologyValueTopicInfo] = ...,
        copartition_groups: list[StreamsGroupTopologyValueCopartitionGroup] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class StreamsGroupTopologyValueCopartitionGroup(Struct):
    source_topics: list[int]
    source_topic_regex: list[int]
    repartition_source_topics: list[int]
    def __init__(
        self,
        *,
        source_topics: list[int] = ...,
        source_topic_regex: list[int] = ...,
        repartition_source_topics: list[int] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class RequestHeader(Message):
    request_api_key: int
    request_api_version: int
    correlation_id: int
    client_id: str | None
    def __init__(
        self,
        *,
        request_api_key: int = ...,
        request_api_version: int = ...,
        correlation_id: int = ...,
        client_id: str | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ResponseHeader(Message):
    correlation_id: int
    def __init__(
        self,
        *,
        correlation_id: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AbortedTxn(Message):
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int
    def __init__(
        self,
        *,
        producer_id: int = ...,
        first_offset: int = ...,
        last_offset: int = ...,
        last_stable_offset: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ProducerSnapshot(Message):
    crc: int
    producer_entries: list[ProducerSnapshotProducerEntry]
    def __init__(
        self,
        *,
        crc: int = ...,
        producer_entries: list[ProducerSnapshotProducerEntry] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ProducerSnapshotProducerEntry(Struct):
    producer_id: int
    epoch: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int
    coordinator_epoch: int
    current_txn_first_offset: int
    def __init__(
        self,
        *,
        producer_id: int = ...,
        epoch: int = ...,
        last_sequence: int = ...,
        last_offset: int = ...,
        offset_delta: int = ...,
        timestamp: int = ...,
        coordinator_epoch: int = ...,
        current_txn_first_offset: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class RegisterBrokerRecord(Message):
    broker_id: int
    is_migrating_zk_broker: bool
    incarnation_id: bytes
    broker_epoch: int
    end_points: list[RegisterBrokerRecordBrokerEndpoint]
    features: list[RegisterBrokerRecordBrokerFeature]
    rack: str | None
    fenced: bool
    in_controlled_shutdown: bool
    log_dirs: list[bytes]
    cordoned_log_dirs: list[bytes] | None
    def __init__(
        self,
        *,
        broker_id: int = ...,
        is_migrating_zk_broker: bool = ...,
        incarnation_id: bytes = ...,
        broker_epoch: int = ...,
        end_points: list[RegisterBrokerRecordBrokerEndpoint] = ...,
        features: list[RegisterBrokerRecordBrokerFeature] = ...,
        rack: str | None = ...,
        fenced: bool = ...,
        in_controlled_shutdown: bool = ...,
        log_dirs: list[bytes] = ...,
        cordoned_log_dirs: list[bytes] | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class RegisterBrokerRecordBrokerEndpoint(Struct):
    name: str
    host: str
    port: int
    security_protocol: int
    def __init__(
        self,
        *,
        name: str = ...,
        host: str = ...,
        port: int = ...,
        security_protocol: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class RegisterBrokerRecordBrokerFeature(Struct):
    name: str
    min_supported_version: int
    max_supported_version: int
    def __init__(
        self,
        *,
        name: str = ...,
        min_supported_version: int = ...,
        max_supported_version: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class UnregisterBrokerRecord(Message):
    broker_id: int
    broker_epoch: int
    def __init__(
        self,
        *,
        broker_id: int = ...,
        broker_epoch: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class TopicRecord(Message):
    name: str
    topic_id: bytes
    def __init__(
        self,
        *,
        name: str = ...,
        topic_id: bytes = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class PartitionRecord(Message):
    partition_id: int
    topic_id: bytes
    replicas: list[int]
    isr: list[int]
    removing_replicas: list[int]
    adding_replicas: list[int]
    leader: int
    leader_recovery_state: int
    leader_epoch: int
    partition_epoch: int
    directories: list[bytes]
    eligible_leader_replicas: list[int] | None
    last_known_elr: list[int] | None
    def __init__(
        self,
        *,
        partition_id: int = ...,
        topic_id: bytes = ...,
        replicas: list[int] = ...,
        isr: list[int] = ...,
        removing_replicas: list[int] = ...,
        adding_replicas: list[int] = ...,
        leader: int = ...,
        leader_recovery_state: int = ...,
        leader_epoch: int = ...,
        partition_epoch: int = ...,
        directories: list[bytes] = ...,
        eligible_leader_replicas: list[int] | None = ...,
        last_known_elr: list[int] | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ConfigRecord(Message):
    resource_type: int
    resource_name: str
    name: str
    value: str | None
    def __init__(
        self,
        *,
        resource_type: int = ...,
        resource_name: str = ...,
        name: str = ...,
        value: str | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class PartitionChangeRecord(Message):
    partition_id: int
    topic_id: bytes
    isr: list[int] | None
    leader: int
    replicas: list[int] | None
    removing_replicas: list[int] | None
    adding_replicas: list[int] | None
    leader_recovery_state: int
    directories: list[bytes] | None
    eligible_leader_replicas: list[int] | None
    last_known_elr: list[int] | None
    def __init__(
        self,
        *,
        partition_id: int = ...,
        topic_id: bytes = ...,
        isr: list[int] | None = ...,
        leader: int = ...,
        replicas: list[int] | None = ...,
        removing_replicas: list[int] | None = ...,
        adding_replicas: list[int] | None = ...,
        leader_recovery_state: int = ...,
        directories: list[bytes] | None = ...,
        eligible_leader_replicas: list[int] | None = ...,
        last_known_elr: list[int] | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class FenceBrokerRecord(Message):
    id: int
    epoch: int
    def __init__(
        self,
        *,
        id: int = ...,
        epoch: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class UnfenceBrokerRecord(Message):
    id: int
    epoch: int
    def __init__(
        self,
        *,
        id: int = ...,
        epoch: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class RemoveTopicRecord(Message):
    topic_id: bytes
    def __init__(
        self,
        *,
        topic_id: bytes = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DelegationTokenRecord(Message):
    owner: str
    requester: str
    renewers: list[str]
    issue_timestamp: int
    max_timestamp: int
    expiration_timestamp: int
    token_id: str
    def __init__(
        self,
        *,
        owner: str = ...,
        requester: str = ...,
        renewers: list[str] = ...,
        issue_timestamp: int = ...,
        max_timestamp: int = ...,
        expiration_timestamp: int = ...,
        token_id: str = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class UserScramCredentialRecord(Message):
    name: str
    mechanism: int
    salt: _Buffer
    stored_key: _Buffer
    server_key: _Buffer
    iterations: int
    def __init__(
        self,
        *,
        name: str = ...,
        mechanism: int = ...,
        salt: _Buffer = ...,
        stored_key: _Buffer = ...,
        server_key: _Buffer = ...,
        iterations: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class FeatureLevelRecord(Message):
    name: str
    feature_level: int
    def __init__(
        self,
        *,
        name: str = ...,
        feature_level: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ClientQuotaRecord(Message):
    entity: list[ClientQuotaRecordEntityData]
    key: str
    value: float
    remove: bool
    def __init__(
        self,
        *,
        entity: list[ClientQuotaRecordEntityData] = ...,
        key: str = ...,
        value: float = ...,
        remove: bool = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ClientQuotaRecordEntityData(Struct):
    entity_type: str
    entity_name: str | None
    def __init__(
        self,
        *,
        entity_type: str = ...,
        entity_name: str | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ProducerIdsRecord(Message):
    broker_id: int
    broker_epoch: int
    next_producer_id: int
    def __init__(
        self,
        *,
        broker_id: int = ...,
        broker_epoch: int = ...,
        next_producer_id: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class BrokerRegistrationChangeRecord(Message):
    broker_id: int
    broker_epoch: int
    fenced: int
    in_controlled_shutdown: int
    log_dirs: list[bytes]
    cordoned_log_dirs: list[bytes] | None
    def __init__(
        self,
        *,
        broker_id: int = ...,
        broker_epoch: int = ...,
        fenced: int = ...,
        in_controlled_shutdown: int = ...,
        log_dirs: list[bytes] = ...,
        cordoned_log_dirs: list[bytes] | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AccessControlEntryRecord(Message):
    id: bytes
    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int
    def __init__(
        self,
        *,
        id: bytes = ...,
        resource_type: int = ...,
        resource_name: str = ...,
        pattern_type: int = ...,
        principal: str = ...,
        host: str = ...,
        operation: int = ...,
        permission_type: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class RemoveAccessControlEntryRecord(Message):
    id: bytes
    def __init__(
        self,
        *,
        id: bytes = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class NoOpRecord(Message):
    def __init__(
        self,
        *,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ZkMigrationStateRecord(Message):
    zk_migration_state: int
    def __init__(
        self,
        *,
        zk_migration_state: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class RemoveUserScramCredentialRecord(Message):
    name: str
    mechanism: int
    def __init__(
        self,
        *,
        name: str = ...,
        mechanism: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class BeginTransactionRecord(Message):
    name: str | None
    def __init__(
        self,
        *,
        name: str | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class EndTransactionRecord(Message):
    def __init__(
        self,
        *,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class AbortTransactionRecord(Message):
    reason: str | None
    def __init__(
        self,
        *,
        reason: str | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class RemoveDelegationTokenRecord(Message):
    token_id: str
    def __init__(
        self,
        *,
        token_id: str = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class RegisterControllerRecord(Message):
    controller_id: int
    incarnation_id: bytes
    zk_migration_ready: bool
    end_points: list[RegisterControllerRecordControllerEndpoint]
    features: list[RegisterControllerRecordControllerFeature]
    def __init__(
        self,
        *,
        controller_id: int = ...,
        incarnation_id: bytes = ...,
        zk_migration_ready: bool = ...,
        end_points: list[RegisterControllerRecordControllerEndpoint] = ...,
        features: list[RegisterControllerRecordControllerFeature] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class RegisterControllerRecordControllerEndpoint(Struct):
    name: str
    host: str
    port: int
    security_protocol: int
    def __init__(
        self,
        *,
        name: str = ...,
        host: str = ...,
        port: int = ...,
        security_protocol: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class RegisterControllerRecordControllerFeature(Struct):
    name: str
    min_supported_version: int
    max_supported_version: int
    def __init__(
        self,
        *,
        name: str = ...,
        min_supported_version: int = ...,
        max_supported_version: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ClearElrRecord(Message):
    topic_name: str
    def __init__(
        self,
        *,
        topic_name: str = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class UnregisterControllerRecord(Message):
    controller_id: int
    def __init__(
        self,
        *,
        controller_id: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class DefaultPrincipalData(Message):
    type: str
    name: str
    token_authenticated: bool
    def __init__(
        self,
        *,
        type: str = ...,
        name: str = ...,
        token_authenticated: bool = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class QuorumStateData(Message):
    cluster_id: str
    leader_id: int
    leader_epoch: int
    voted_id: int
    voted_directory_id: bytes
    applied_offset: int
    current_voters: list[QuorumStateDataVoter] | None
    def __init__(
        self,
        *,
        cluster_id: str = ...,
        leader_id: int = ...,
        leader_epoch: int = ...,
        voted_id: int = ...,
        voted_directory_id: bytes = ...,
        applied_offset: int = ...,
        current_voters: list[QuorumStateDataVoter] | None = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class QuorumStateDataVoter(Struct):
    voter_id: int
    def __init__(
        self,
        *,
        voter_id: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class RemoteLogSegmentMetadataRecord(Message):
    remote_log_segment_id: RemoteLogSegmentMetadataRecordRemoteLogSegmentIdEntry
    start_offset: int
    end_offset: int
    broker_id: int
    max_timestamp_ms: int
    event_timestamp_ms: int
    segment_leader_epochs: list[RemoteLogSegmentMetadataRecordSegmentLeaderEpochEntry]
    segment_size_in_bytes: int
    custom_metadata: _Buffer | None
    remote_log_segment_state: int
    txn_index_empty: bool
    def __init__(
        self,
        *,
        remote_log_segment_id: RemoteLogSegmentMetadataRecordRemoteLogSegmentIdEntry = ...,
        start_offset: int = ...,
        end_offset: int = ...,
        broker_id: int = ...,
        max_timestamp_ms: int = ...,
        event_timestamp_ms: int = ...,
        segment_leader_epochs: list[RemoteLogSegmentMetadataRecordSegmentLeaderEpochEntry] = ...,
        segment_size_in_bytes: int = ...,
        custom_metadata: _Buffer | None = ...,
        remote_log_segment_state: int = ...,
        txn_index_empty: bool = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class RemoteLogSegmentMetadataRecordRemoteLogSegmentIdEntry(Struct):
    topic_id_partition: RemoteLogSegmentMetadataRecordTopicIdPartitionEntry
    id: bytes
    def __init__(
        self,
        *,
        topic_id_partition: RemoteLogSegmentMetadataRecordTopicIdPartitionEntry = ...,
        id: bytes = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class RemoteLogSegmentMetadataRecordTopicIdPartitionEntry(Struct):
    name: str
    id: bytes
    partition: int
    def __init__(
        self,
        *,
        name: str = ...,
        id: bytes = ...,
        partition: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class RemoteLogSegmentMetadataRecordSegmentLeaderEpochEntry(Struct):
    leader_epoch: int
    offset: int
    def __init__(
        self,
        *,
        leader_epoch: int = ...,
        offset: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class RemoteLogSegmentMetadataUpdateRecord(Message):
    remote_log_segment_id: RemoteLogSegmentMetadataUpdateRecordRemoteLogSegmentIdEntry
    broker_id: int
    event_timestamp_ms: int
    custom_metadata: _Buffer | None
    remote_log_segment_state: int
    def __init__(
        self,
        *,
        remote_log_segment_id: RemoteLogSegmentMetadataUpdateRecordRemoteLogSegmentIdEntry = ...,
        broker_id: int = ...,
        event_timestamp_ms: int = ...,
        custom_metadata: _Buffer | None = ...,
        remote_log_segment_state: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class RemoteLogSegmentMetadataUpdateRecordRemoteLogSegmentIdEntry(Struct):
    topic_id_partition: RemoteLogSegmentMetadataUpdateRecordTopicIdPartitionEntry
    id: bytes
    def __init__(
        self,
        *,
        topic_id_partition: RemoteLogSegmentMetadataUpdateRecordTopicIdPartitionEntry = ...,
        id: bytes = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class RemoteLogSegmentMetadataUpdateRecordTopicIdPartitionEntry(Struct):
    name: str
    id: bytes
    partition: int
    def __init__(
        self,
        *,
        name: str = ...,
        id: bytes = ...,
        partition: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class RemotePartitionDeleteMetadataRecord(Message):
    topic_id_partition: RemotePartitionDeleteMetadataRecordTopicIdPartitionEntry
    broker_id: int
    event_timestamp_ms: int
    remote_partition_delete_state: int
    def __init__(
        self,
        *,
        topic_id_partition: RemotePartitionDeleteMetadataRecordTopicIdPartitionEntry = ...,
        broker_id: int = ...,
        event_timestamp_ms: int = ...,
        remote_partition_delete_state: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class RemotePartitionDeleteMetadataRecordTopicIdPartitionEntry(Struct):
    name: str
    id: bytes
    partition: int
    def __init__(
        self,
        *,
        name: str = ...,
        id: bytes = ...,
        partition: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class RemoteLogSegmentMetadataSnapshotRecord(Message):
    segment_id: bytes
    start_offset: int
    end_offset: int
    broker_id: int
    max_timestamp_ms: int
    event_timestamp_ms: int
    segment_leader_epochs: list[RemoteLogSegmentMetadataSnapshotRecordSegmentLeaderEpochEntry]
    segment_size_in_bytes: int
    custom_metadata: _Buffer | None
    remote_log_segment_state: int
    txn_index_empty: bool
    def __init__(
        self,
        *,
        segment_id: bytes = ...,
        start_offset: int = ...,
        end_offset: int = ...,
        broker_id: int = ...,
        max_timestamp_ms: int = ...,
        event_timestamp_ms: int = ...,
        segment_leader_epochs: list[RemoteLogSegmentMetadataSnapshotRecordSegmentLeaderEpochEntry] = ...,
        segment_size_in_bytes: int = ...,
        custom_metadata: _Buffer | None = ...,
        remote_log_segment_state: int = ...,
        txn_index_empty: bool = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class RemoteLogSegmentMetadataSnapshotRecordSegmentLeaderEpochEntry(Struct):
    leader_epoch: int
    offset: int
    def __init__(
        self,
        *,
        leader_epoch: int = ...,
        offset: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ShareSnapshotKey(Message):
    group_id: str
    topic_id: bytes
    partition: int
    def __init__(
        self,
        *,
        group_id: str = ...,
        topic_id: bytes = ...,
        partition: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ShareSnapshotValue(Message):
    snapshot_epoch: int
    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    create_timestamp: int
    write_timestamp: int
    state_batches: list[ShareSnapshotValueStateBatch]
    def __init__(
        self,
        *,
        snapshot_epoch: int = ...,
        state_epoch: int = ...,
        leader_epoch: int = ...,
        start_offset: int = ...,
        delivery_complete_count: int = ...,
        create_timestamp: int = ...,
        write_timestamp: int = ...,
        state_batches: list[ShareSnapshotValueStateBatch] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ShareSnapshotValueStateBatch(Struct):
    first_offset: int
    last_offset: int
    delivery_state: int
    delivery_count: int
    def __init__(
        self,
        *,
        first_offset: int = ...,
        last_offset: int = ...,
        delivery_state: int = ...,
        delivery_count: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ShareUpdateKey(Message):
    group_id: str
    topic_id: bytes
    partition: int
    def __init__(
        self,
        *,
        group_id: str = ...,
        topic_id: bytes = ...,
        partition: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ShareUpdateValue(Message):
    snapshot_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    state_batches: list[ShareUpdateValueStateBatch]
    def __init__(
        self,
        *,
        snapshot_epoch: int = ...,
        leader_epoch: int = ...,
        start_offset: int = ...,
        delivery_complete_count: int = ...,
        state_batches: list[ShareUpdateValueStateBatch] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class ShareUpdateValueStateBatch(Struct):
    first_offset: int
    last_offset: int
    delivery_state: int
    delivery_count: int
    def __init__(
        self,
        *,
        first_offset: int = ...,
        last_offset: int = ...,
        delivery_state: int = ...,
        delivery_count: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class TransactionLogKey(Message):
    transactional_id: str
    def __init__(
        self,
        *,
        transactional_id: str = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class TransactionLogValue(Message):
    producer_id: int
    previous_producer_id: int
    next_producer_id: int
    producer_epoch: int
    next_producer_epoch: int
    transaction_timeout_ms: int
    transaction_status: int
    transaction_partitions: list[TransactionLogValuePartitionsSchema] | None
    transaction_last_update_timestamp_ms: int
    transaction_start_timestamp_ms: int
    client_transaction_version: int
    def __init__(
        self,
        *,
        producer_id: int = ...,
        previous_producer_id: int = ...,
        next_producer_id: int = ...,
        producer_epoch: int = ...,
        next_producer_epoch: int = ...,
        transaction_timeout_ms: int = ...,
        transaction_status: int = ...,
        transaction_partitions: list[TransactionLogValuePartitionsSchema] | None = ...,
        transaction_last_update_timestamp_ms: int = ...,
        transaction_start_timestamp_ms: int = ...,
        client_transaction_version: int = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...

class TransactionLogValuePartitionsSchema(Struct):
    topic: str
    partition_ids: list[int]
    def __init__(
        self,
        *,
        topic: str = ...,
        partition_ids: list[int] = ...,
        unknown_tags: _Tags = ...,
    ) -> None: ...
