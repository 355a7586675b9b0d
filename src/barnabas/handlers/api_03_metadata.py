"""Metadata (key 3), v0-13.

Tells which brokers there are and which of them leads each partition.

Behaviour
- Asked for no topic in particular (v0 an empty list, later null) it tells of all.
- An unknown topic is created when client (v4) and `auto.create.topics.enable` both allow it. The answer
  already names its leader, where Apache Kafka's says UNKNOWN_TOPIC_OR_PARTITION once and has the client
  come back. Internal topics are never created this way.
- Brokers are told with the address of the listener the request came in on.
- Topics are joined from cached bytes; see metadata_bytes.
Versions
- 1 racks, controller, internal topics; 2 cluster id; 5 offline replicas; 7 leader epochs (KIP-320);
  8 authorized operations (KIP-430); 10 topic ids in answers, 12 in requests (KIP-516)
"""

from __future__ import annotations

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.uuids import NULL_UUID
from barnabas.handlers.brokers import known_brokers
from barnabas.handlers.metadata_bytes import encode_response, encode_topic
from barnabas.handlers.request import RequestContext
from barnabas.handlers.topics import CLUSTER_OPERATIONS, OPERATIONS_NOT_ASKED, TOPIC_OPERATIONS, is_internal
from barnabas.metadata.image import NO_LEADER, PartitionImage, TopicImage
from barnabas.metadata.topic_changes import TopicCreation
from barnabas.metadata.topic_names import validate_topic_name
from barnabas.protocol import messages
from barnabas.protocol.api_keys import ApiKey

_FIRST_WITH_NULL_FOR_ALL = 1
_FIRST_WITH_TOPIC_IDS_ASKED = 12
_LAST_WITH_CLUSTER_OPERATIONS = 10


def handle(context: RequestContext, request: messages.MetadataRequest) -> None:
    """Describe the brokers, and all topics or the ones asked for."""
    _check(context, request)
    services = context.services
    topics_asked = request.topics
    if topics_asked is None or (not topics_asked and context.api_version < _FIRST_WITH_NULL_FOR_ALL):
        topics = [_described(context, request, topic) for topic in services.image.topics.values()]
    elif any(asked.topic_id != NULL_UUID for asked in topics_asked):
        # Names beside ids are passed over, as Apache Kafka does.
        ids = dict.fromkeys(asked.topic_id for asked in topics_asked if asked.topic_id != NULL_UUID)
        topics = [_by_id(context, request, topic_id) for topic_id in ids]
    else:
        names = dict.fromkeys(asked.name for asked in topics_asked if asked.name is not None)
        topics = _by_name(context, request, list(names))
    response = messages.MetadataResponse(
        brokers=[
            messages.MetadataResponseMetadataResponseBroker(
                node_id=broker.node_id, host=broker.host, port=broker.port, rack=broker.rack
            )
            for broker in known_brokers(context)
            if not broker.is_fenced
        ],
        cluster_id=services.cluster_id,
        controller_id=services.node_id,
        cluster_authorized_operations=(
            CLUSTER_OPERATIONS if request.include_cluster_authorized_operations else OPERATIONS_NOT_ASKED
        ),
    )
    context.respond_encoded(encode_response(response, topics, context.api_version))


def error_response(
    request: messages.MetadataRequest, error: ApiError, version: int
) -> messages.MetadataResponse:
    """Every topic asked for failed for the same reason."""
    return messages.MetadataResponse(
        error_code=error.code,
        topics=[
            messages.MetadataResponseMetadataResponseTopic(
                error_code=error.code, name=asked.name or "", topic_id=asked.topic_id
            )
            for asked in request.topics or ()
        ],
    )


def _check(context: RequestContext, request: messages.MetadataRequest) -> None:
    if context.api_version >= _FIRST_WITH_TOPIC_IDS_ASKED:
        for asked in request.topics or ():
            if asked.name is None and asked.topic_id == NULL_UUID:
                raise ApiError(ErrorCode.INVALID_REQUEST, "a topic needs a name or an id")
        return
    for asked in request.topics or ():
        if asked.name is None:
            raise ApiError(ErrorCode.INVALID_REQUEST, "a topic name may not be null in this version")
        if asked.topic_id != NULL_UUID:
            raise ApiError(ErrorCode.INVALID_REQUEST, "topic ids may not be asked for in this version")


def _by_id(context: RequestContext, request: messages.MetadataRequest, topic_id: bytes) -> bytes:
    topic = context.services.image.topics_by_id.get(topic_id)
    if topic is not None:
        return _described(context, request, topic)
    unknown = messages.MetadataResponseMetadataResponseTopic(
        error_code=ErrorCode.UNKNOWN_TOPIC_ID, name=None, topic_id=topic_id
    )
    return encode_topic(unknown, context.api_version)


def _by_name(context: RequestContext, request: messages.MetadataRequest, names: list[str]) -> list[bytes]:
    image = context.services.image
    errors: dict[str, ErrorCode] = {}
    missing = [name for name in names if name not in image.topics]
    if missing:
        errors = _create_missing(context, request, missing)
    topics = []
    for name in names:
        topic = image.topics.get(name)
        if topic is not None:
            topics.append(_described(context, request, topic))
            continue
        unknown = messages.MetadataResponseMetadataResponseTopic(
            error_code=errors[name],
            name=name,
            is_internal=is_internal(name),
            topic_authorized_operations=_topic_operations(request),
        )
        topics.append(encode_topic(unknown, context.api_version))
    return topics


def _create_missing(
    context: RequestContext, request: messages.MetadataRequest, missing: list[str]
) -> dict[str, ErrorCode]:
    """Create unknown topics where that is wanted; return why others stay unknown."""
    services = context.services
    errors = {name: _why_missing(name) for name in missing}
    if not (request.allow_auto_topic_creation and services.settings.auto_create_topics_enable):
        return errors
    creations = [TopicCreation(name=name) for name in missing if not is_internal(name)]
    for creation, result in zip(creations, services.controller.create_topics(creations), strict=True):
        errors[creation.name] = result.error
    return errors


def _why_missing(name: str) -> ErrorCode:
    try:
        validate_topic_name(name)
    except ApiError as error:
        return error.code
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _described(context: RequestContext, request: messages.MetadataRequest, topic: TopicImage) -> bytes:
    """Return a topic's bytes, from the cache when they were made before."""
    version = context.api_version
    key = (ApiKey.METADATA, version, request.include_topic_authorized_operations)
    return context.services.image.encoded_topic(
        topic, key, lambda topic: encode_topic(_describe(context, request, topic), version)
    )


def _describe(
    context: RequestContext, request: messages.MetadataRequest, topic: TopicImage
) -> messages.MetadataResponseMetadataResponseTopic:
    return messages.MetadataResponseMetadataResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=is_internal(topic.name),
        partitions=[_describe_partition(context, partition) for partition in topic.partitions.values()],
        topic_authorized_operations=_topic_operations(request),
    )


def _topic_operations(request: messages.MetadataRequest) -> int:
    return TOPIC_OPERATIONS if request.include_topic_authorized_operations else OPERATIONS_NOT_ASKED


def _describe_partition(
    context: RequestContext, partition: PartitionImage
) -> messages.MetadataResponseMetadataResponsePartition:
    return messages.MetadataResponseMetadataResponsePartition(
        error_code=ErrorCode.LEADER_NOT_AVAILABLE if partition.leader == NO_LEADER else ErrorCode.NONE,
        partition_index=partition.partition,
        leader_id=partition.leader,
        leader_epoch=partition.leader_epoch,
        replica_nodes=list(partition.replicas),
        isr_nodes=list(partition.isr),
        offline_replicas=context.services.replicas.offline_replicas(partition),
    )
