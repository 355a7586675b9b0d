"""DeleteTopics (key 20), v1-6.

Deletes topics by name or, from version 6, by id.

Behaviour
- Each topic has its own result; a topic asked for twice fails with INVALID_REQUEST.
- `delete.topic.enable=false` answers TOPIC_DELETION_DISABLED (73), below version 3 INVALID_REQUEST.
Versions
- 3 TOPIC_DELETION_DISABLED (KIP-322); 5 error messages; 6 topic ids (KIP-516)
"""

from __future__ import annotations

from collections import Counter

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.uuids import NULL_UUID
from barnabas.handlers.request import RequestContext
from barnabas.protocol import messages

_FIRST_WITH_DISABLED = 3
_FIRST_WITH_STATES = 6

_Asked = tuple[str | None, bytes]
"""Name and topic id; one of them is absent (None, NULL_UUID)."""


def handle(context: RequestContext, request: messages.DeleteTopicsRequest) -> messages.DeleteTopicsResponse:
    """Check what is asked, then let the controller delete the rest."""
    services = context.services
    if not services.settings.delete_topic_enable:
        code = (
            ErrorCode.TOPIC_DELETION_DISABLED
            if context.api_version >= _FIRST_WITH_DISABLED
            else ErrorCode.INVALID_REQUEST
        )
        raise ApiError(code, "Topic deletion is disabled.")
    asked = _asked(request, context.api_version)
    counts = Counter(asked)
    response = messages.DeleteTopicsResponse()
    names: list[str] = []
    ids: list[bytes] = []
    for (name, topic_id), count in counts.items():
        error = _request_error(name, topic_id, count)
        if error is not None:
            response.responses.append(_result(name, topic_id, error))
        elif name is not None:
            names.append(name)
        else:
            ids.append(topic_id)
    for result in services.controller.delete_topics(names=names, ids=ids):
        response.responses.append(
            _result(result.name, result.topic_id, ApiError(result.error, result.message))
        )
    return response


def _request_error(name: str | None, topic_id: bytes, count: int) -> ApiError | None:
    """Return what is wrong with the way a topic is asked for; None when nothing is."""
    if name is not None and topic_id != NULL_UUID:
        return ApiError(ErrorCode.INVALID_REQUEST, "You may not specify both topic name and topic id.")
    if name is None and topic_id == NULL_UUID:
        return ApiError(ErrorCode.INVALID_REQUEST, "Neither topic name nor id were specified.")
    if count > 1:
        what = "name" if name is not None else "id"
        return ApiError(ErrorCode.INVALID_REQUEST, f"Duplicate topic {what}.")
    return None


def error_response(
    request: messages.DeleteTopicsRequest, error: ApiError, version: int
) -> messages.DeleteTopicsResponse:
    """Every topic failed for the same reason."""
    states = [(state.name, state.topic_id) for state in request.topics]
    names: list[_Asked] = [(name, NULL_UUID) for name in request.topic_names]
    return messages.DeleteTopicsResponse(
        responses=[_result(name, topic_id, error) for name, topic_id in [*states, *names]]
    )


def _asked(request: messages.DeleteTopicsRequest, version: int) -> list[_Asked]:
    if version >= _FIRST_WITH_STATES:
        return [(state.name, state.topic_id) for state in request.topics]
    return [(name, NULL_UUID) for name in request.topic_names]


def _result(
    name: str | None, topic_id: bytes, error: ApiError
) -> messages.DeleteTopicsResponseDeletableTopicResult:
    return messages.DeleteTopicsResponseDeletableTopicResult(
        name=name, topic_id=topic_id, error_code=error.code, error_message=error.message
    )
