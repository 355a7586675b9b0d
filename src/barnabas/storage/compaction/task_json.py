"""Tasks and results as lines of JSON, for the pipe between a broker and the process that cleans."""

import json

from barnabas.base.dataclass import fields
from barnabas.base.hints import Any
from barnabas.storage.compaction.task import (
    ActiveProducer,
    CleanedGroup,
    CleaningFailure,
    CleaningProgress,
    CleaningResult,
    CleaningStatistics,
    CleaningTask,
    FailureKind,
    SegmentToClean,
)
from barnabas.storage.indexes.transaction_index import AbortedTransaction


def encode_task(task: CleaningTask) -> bytes:
    """Return a task as one line."""
    return _line(_values(task))


def decode_task(line: bytes) -> CleaningTask:
    """Return the task of a line that `encode_task` made."""
    values = json.loads(line)
    values["segments"] = tuple(SegmentToClean(*item) for item in values["segments"])
    values["active_producers"] = tuple(ActiveProducer(*item) for item in values["active_producers"])
    values["aborted_beyond"] = tuple(AbortedTransaction(*item) for item in values["aborted_beyond"])
    return CleaningTask(**values)


def encode_progress(progress: CleaningProgress) -> bytes:
    """Return how far a cleaning is as one line."""
    return _line({"progress": progress})


def encode_result(result: CleaningResult) -> bytes:
    """Return a result as one line."""
    values = _values(result) | {"statistics": _values(result.statistics)}
    if result.failure is not None:
        values["failure"] = _values(result.failure) | {"kind": result.failure.kind.value}
    return _line({"result": values})


def decode_answer(line: bytes) -> CleaningProgress | CleaningResult:
    """Return what a line of the cleaning process says."""
    answer = json.loads(line)
    if "progress" in answer:
        return CleaningProgress(*answer["progress"])
    values = answer["result"]
    failure = values["failure"]
    return CleaningResult(
        cleaned_to_offset=values["cleaned_to_offset"],
        groups=tuple(
            CleanedGroup(*item)._replace(replaced=tuple(CleanedGroup(*item).replaced))
            for item in values["groups"]
        ),
        statistics=CleaningStatistics(**values["statistics"]),
        failure=None
        if failure is None
        else CleaningFailure(**(failure | {"kind": FailureKind(failure["kind"])})),
    )


def _values(instance: object) -> dict[str, Any]:
    return {item.name: getattr(instance, item.name) for item in fields(instance)}


def _line(values: dict[str, Any]) -> bytes:
    return json.dumps(values, separators=(",", ":")).encode()
