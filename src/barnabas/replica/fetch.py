"""What a fetch asks of the replica layer and what it gets back.

Plain slotted classes: all of them are made anew for every request, and freezing them would triple the cost
of making them. Keeping FetchParams per connection was rejected: to find out that a client repeats itself
costs as much as to make it.
"""

from collections.abc import Sequence

from barnabas.base.dataclass import dataclass
from barnabas.base.enums import Enum
from barnabas.base.errors import ErrorCode
from barnabas.base.hints import TYPE_CHECKING
from barnabas.base.region import FileSlice
from barnabas.storage.indexes.transaction_index import AbortedTransaction
from barnabas.storage.offset_metadata import UNKNOWN_OFFSET_METADATA, LogOffsetMetadata

if TYPE_CHECKING:
    from barnabas.base.region import LeasedFile
    from barnabas.replica.shared_reads import SharedRead
    from barnabas.storage.slice_check import CheckedSlice

CONSUMER_REPLICA_ID = -1
DEBUGGING_REPLICA_ID = -2
FUTURE_LOCAL_REPLICA_ID = -3

UNKNOWN_OFFSET = -1
NO_LEADER_EPOCH = -1
NO_PREFERRED_REPLICA = -1


class FetchIsolation(Enum):
    """How far a fetch may read (F5)."""

    LOG_END = "log_end"
    HIGH_WATERMARK = "high_watermark"
    TXN_COMMITTED = "txn_committed"


_LOG_END = FetchIsolation.LOG_END
_HIGH_WATERMARK = FetchIsolation.HIGH_WATERMARK
_TXN_COMMITTED = FetchIsolation.TXN_COMMITTED


class FetchReason(Enum):
    """Why a fetch was answered when it was: the words of the request log (F46)."""

    NO_WAIT = "max_wait_ms <= 0"
    NOTHING_REQUESTED = "no partitions requested"
    ENOUGH_BYTES = "min_bytes reached"
    ERROR = "partition error"
    DIVERGING_EPOCH = "diverging epoch"
    PREFERRED_REPLICA = "preferred replica named"
    CASE_A_NOT_LEADER = "A: not the leader any more"
    CASE_B_REPLICA_GONE = "B: replica gone"
    CASE_C_UNKNOWN_PARTITION = "C: partition unknown or deleted"
    CASE_D_LOG_DIR_OFFLINE = "D: log directory offline"
    CASE_E_EPOCH_FENCED = "E: leader epoch fenced"
    CASE_F_OTHER_SEGMENT = "F: offset beyond the bound or on an older segment"
    CASE_G_ENOUGH_BYTES = "G: min_bytes reached while waiting"
    CASE_H_DIVERGING_EPOCH = "H: diverging epoch while waiting"
    TIMEOUT = "max_wait_ms passed"
    NEXT_REQUEST = "the next request arrived on the connection"
    SHUTDOWN = "the broker stops"

    # Members are one object each; Enum's own hash is a Python call, for every fetch that is counted.
    __hash__ = object.__hash__


@dataclass(slots=True)
class ClientMetadata:
    """Who fetches, for the choice of a replica to read from (KIP-392); only versions 11 and above have it."""

    rack_id: str = ""
    client_id: str = ""
    client_address: str = ""
    listener_name: str = ""


UNTOLD_CLIENT = ClientMetadata()
"""Of a version that tells, where nobody asks."""


class FetchParams:
    """What holds for a whole fetch; not changed once made, but for how it is read.

    Attributes:
        checked: what was found of slices that helpers checked for this fetch; None when none were.
        cold_tries: how often the look-up met a cold page and was set aside for it (F44).
        may_wait: whether the look-up may wait for the disk; set by whoever reads.
        max_wait_ms: longest wait for min_bytes; <= 0 answers at once.
        min_bytes: after `bounded_limits`.
        max_bytes: shared by all partitions; after `bounded_limits`.
        replica_id: -3 future local replica, from 0 a follower's node id; every other is a consumer's (F1).
        replica_epoch: broker epoch of a follower, -1 unknown (KIP-903).
        client_metadata: None for versions up to 10, which must hit the leader (F12).
        is_from_follower: whether a replica of another broker fetches.
        fetch_only_leader: whether a follower's log will not do (F12).
    """

    __slots__ = (
        "checked",
        "client_metadata",
        "cold_tries",
        "fetch_only_leader",
        "is_from_follower",
        "isolation",
        "max_bytes",
        "max_wait_ms",
        "may_wait",
        "min_bytes",
        "replica_epoch",
        "replica_id",
    )

    def __init__(  # noqa: PLR0917 - keywords cost a third more, for every request
        self,
        max_wait_ms: int,
        min_bytes: int,
        max_bytes: int,
        isolation: FetchIsolation,
        replica_id: int = CONSUMER_REPLICA_ID,
        replica_epoch: int = -1,
        client_metadata: ClientMetadata | None = None,
    ) -> None:
        self.max_wait_ms = max_wait_ms
        self.min_bytes = min_bytes
        self.max_bytes = max_bytes
        self.isolation = isolation
        self.replica_id = replica_id
        self.replica_epoch = replica_epoch
        self.client_metadata = client_metadata
        self.cold_tries = 0
        self.checked: dict[tuple[LeasedFile, int], CheckedSlice] | None = None
        self.may_wait = True
        self.is_from_follower = replica_id >= 0
        self.fetch_only_leader = replica_id >= 0 or (
            client_metadata is None and replica_id != FUTURE_LOCAL_REPLICA_ID
        )


def bounded_limits(
    request_max_bytes: int, request_min_bytes: int, broker_max_bytes: int, quota_bytes: int | None = None
) -> tuple[int, int]:
    """Return (max_bytes, min_bytes) that a fetch really gets (F4).

    Args:
        broker_max_bytes: `fetch.max.bytes`, 55 MiB unless set.
        quota_bytes: what the client's quota window allows; None without a quota.
    """
    max_bytes = min(request_max_bytes, broker_max_bytes)
    if quota_bytes is not None:
        max_bytes = min(max_bytes, quota_bytes)
    return max_bytes, min(request_min_bytes, max_bytes)


def fetch_isolation(replica_id: int, isolation_level: int) -> FetchIsolation:
    """Return how far a fetch may read: followers and the future local replica to the log's end (F5)."""
    if replica_id >= 0 or replica_id == FUTURE_LOCAL_REPLICA_ID:
        return _LOG_END
    return _TXN_COMMITTED if isolation_level == 1 else _HIGH_WATERMARK


class FetchPartition:
    """One partition of a fetch. A fetch session may keep it and change it between requests.

    Attributes:
        topic_id: 16 bytes, NULL_UUID when the request names topics (below version 13).
        log_start_offset: a follower's own log start, -1 from consumers.
        current_leader_epoch: -1 when absent: no check (F11).
        last_fetched_epoch: -1 when absent: no check (F16).
    """

    __slots__ = (
        "current_leader_epoch",
        "fetch_offset",
        "last_fetched_epoch",
        "log_start_offset",
        "max_bytes",
        "partition",
        "topic",
        "topic_id",
    )

    def __init__(  # noqa: PLR0917 - keywords cost a third more, for every partition
        self,
        topic: str,
        topic_id: bytes,
        partition: int,
        fetch_offset: int,
        max_bytes: int,
        current_leader_epoch: int = NO_LEADER_EPOCH,
        last_fetched_epoch: int = NO_LEADER_EPOCH,
        log_start_offset: int = UNKNOWN_OFFSET,
    ) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partition = partition
        self.fetch_offset = fetch_offset
        self.max_bytes = max_bytes
        self.current_leader_epoch = current_leader_epoch
        self.last_fetched_epoch = last_fetched_epoch
        self.log_start_offset = log_start_offset


class FetchPartitionResult:
    """What one partition of a fetch gave. Offsets are -1 on errors.

    Attributes:
        records: None for none; whoever gets the result releases it (see `FetchOutcome.release`).
        aborted_transactions: None unless read_committed (F17).
        preferred_read_replica: -1 for none.
        diverging_epoch: (epoch, end offset) where the histories part, or None (F16).
        offset_metadata: where the fetch offset lies: where a fetch that parks counts its bytes from.
        leader_id, leader_epoch: the leader as far as known when the error calls for it (KIP-951), else -1.
    """

    __slots__ = (
        "aborted_transactions",
        "diverging_epoch",
        "error_code",
        "high_watermark",
        "last_stable_offset",
        "leader_epoch",
        "leader_id",
        "log_start_offset",
        "offset_metadata",
        "preferred_read_replica",
        "records",
    )

    def __init__(  # noqa: PLR0917 - keywords cost a third more, for every partition
        self,
        error_code: ErrorCode,
        high_watermark: int = UNKNOWN_OFFSET,
        last_stable_offset: int = UNKNOWN_OFFSET,
        log_start_offset: int = UNKNOWN_OFFSET,
        offset_metadata: LogOffsetMetadata = UNKNOWN_OFFSET_METADATA,
        records: FileSlice | None = None,
        aborted_transactions: Sequence[AbortedTransaction] | None = None,
        preferred_read_replica: int = NO_PREFERRED_REPLICA,
        diverging_epoch: tuple[int, int] | None = None,
    ) -> None:
        self.error_code = error_code
        self.high_watermark = high_watermark
        self.last_stable_offset = last_stable_offset
        self.log_start_offset = log_start_offset
        self.offset_metadata = offset_metadata
        self.records = records
        self.aborted_transactions = aborted_transactions
        self.preferred_read_replica = preferred_read_replica
        self.diverging_epoch = diverging_epoch
        self.leader_id = -1
        self.leader_epoch = -1


class FetchOutcome:
    """The answer to a fetch.

    Attributes:
        partitions: what was read, in the order of its reading: of a session what had to be (F37).
        results: one for each of these.
        records_bytes: of all results together.
        parked_us: monotonic time when it began to wait; -1 when it was answered at once. Kafka's local time
            ends here and its remote time begins.
        answered_us: monotonic time when it stopped waiting; -1 when it was answered at once.
    """

    __slots__ = ("answered_us", "parked_us", "partitions", "reason", "records_bytes", "results")

    def __init__(  # noqa: PLR0917 - keywords cost a third more, for every request
        self,
        partitions: Sequence[FetchPartition],
        results: list[FetchPartitionResult],
        reason: FetchReason,
        records_bytes: int,
        parked_us: int = -1,
        answered_us: int = -1,
    ) -> None:
        self.partitions = partitions
        self.results = results
        self.reason = reason
        self.records_bytes = records_bytes
        self.parked_us = parked_us
        self.answered_us = answered_us

    def release(self) -> None:
        """Give back every slice: for an answer that nobody will send."""
        release_records(self.results)


class SharedOutcome(FetchOutcome):
    """The answer to a fetch that gets what another one has read, by a result and a slice of its own.

    Attributes:
        read: what was read, and what answers to such fetches have in common.
    """

    __slots__ = ("read",)

    def __init__(
        self,
        read: "SharedRead",
        partitions: Sequence[FetchPartition],
        reason: FetchReason,
        parked_us: int,
        answered_us: int,
    ) -> None:
        self.read = read
        self.partitions = partitions
        self.results = [read.result()]
        self.reason = reason
        self.records_bytes = read.records.length
        self.parked_us = parked_us
        self.answered_us = answered_us


def release_records(results: Sequence[FetchPartitionResult]) -> None:
    """Give back the slices of results that will not be sent (F22)."""
    for result in results:
        if result.records is not None:
            result.records.release()
