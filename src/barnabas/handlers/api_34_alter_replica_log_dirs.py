"""AlterReplicaLogDirs (key 34), v1-2.

Says in which log directory a replica shall lie (KIP-113).

Behaviour
- A replica that lies there already is fine: that is every right request to a broker with one directory.
- An unknown directory is LOG_DIR_NOT_FOUND, one that failed KAFKA_STORAGE_ERROR.
- A replica is not moved between directories: that is refused with REPLICA_NOT_AVAILABLE and changes nothing.
"""

from __future__ import annotations

import posixpath

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.handlers.request import RequestContext
from barnabas.protocol import messages


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
    normal = posixpath.normpath(path) if posixpath.isabs(path) else None
    target = next((one for one in services.logs.directories if one.path == normal), None)
    if target is None:
        return ErrorCode.LOG_DIR_NOT_FOUND
    if not target.online:
        return ErrorCode.KAFKA_STORAGE_ERROR
    try:
        found = services.replicas.partitions.get(topic, partition)
    except ApiError as error:
        return error.code
    return ErrorCode.NONE if found.log.directory is target else ErrorCode.REPLICA_NOT_AVAILABLE


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
