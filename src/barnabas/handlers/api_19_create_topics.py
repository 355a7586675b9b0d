"""CreateTopics (key 19), v2-7.

Creates topics, each with its own result; a topic is durable when it is answered.

Behaviour
- A name given twice fails with INVALID_REQUEST, the others go on.
- validate_only answers what would happen.
- The answer carries partitions, replication factor and effective configs (v5, KIP-525).
Versions
- 5 result details; 7 topic ids (KIP-516)
"""

from __future__ import annotations

from collections import Counter

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.handlers.request import RequestContext
from barnabas.metadata.topic_changes import TopicCreation, TopicCreationResult
from barnabas.protocol import messages


def handle(context: RequestContext, request: messages.CreateTopicsRequest) -> messages.CreateTopicsResponse:
    """Hand what is asked once to the controller."""
    named = Counter(topic.name for topic in request.topics)
    twice = [name for name, count in named.items() if count > 1]
    creations: list[TopicCreation] = []
    response = messages.CreateTopicsResponse()
    for topic in request.topics:
        if named[topic.name] > 1:
            continue
        partition = _placed_twice(topic)
        if partition is None:
            creations.append(_creation(topic))
            continue
        response.topics.append(
            _failed(
                topic.name,
                ApiError(
                    ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                    f"Found multiple manual partition assignments for partition {partition}",
                ),
            )
        )
    results = context.services.controller.create_topics(creations, validate_only=request.validate_only)
    response.topics += [
        _result(creation, result) for creation, result in zip(creations, results, strict=True)
    ]
    response.topics += [
        _failed(name, ApiError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")) for name in twice
    ]
    return response


def error_response(
    request: messages.CreateTopicsRequest, error: ApiError, version: int
) -> messages.CreateTopicsResponse:
    """Every topic failed for the same reason."""
    return messages.CreateTopicsResponse(topics=[_failed(topic.name, error) for topic in request.topics])


def _placed_twice(topic: messages.CreateTopicsRequestCreatableTopic) -> int | None:
    """Return the first partition that has more than one assignment."""
    placed: set[int] = set()
    for part in topic.assignments:
        if part.partition_index in placed:
            return part.partition_index
        placed.add(part.partition_index)
    return None


def _creation(topic: messages.CreateTopicsRequestCreatableTopic) -> TopicCreation:
    return TopicCreation(
        name=topic.name,
        num_partitions=topic.num_partitions,
        replication_factor=topic.replication_factor,
        assignments={part.partition_index: tuple(part.broker_ids) for part in topic.assignments},
        configs={config.name: config.value for config in topic.configs},
    )


def _result(
    creation: TopicCreation, result: TopicCreationResult
) -> messages.CreateTopicsResponseCreatableTopicResult:
    if result.error is not ErrorCode.NONE:
        return _failed(creation.name, ApiError(result.error, result.message))
    return messages.CreateTopicsResponseCreatableTopicResult(
        name=creation.name,
        error_message=None,
        topic_id=result.topic_id,
        num_partitions=result.num_partitions,
        replication_factor=result.replication_factor,
        configs=[
            messages.CreateTopicsResponseCreatableTopicConfigs(
                name=config.name,
                # What was asked for comes back as it was written, " 5 " for 5.
                value=creation.configs.get(config.name, config.value),
                read_only=config.read_only,
                config_source=config.source,
                is_sensitive=config.is_sensitive,
            )
            for config in result.configs
        ],
    )


def _failed(name: str, error: ApiError) -> messages.CreateTopicsResponseCreatableTopicResult:
    return messages.CreateTopicsResponseCreatableTopicResult(
        name=name, error_code=error.code, error_message=error.message
    )
