"""How a fetch would be answered, told step by step: the words behind `barnabas explain fetch`.

The answer itself is not worked out here: `FetchReader.read`, the code that serves clients, reads first, and
the steps then lead to what it found, asking the same pure pieces that it asked (`Partition.access_error`,
`Segments.floor`, `LogSegment.find`, `reason_to_answer` and so on). Where the steps and the answer part, the
explanation is refused as wrong (`ExplainError`). An observer in the reading code was rejected: every
fetch would pay for it.

Nothing is changed: no follower's state, no waiting fetch, no counter; slices are given back at once.
"""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.base.dataclass import dataclass, field
from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.hints import TYPE_CHECKING, Final
from barnabas.base.named_tuple import NamedTuple
from barnabas.base.uuids import NULL_UUID
from barnabas.replica.delayed_fetch import reason_to_answer, reason_to_answer_now
from barnabas.replica.explain_log import LogRead, explain_log_read
from barnabas.replica.fetch import (
    CONSUMER_REPLICA_ID,
    NO_LEADER_EPOCH,
    NO_PREFERRED_REPLICA,
    FetchIsolation,
    FetchParams,
    FetchPartition,
    FetchPartitionResult,
    FetchReason,
    release_records,
)

if TYPE_CHECKING:
    from barnabas.replica.fetch_reader import FetchReader
    from barnabas.replica.hosted_partitions import HostedPartitions
    from barnabas.replica.partition import Partition
    from barnabas.storage.log import Log

_NONE: Final = ErrorCode.NONE

_BOUND_NAMES: Final = {
    FetchIsolation.LOG_END: ("log end offset", "replicas read all there is"),
    FetchIsolation.HIGH_WATERMARK: ("high watermark", "consumers read what every in-sync replica has"),
    FetchIsolation.TXN_COMMITTED: ("last stable offset", "read_committed stops before open transactions"),
}

_NOW_WORDS: Final = {
    FetchReason.NO_WAIT: "max.wait is 0",
    FetchReason.NOTHING_REQUESTED: "no partition is asked for",
    FetchReason.ENOUGH_BYTES: "min.bytes is reached",
    FetchReason.ERROR: "a partition has an error",
    FetchReason.DIVERGING_EPOCH: "the reader's history diverges from ours",
    FetchReason.PREFERRED_REPLICA: "another replica is named to read from",
}


class _Share(NamedTuple):
    """What the partitions before left of the byte limit, and whether they were all empty (F6, F7)."""

    left_bytes: int
    is_first: bool


class ExplainError(AssertionError):
    """The steps do not lead to what was read: a fault in the explanation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainStep:
    """One step on the way of a fetch.

    Attributes:
        name: a word for programs, such as `segment`.
        rule: what the project's contract of the fetch path calls it, such as `F18`.
        text: one line: what happens, and why.
        facts: the same in numbers, fit for JSON.
    """

    name: str
    rule: str
    text: str
    facts: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchExplanation:
    """How one partition of a fetch would be answered.

    Attributes:
        result: without its slice, which was given back: see `slice_place`.
        slice_place: (file, position, length) of the records; None for none.
        records_bytes: of all partitions of the fetch.
        reason: why it is answered now; None: it waits.
    """

    steps: list[ExplainStep]
    result: FetchPartitionResult
    slice_place: tuple[str, int, int] | None
    records_bytes: int
    reason: FetchReason | None
    error_code: ErrorCode


def explain_fetch(
    reader: FetchReader,
    partitions: HostedPartitions,
    params: FetchParams,
    requests: Sequence[FetchPartition],
    focus: int,
) -> FetchExplanation:
    """Tell how the partition `requests[focus]` of a fetch would be answered.

    Args:
        reader, partitions: the replica manager's.
        requests: all partitions of the fetch, in order; those before share the byte limit.
    Raises:
        ExplainError: a fault of this module.
    """
    results, records_bytes, notable = reader.read(params, requests, is_first=False)
    _uncount(partitions, requests)
    try:
        request, result = requests[focus], results[focus]
        before = [other.records for other in results[:focus]]
        spent = sum(len(records) for records in before if records is not None)
        share = _Share(max(0, params.max_bytes - spent), spent == 0)
        steps = _partition_steps(partitions, params, request, result, share)
        records = result.records
        place = None if records is None else (records.path, records.position, records.length)
        reason = reason_to_answer_now(params, len(requests), records_bytes, notable)
        decision: list[ExplainStep]
        if reason is not None:
            decision = [_answered_now(params, records_bytes, reason)]
        else:
            reason, step = _second_look(partitions, params, requests, results, records_bytes)
            decision = [step]
        steps += decision
    finally:
        release_records(results)
    return FetchExplanation(
        steps=steps,
        result=result,
        slice_place=place,
        records_bytes=records_bytes,
        reason=reason,
        error_code=result.error_code,
    )


def _uncount(partitions: HostedPartitions, requests: Sequence[FetchPartition]) -> None:
    """Take back what the read counted: nobody fetched."""
    for request in requests:
        partition = partitions.by_name.get((request.topic, request.partition))
        if partition is not None and request.topic_id in (partition.topic_id, NULL_UUID):
            partition.traffic.fetches -= 1


def _partition_steps(
    partitions: HostedPartitions,
    params: FetchParams,
    request: FetchPartition,
    result: FetchPartitionResult,
    share: _Share,
) -> list[ExplainStep]:
    """Return the steps from the look-up to the slice."""
    partition = partitions.by_name.get((request.topic, request.partition))
    steps = [_lookup(partition, request, result)]
    if partition is None or request.topic_id not in (partition.topic_id, NULL_UUID):
        return steps
    error = partition.access_error(request.current_leader_epoch, params.fetch_only_leader)
    steps += _leadership(partition, params, request, error)
    if error is not _NONE:
        return _agree(steps, result.error_code is error, "access error")
    if params.is_from_follower and result.error_code is not _NONE and not _is_known(partition, params):
        steps.append(_unknown_follower(params, result))
        return steps
    if result.preferred_read_replica != NO_PREFERRED_REPLICA:
        text = f"replica {result.preferred_read_replica} is nearer to the consumer: it is told to read there"
        steps.append(ExplainStep(name="preferred_replica", rule="F10", text=text))
        return steps
    if params.is_from_follower and result.error_code is _NONE and result.diverging_epoch is None:
        steps.append(_follower(params, request))
    steps += [_offsets(partition), _bound(partition, params)]
    if request.last_fetched_epoch != NO_LEADER_EPOCH:
        diverges, step = _history(partition, request, result)
        steps.append(step)
        if diverges:
            return steps
    in_range = partition.log.log_start_offset <= request.fetch_offset <= partition.log.log_end_offset
    steps.append(_range(partition, params, request))
    if not in_range:
        return _agree(steps, result.error_code is ErrorCode.OFFSET_OUT_OF_RANGE, "offset out of range")
    bound = partition.bound(params.isolation)
    if request.fetch_offset >= bound.message_offset:
        return _agree(steps, result.records is None and result.error_code is _NONE, "nothing to read")
    left = share.left_bytes
    read = LogRead(
        offset=request.fetch_offset,
        bound=bound,
        max_bytes=min(request.max_bytes, left),
        min_one_message=share.is_first,
        limit_words=_limit_words(request, left, params),
        include_aborted=params.isolation is FetchIsolation.TXN_COMMITTED,
    )
    if result.error_code is not _NONE:
        steps.append(_failed_read(partition.log, read, result))
        return steps
    log_steps, agrees = explain_log_read(partition.log, read, result)
    steps += [
        ExplainStep(name=name, rule=rule, text=text, facts=facts) for name, rule, text, facts in log_steps
    ]
    return _agree(steps, agrees, "slice")


def _failed_read(log: Log, read: LogRead, result: FetchPartitionResult) -> ExplainStep:
    """Tell what hindered the read of the log, which it meets again."""
    code = result.error_code
    why = f"{code.name} ({int(code)})"
    try:
        explain_log_read(log, read, result)
    except (ApiError, OSError) as error:
        why = f"{why}: {error}"
    return ExplainStep(
        name="failed_read", rule="F43", text=f"the log cannot be read: {why}", facts={"error_code": int(code)}
    )


def _agree(steps: list[ExplainStep], agrees: bool, what: str) -> list[ExplainStep]:
    if not agrees:
        told = "\n".join(step.text for step in steps)
        raise ExplainError(f"the explanation does not lead to what was read ({what}):\n{told}")
    return steps


def _limit_words(request: FetchPartition, left: int, params: FetchParams) -> str:
    if request.max_bytes <= left:
        return f"partition.max.bytes {request.max_bytes}"
    return f"max.bytes {params.max_bytes}" if left == params.max_bytes else f"{left} bytes left of max.bytes"


def _is_known(partition: Partition, params: FetchParams) -> bool:
    return params.replica_id in partition.followers


# Steps


def _lookup(
    partition: Partition | None, request: FetchPartition, result: FetchPartitionResult
) -> ExplainStep:
    name = f"{request.topic}-{request.partition}"
    facts: dict[str, object] = {"topic": request.topic, "partition": request.partition}
    if partition is None:
        text = f"{name} is not here: {result.error_code.name} ({int(result.error_code)})"
    elif request.topic_id not in (partition.topic_id, NULL_UUID):
        text = f"{name} is here under another topic id: {result.error_code.name} ({int(result.error_code)})"
    else:
        facts |= {"log": partition.log.path, "state": partition.state.name}
        with_id = "by its topic id " if request.topic_id != NULL_UUID else ""
        text = f"{name} is found {with_id}in {partition.log.path}, {partition.state.name.lower()}"
    return ExplainStep(name="lookup", rule="F10", text=text, facts=facts)


def _leadership(
    partition: Partition, params: FetchParams, request: FetchPartition, error: ErrorCode
) -> list[ExplainStep]:
    ours, theirs = partition.leader_epoch, request.current_leader_epoch
    facts: dict[str, object] = {
        "leader": partition.leader_id,
        "leader_epoch": ours,
        "current_leader_epoch": theirs,
        "only_leader": params.fetch_only_leader,
        "error_code": int(error),
    }
    failed = f": {error.name} ({int(error)})"
    if error is ErrorCode.NOT_LEADER_OR_FOLLOWER:
        return [
            ExplainStep(
                name="leadership",
                rule="F12",
                text=f"the leader is {partition.leader_id}, and this reader must hit it{failed}",
                facts=facts,
            )
        ]
    if error is ErrorCode.KAFKA_STORAGE_ERROR or partition.leader_epoch != ours:
        text = f"the log directory has failed{failed}"
    elif theirs == NO_LEADER_EPOCH:
        text = f"no leader epoch is told, so ours ({ours}) is not compared"
    elif error is _NONE:
        text = f"leader epoch {theirs} is ours: the reader knows the same leader"
    elif error is ErrorCode.FENCED_LEADER_EPOCH:
        text = f"leader epoch {theirs} is older than ours, {ours}{failed}"
    elif error is ErrorCode.UNKNOWN_LEADER_EPOCH:
        text = f"leader epoch {theirs} is newer than ours, {ours}{failed}"
    else:
        text = f"the partition is {partition.state.name.lower()}{failed}"
    return [ExplainStep(name="leader_epoch", rule="F11", text=text, facts=facts)]


def _unknown_follower(params: FetchParams, result: FetchPartitionResult) -> ExplainStep:
    code = result.error_code
    return ExplainStep(
        name="follower",
        rule="F1",
        text=f"node {params.replica_id} is no replica of this partition: {code.name} ({int(code)})",
        facts={"replica_id": params.replica_id, "error_code": int(code)},
    )


def _follower(params: FetchParams, request: FetchPartition) -> ExplainStep:
    return ExplainStep(
        name="follower",
        rule="F29",
        text=(
            f"node {params.replica_id} has all before offset {request.fetch_offset}: the fetch would note "
            "that, which may raise the high watermark and wake others"
        ),
        facts={"replica_id": params.replica_id, "log_end_offset": request.fetch_offset},
    )


def _offsets(partition: Partition) -> ExplainStep:
    snapshot = partition.offset_snapshot()
    start, end = snapshot.log_start_offset, snapshot.log_end_offset.message_offset
    high_watermark = snapshot.high_watermark.message_offset
    stable = snapshot.last_stable_offset.message_offset
    return ExplainStep(
        name="offsets",
        rule="F13",
        text=(
            f"captured before the read: log start {start}, last stable {stable}, "
            f"high watermark {high_watermark}, log end {end}"
        ),
        facts={
            "log_start_offset": start,
            "last_stable_offset": stable,
            "high_watermark": high_watermark,
            "log_end_offset": end,
        },
    )


def _bound(partition: Partition, params: FetchParams) -> ExplainStep:
    bound = partition.bound(params.isolation)
    name, why = _BOUND_NAMES[params.isolation]
    if params.isolation is FetchIsolation.LOG_END and params.replica_id < CONSUMER_REPLICA_ID:
        why = "a replica that moves between log directories reads all there is"
    return ExplainStep(
        name="bound",
        rule="F5",
        text=(
            f"it may read to the {name}, {bound.message_offset} "
            f"(segment {bound.segment_base_offset}, byte {bound.position_in_segment}): {why}"
        ),
        facts={
            "isolation": params.isolation.value,
            "bound": bound.message_offset,
            "segment_base_offset": bound.segment_base_offset,
            "position": bound.position_in_segment,
        },
    )


def _history(
    partition: Partition, request: FetchPartition, result: FetchPartitionResult
) -> tuple[bool, ExplainStep]:
    """Return whether the read ends here, and the step."""
    diverging = partition.diverging_epoch(request.last_fetched_epoch, request.fetch_offset)
    told = f"last fetched epoch {request.last_fetched_epoch} at offset {request.fetch_offset}"
    facts: dict[str, object] = {"last_fetched_epoch": request.last_fetched_epoch, "diverging": diverging}
    if diverging is None:
        text = f"{told} agrees with our history of leader epochs"
    elif result.error_code is not _NONE:
        text = f"{told}: where the histories part cannot be told: {result.error_code.name}"
    else:
        text = (
            f"{told} is not our history: told to cut back to offset {diverging[1]} of epoch {diverging[0]}; "
            "no records"
        )
    return diverging is not None, ExplainStep(name="history", rule="F16", text=text, facts=facts)


def _range(partition: Partition, params: FetchParams, request: FetchPartition) -> ExplainStep:
    log, offset = partition.log, request.fetch_offset
    bound = partition.bound(params.isolation).message_offset
    start, end = log.log_start_offset, log.log_end_offset
    if not start <= offset <= end:
        text = (
            f"offset {offset} is outside of {start}..{end}: OFFSET_OUT_OF_RANGE (1), all offsets told as -1"
        )
        where = "outside"
    elif offset == bound:
        text, where = (
            f"offset {offset} is the bound: nothing to read yet, and nothing is looked up",
            "at bound",
        )
    elif offset > bound:
        text = f"offset {offset} lies beyond the bound {bound} but not the log's end {end}: empty, no error"
        where = "beyond bound"
    else:
        text, where = f"offset {offset} lies in {start}..{end} and before the bound {bound}", "readable"
    return ExplainStep(name="range", rule="F14", text=text, facts={"offset": offset, "where": where})


# The decision


def _have(params: FetchParams, records_bytes: int) -> str:
    return f"{records_bytes} of min.bytes {params.min_bytes}"


def _decision_facts(params: FetchParams, records_bytes: int) -> dict[str, object]:
    return {
        "records_bytes": records_bytes,
        "min_bytes": params.min_bytes,
        "max_wait_ms": params.max_wait_ms,
    }


def _answered_now(params: FetchParams, records_bytes: int, reason: FetchReason) -> ExplainStep:
    return ExplainStep(
        name="decision",
        rule="F15",
        text=f"answered now: {_NOW_WORDS[reason]} ({_have(params, records_bytes)})",
        facts={**_decision_facts(params, records_bytes), "answer": "now", "reason": reason.value},
    )


def _second_look(
    partitions: HostedPartitions,
    params: FetchParams,
    requests: Sequence[FetchPartition],
    results: Sequence[FetchPartitionResult],
    records_bytes: int,
) -> tuple[FetchReason | None, ExplainStep]:
    """Try the fetch as one that waits is tried, before it is watched for (F25)."""
    watched = [partitions.by_name[request.topic, request.partition] for request in requests]
    positions = [result.offset_metadata for result in results]
    reason = reason_to_answer(params, requests, watched, positions, None)
    facts = _decision_facts(params, records_bytes)
    have = _have(params, records_bytes)
    if reason is not None:
        facts |= {"answer": "now", "reason": reason.value}
        text = f"answered before it waits: case {reason.value} ({have})"
        return reason, ExplainStep(name="decision", rule="F27", text=text, facts=facts)
    keys = [f"{request.topic}-{request.partition}" for request in requests]
    facts |= {"answer": "park", "watch_keys": keys}
    shown = ", ".join(keys[:3]) + (f" and {len(keys) - 3} more" if len(keys) > 3 else "")
    text = (
        f"parked for up to {params.max_wait_ms} ms, watching {shown}: {have}, no error; "
        "more bytes below the bound, an error or the time-out end the wait, and it reads again"
    )
    return None, ExplainStep(name="decision", rule="F24", text=text, facts=facts)
