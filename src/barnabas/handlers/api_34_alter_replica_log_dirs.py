"""AlterReplicaLogDirs (key 34), v1-2.

Says in which log directory a replica shall lie (KIP-113).

Behaviour
- A replica that lies elsewhere begins to move; the answer does not wait for the end, which DescribeLogDirs
  tells.
- Asked for again, nothing changes; another directory changes where it goes, its own calls the move off.
- A partition that is not there yet will be made in that directory, and answers REPLICA_NOT_AVAILABLE.
- A directory that is not named as in log.dirs is LOG_DIR_NOT_FOUND, one that failed KAFKA_STORAGE_ERROR, and
  so is every move while any directory is offline, since it may hold an earlier copy. A cordoned one is
  INVALID_REPLICA_ASSIGNMENT (KIP-1066).
"""

from __future__ import annotations

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.handlers.request import RequestContext
from barnabas.protocol import messages
from barnabas.storage.partition_directory import fits_future_name
from barnabas.storage.topic_partition import TopicPartition


def handle(
    context: RequestContext, request: messages.AlterReplicaLogDirsRequest
) -> messages.AlterReplicaLogDirsResponse:
    """Answer each replica by where it lies."""
    errors = {}
    for directory in request.dirs:
        for topic in directory.topics:
            for partition in topic.partitions:
                errors[topic.name, partition] = _error(context, directory.path, topic.name, partition)
    return _response(errors)


def error_response(
    request: messages.AlterReplicaLogDirsRequest, error: ApiError, version: int
) -> messages.AlterReplicaLogDirsResponse:
    """Every replica failed for the same reason."""
    return _response(
        {
            (topic.name, partition): error.code
            for directory in request.dirs
            for topic in directory.topics
            for partition in topic.partitions
        }
    )


def _error(context: RequestContext, path: str, topic: str, partition: int) -> ErrorCode:
    services = context.services
    key = TopicPartition(topic, partition)
    if not fits_future_name(key):
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    target = next((one for one in services.logs.directories if one.path == path), None)
    if target is None:
        return ErrorCode.LOG_DIR_NOT_FOUND
    if not target.online:
        return ErrorCode.KAFKA_STORAGE_ERROR
    if target.cordoned:
        return ErrorCode.INVALID_REPLICA_ASSIGNMENT
    try:
        log = services.replicas.partitions.get(topic, partition).log
        if log.directory is not target or key in services.logs.moving:
            services.logs.future_logs.move(log, target)
    except ApiError as error:
        if error.code in (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NOT_LEADER_OR_FOLLOWER):
            services.logs.placement.prefer(key, target)
        return (
            ErrorCode.REPLICA_NOT_AVAILABLE if error.code is ErrorCode.NOT_LEADER_OR_FOLLOWER else error.code
        )
    return ErrorCode.NONE


def _response(errors: dict[tuple[str, int], ErrorCode]) -> messages.AlterReplicaLogDirsResponse:
    topics: dict[str, messages.AlterReplicaLogDirsResponseAlterReplicaLogDirTopicResult] = {}
    for (name, partition), error in errors.items():
        topic = topics.get(name)
        if topic is None:
            topic = messages.AlterReplicaLogDirsResponseAlterReplicaLogDirTopicResult(topic_name=name)
            topics[name] = topic
        topic.partitions.append(
            messages.AlterReplicaLogDirsResponseAlterReplicaLogDirPartitionResult(
                partition_index=partition, error_code=error
            )
        )
    return messages.AlterReplicaLogDirsResponse(results=list(topics.values()))
