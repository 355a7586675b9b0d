"""One read for all fetches that an append wakes and that must be answered alike (F24).

Ten thousand consumers that wait at the end of one partition are answered with the same records. The first of
them that is woken in a turn of the loop reads the log; the others get what it got: a slice of their own of
the same place, and from the handler the same bytes, which it keeps here (`SharedRead.body`).

Rule: a fetch that was parked takes over another one's result exactly when reading itself would give that.
What a read depends on is
- what is asked: topic, id, partition, offset, epochs, the limits of partition and request, isolation, and
  whether a follower's log will do. All of these are equal, since the key of the table is made of them. How
  long a fetch waits, for how much, on which connection or session plays no part in what is read;
- who asks: a follower's read moves watermarks, a consumer may be sent to another replica, and a verifier
  looks at what is read. None of these shares anything, nor does a fetch of several partitions, which use up
  one another's limit;
- the log and its partition: whatever a read may notice of them is told to the log's ChangeWatch, since
  sessions rely on that, and ends the sharing. A failed directory is asked for besides: a read meets it before
  it is told.
Nothing but a read that found records is shared: no error, no redirection, no diverging epoch.

Whether to answer depends on the minimum of bytes and on the place in the log besides. Where these are equal,
too, the case of F27 is taken over, unless the first fetch was answered for another reason than data.

A read is kept until the end of the turn, so that neither its lease nor its bytes stay when nobody is left.

Rejected: one object for all fetches that wait alike, made when they are parked. To look for it costs every
fetch that is parked, most of which are alone, as much as a shared answer saves.
"""

from barnabas.base.errors import ErrorCode
from barnabas.base.hints import TYPE_CHECKING, Final
from barnabas.base.region import FileSlice
from barnabas.replica.fetch import (
    FetchIsolation,
    FetchParams,
    FetchPartition,
    FetchPartitionResult,
    FetchReason,
)
from barnabas.storage.offset_metadata import LogOffsetMetadata

if TYPE_CHECKING:
    from barnabas.replica.partition import Partition

READS_MAX: Final = 64
"""Kept at once. Their bytes are up to 64 KiB each."""

_NONE: Final = ErrorCode.NONE
_CASES_OF_DATA: Final = (FetchReason.CASE_G_ENOUGH_BYTES, FetchReason.CASE_F_OTHER_SEGMENT)

Key = tuple[str, bytes, int, int, int, int, int, int, FetchIsolation, bool]


def key_of(params: FetchParams, request: FetchPartition) -> Key:
    """Return all that a read by a consumer depends on, but for the log."""
    return (
        request.topic,
        request.topic_id,
        request.partition,
        request.fetch_offset,
        request.max_bytes,
        request.current_leader_epoch,
        request.last_fetched_epoch,
        params.max_bytes,
        params.isolation,
        params.fetch_only_leader,
    )


class SharedRead:
    """What one fetch read, and others may be answered with.

    Attributes:
        is_valid: nothing has changed since.
        partition: the one that was read.
        records: held open by a lease of their own.
        reason: which case of F27 the first fetch was woken for; None when it was answered for another reason,
            which tells nothing of the others.
        min_bytes, position: what it waited for, and from where: of these the case depends, the read does not.
        body: kept by the handler: an answer but for header and session, as one kind of connection gets it.
        body_served, body_traffic: of which version and listener that is; None while there is none.
    """

    __slots__ = (
        "_first",
        "body",
        "body_served",
        "body_traffic",
        "is_valid",
        "min_bytes",
        "partition",
        "position",
        "reason",
        "records",
    )

    def __init__(
        self,
        partition: "Partition",
        first: FetchPartitionResult,
        records: FileSlice,
        *,
        reason: FetchReason | None,
        min_bytes: int,
        position: LogOffsetMetadata | None,
    ) -> None:
        self.partition = partition
        self.is_valid = True
        self.reason = reason if reason in _CASES_OF_DATA else None
        self.min_bytes = min_bytes
        self.position = position
        self.body = b""
        self.body_served: object = None
        self.body_traffic: object = None
        # A lease of its own, since the first one's is released when it is out; and a copy of what the first
        # fetch was told, since that may be changed for an old client. Without a verifier nothing guards it.
        self.records = FileSlice(records.leased, records.position, records.length)
        self._first = FetchPartitionResult(
            _NONE,
            first.high_watermark,
            first.last_stable_offset,
            first.log_start_offset,
            first.offset_metadata,
            None,
            first.aborted_transactions,
        )
        partition.log.watch.add(self)

    def changed(self) -> None:
        """Called by the log's ChangeWatch."""
        self.is_valid = False

    def result(self) -> FetchPartitionResult:
        """Return a result of its own for another fetch, which releases its slice as any."""
        first, records = self._first, self.records
        return FetchPartitionResult(
            _NONE,
            first.high_watermark,
            first.last_stable_offset,
            first.log_start_offset,
            first.offset_metadata,
            FileSlice(records.leased, records.position, records.length),
            first.aborted_transactions,
        )

    def release(self) -> None:
        """Hold the file open no longer, and be told no more."""
        self.is_valid = False
        self.records.release()
        self.partition.log.watch.discard(self)


class SharedReads:
    """The reads of this turn that others may share.

    Attributes:
        by_key: see `key_of`; at most READS_MAX.
    """

    __slots__ = ("by_key",)

    def __init__(self) -> None:
        self.by_key: dict[Key, SharedRead] = {}

    def find(self, partition: "Partition", key: Key) -> SharedRead | None:
        """Return what was read for this key, if reading now would give the same."""
        read = self.by_key.get(key)
        if read is None:
            return None
        if read.is_valid and read.partition is partition and partition.log.directory.failure is None:
            return read
        del self.by_key[key]
        read.release()
        return None

    def keep(self, key: Key, read: SharedRead) -> None:
        """Let others share it until the end of the turn."""
        self.by_key[key] = read

    def clear(self) -> None:
        """Forget all: the turn is over."""
        reads = list(self.by_key.values())
        self.by_key.clear()
        for read in reads:
            read.release()
