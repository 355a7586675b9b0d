"""A fetch that waits for min_bytes (F24-F27).

It keeps what was asked and where each partition's offset lies, nothing of what the first read found:
answering reads again, so records written meanwhile are included. Whether to answer is decided from offsets
and positions alone, no byte of the log is read for it. How to answer is a closure of whoever parked it,
so nothing here points up.
"""

from collections.abc import Callable, Sequence

from barnabas.base.enums import Enum
from barnabas.base.errors import ErrorCode
from barnabas.base.hints import Final
from barnabas.replica.fetch import NO_LEADER_EPOCH, FetchOutcome, FetchParams, FetchPartition, FetchReason
from barnabas.replica.partition import Partition
from barnabas.replica.partition_state import PartitionState
from barnabas.replica.session_partitions import SessionPartitions
from barnabas.replica.shared_reads import SharedRead, SharedReads, key_of
from barnabas.storage.offset_metadata import UNKNOWN_SEGMENT, LogOffsetMetadata
from barnabas.timing.purgatory import DelayedOperation, Purgatory

IsThrottled = Callable[[Partition, int], bool]
"""Whether replication of a partition to a follower is over its quota now."""

_NONE: Final = ErrorCode.NONE
_ONLINE: Final = PartitionState.ONLINE
_ENOUGH_BYTES: Final = FetchReason.ENOUGH_BYTES

_CASE_OF_STATE: Final = {
    PartitionState.OFFLINE: FetchReason.CASE_D_LOG_DIR_OFFLINE,
    PartitionState.REMOVED: FetchReason.CASE_B_REPLICA_GONE,
    PartitionState.DELETED: FetchReason.CASE_C_UNKNOWN_PARTITION,
}
_CASE_OF_ERROR: Final = {
    ErrorCode.NOT_LEADER_OR_FOLLOWER: FetchReason.CASE_A_NOT_LEADER,
    ErrorCode.FENCED_LEADER_EPOCH: FetchReason.CASE_E_EPOCH_FENCED,
    ErrorCode.UNKNOWN_LEADER_EPOCH: FetchReason.CASE_E_EPOCH_FENCED,
}


class DelayedFetch(DelayedOperation):
    """One parked fetch.

    Args:
        watched: the partitions, one per request in `requests`; also the watch keys.
        positions: where each fetch offset lies.
        respond: the caller's, for `answer`.
        parked_us: monotonic time.
        answer: reads again and calls `respond`.
        is_throttled: None when nothing throttles followers.
        shared_reads: what others have read in this turn; None when nothing of it may be for this fetch.

    Attributes:
        shared_read: what it is answered with; None: it has to be read.
    """

    __slots__ = (
        "_answer",
        "_is_throttled",
        "_shared_reads",
        "params",
        "parked_us",
        "positions",
        "requests",
        "respond",
        "shared_read",
        "watched",
    )

    def __init__(
        self,
        deadline_ms: int,
        *,
        params: FetchParams,
        requests: Sequence[FetchPartition],
        watched: tuple[Partition, ...],
        positions: tuple[LogOffsetMetadata, ...],
        respond: Callable[[FetchOutcome], None],
        parked_us: int,
        answer: "Callable[[DelayedFetch, FetchReason], None]",
        is_throttled: IsThrottled | None = None,
        shared_reads: SharedReads | None = None,
    ) -> None:
        super().__init__(deadline_ms)
        self.params = params
        self.requests = requests
        self.watched = watched
        self.positions = positions
        self.respond = respond
        self.parked_us = parked_us
        self._answer = answer
        self._is_throttled = is_throttled
        self._shared_reads = shared_reads
        self.shared_read: SharedRead | None = None

    def to_read(self) -> Sequence[FetchPartition]:
        """Return what the answer reads."""
        return self.requests

    def try_complete(self) -> bool:
        shared_reads = self._shared_reads
        if shared_reads is not None and shared_reads.by_key:
            params = self.params
            read = shared_reads.find(self.watched[0], key_of(params, self.requests[0]))
            if (
                read is not None
                and read.reason is not None
                and read.min_bytes == params.min_bytes
                and read.position == self.positions[0]
            ):
                self.shared_read = read
                return self.complete(read.reason)
        reason = reason_to_answer(
            self.params, self.requests, self.watched, self.positions, self._is_throttled
        )
        return reason is not None and self.complete(reason)

    def on_complete(self, reason: Enum | None) -> None:
        assert reason is None or isinstance(reason, FetchReason)
        self._answer(self, reason or FetchReason.TIMEOUT)
        self._let_go()

    def on_cancel(self) -> None:
        self._let_go()

    def _let_go(self) -> None:
        # A capped pass may still hold this operation: the connection behind `respond` is free at once (F31).
        del self.respond, self._answer
        self.shared_read = None


class DelayedSessionFetch(DelayedFetch):
    """One parked fetch of a session: it watches what was read, and the session for the quiet partitions.

    Of these it watches one that changes as if it had read it: where its offset lies is known.
    """

    __slots__ = ("_followed", "_marks_seen", "_purgatory_of_all", "_session")

    def follow(self, session: SessionPartitions, purgatory: Purgatory) -> None:
        """Call once, before it waits in `purgatory` with the session among its keys."""
        self._session = session
        self._purgatory_of_all = purgatory
        self._marks_seen = session.marks
        self._followed = dict.fromkeys(self.requests)
        session.wake = purgatory.check_later

    def to_read(self) -> Sequence[FetchPartition]:
        return self._session.to_read()

    def try_complete(self) -> bool:
        if self._session.marks != self._marks_seen:
            self._watch_what_changed()
        return super().try_complete()

    def _watch_what_changed(self) -> None:
        self._marks_seen = self._session.marks
        changed = [
            (partition, partition.hosted)
            for partition in self._session
            if partition.hosted is not None and partition not in self._followed
        ]
        self._followed.update((partition, None) for partition, _ in changed)
        hosted = tuple([found for _, found in changed])
        self.requests = [*self.requests, *(partition for partition, _ in changed)]
        self.positions = (*self.positions, *(partition.position for partition, _ in changed))
        self.watched = (*self.watched, *hosted)
        self._purgatory_of_all.watch_also(self, hosted)


def reason_to_answer_now(
    params: FetchParams,
    asked: int,
    records_bytes: int,
    notable: FetchReason | None,
) -> FetchReason | None:
    """Return which condition of F15 holds after the first read, None when the fetch must wait.

    Args:
        asked: how many partitions, also those of a session that need no reading.
        notable: an error, a diverging epoch or a preferred replica, as `FetchReader.read` tells it.
    """
    if params.max_wait_ms <= 0:
        return FetchReason.NO_WAIT
    if not asked:
        return FetchReason.NOTHING_REQUESTED
    if records_bytes >= params.min_bytes:
        return _ENOUGH_BYTES
    return notable


def reason_to_answer(
    params: FetchParams,
    requests: Sequence[FetchPartition],
    partitions: Sequence[Partition],
    positions: Sequence[LogOffsetMetadata],
    is_throttled: IsThrottled | None,
) -> FetchReason | None:
    """Return which case of F27 holds, None while the fetch must wait."""
    available_bytes = 0
    isolation = params.isolation
    only_leader = params.fetch_only_leader
    for request, partition, position in zip(requests, partitions, positions, strict=True):
        if partition.state is not _ONLINE:
            return _CASE_OF_STATE[partition.state]
        error = partition.access_error(request.current_leader_epoch, only_leader)
        if error is not _NONE:
            return _CASE_OF_ERROR[error]
        bound_offset, bound_segment, bound_position = partition.bound(isolation)
        offset, segment, start = position
        if offset > bound_offset:
            return FetchReason.CASE_F_OTHER_SEGMENT
        # At equal offsets the segments may differ after a roll: that is no case F. A place that is not known
        # is neither on an older segment nor on the same.
        if (
            offset < bound_offset
            and segment != UNKNOWN_SEGMENT != bound_segment
            and not (
                is_throttled is not None
                and params.is_from_follower
                and is_throttled(partition, params.replica_id)
            )
        ):
            if segment < bound_segment:
                return FetchReason.CASE_F_OTHER_SEGMENT
            if segment == bound_segment:
                available_bytes += min(bound_position - start, request.max_bytes)
        if request.last_fetched_epoch != NO_LEADER_EPOCH and (
            partition.diverging_epoch(request.last_fetched_epoch, request.fetch_offset) is not None
        ):
            return FetchReason.CASE_H_DIVERGING_EPOCH
    return FetchReason.CASE_G_ENOUGH_BYTES if available_bytes >= params.min_bytes else None
