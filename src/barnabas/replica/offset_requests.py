"""What ListOffsets, OffsetForLeaderEpoch and DeleteRecords ask of the replica layer and get back."""

from barnabas.base.dataclass import dataclass
from barnabas.base.errors import ErrorCode
from barnabas.replica.fetch import CONSUMER_REPLICA_ID


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOffsetsPartition:
    """Attributes:
    timestamp: milliseconds since 1970, or one of the negative ones of `storage/offset_lookup.py`.
    current_leader_epoch: -1 when absent.
    """

    topic: str
    partition: int
    timestamp: int
    current_leader_epoch: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOffsetsResult:
    """Offset, timestamp and epoch are -1 when nothing matches or on errors."""

    error_code: ErrorCode = ErrorCode.NONE
    timestamp: int = -1
    offset: int = -1
    leader_epoch: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOffsetsParams:
    """Attributes:
    read_committed: bound by the last stable offset; only consumers have an isolation.
    version: of the request; below 5 OFFSET_NOT_AVAILABLE is told as LEADER_NOT_AVAILABLE.
    """

    replica_id: int = CONSUMER_REPLICA_ID
    read_committed: bool = False
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderEpochPartition:
    """One question of OffsetForLeaderEpoch: where does `leader_epoch` end?"""

    topic: str
    partition: int
    leader_epoch: int
    current_leader_epoch: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochEndOffset:
    """The largest epoch at or below the one asked for and the offset where it ends; -1, -1 unknown."""

    error_code: ErrorCode = ErrorCode.NONE
    leader_epoch: int = -1
    end_offset: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteRecordsPartition:
    """Delete what lies before `offset`; -1 means before the high watermark."""

    topic: str
    partition: int
    offset: int


class DeleteRecordsResult:
    """`low_watermark` is the smallest log start of all replicas; -1 on errors."""

    __slots__ = ("error_code", "low_watermark")

    def __init__(self, error_code: ErrorCode, low_watermark: int = -1) -> None:
        self.error_code = error_code
        self.low_watermark = low_watermark
