"""What an append from a client asks of the replica layer and what it gets back."""

from collections.abc import Sequence

from barnabas.base.disk import Buffer
from barnabas.base.enums import Enum
from barnabas.base.errors import ErrorCode
from barnabas.storage.batch_validation import RecordError
from barnabas.storage.producer_state.states import VerificationState

OFFSETS_TOPIC = "__consumer_offsets"
TRANSACTION_TOPIC = "__transaction_state"

INTERNAL_TOPICS = frozenset((OFFSETS_TOPIC, TRANSACTION_TOPIC, "__share_group_state"))
"""Topics that only the broker itself writes (Kafka refuses others with INVALID_TOPIC_EXCEPTION)."""

LOG_START_UNTOLD = frozenset(
    (
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.KAFKA_STORAGE_ERROR,
    )
)
"""Errors of Produce that Apache Kafka answers without a log start offset."""


class AppendReason(Enum):
    """Why a produce was answered when it was: for the request log."""

    APPENDED = "appended, nothing to wait for"
    NOTHING_APPENDED = "every partition failed"
    SYNCED = "every partition is synced as flush.messages asks, or failed"
    REPLICATED = "every partition reached its required offset or failed"
    TIMEOUT = "timeout_ms passed"
    SHUTDOWN = "the broker stops"


class AppendPartition:
    """One partition of a produce: `records` is one whole record batch as it came off the wire."""

    __slots__ = ("partition", "records", "topic", "topic_id")

    verification: VerificationState | None = None

    def __init__(self, topic: str, topic_id: bytes, partition: int, records: Buffer | None) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partition = partition
        self.records = records


class VerifiedAppendPartition(AppendPartition):
    """One partition of a produce that may begin a transaction there: `verification` says that it may.

    A class of its own, so that all other produces need not carry that.
    """

    __slots__ = ("verification",)

    verification: VerificationState | None


class AppendPartitionResult:
    """What became of one partition of a produce.

    Attributes:
        base_offset: -1 on errors.
        last_offset: -1 on errors.
        log_append_time_ms: -1 unless the topic stamps LogAppendTime.
        log_start_offset: -1 on errors.
        leader_id, leader_epoch: the leader as far as known when the error calls for it (KIP-951), else -1.
    """

    __slots__ = (
        "base_offset",
        "error_code",
        "error_message",
        "last_offset",
        "leader_epoch",
        "leader_id",
        "log_append_time_ms",
        "log_start_offset",
        "record_errors",
    )

    def __init__(  # noqa: PLR0917 - keywords cost a third more, for every partition
        self,
        error_code: ErrorCode = ErrorCode.NONE,
        base_offset: int = -1,
        last_offset: int = -1,
        log_append_time_ms: int = -1,
        log_start_offset: int = -1,
        error_message: str | None = None,
        record_errors: Sequence[RecordError] = (),
    ) -> None:
        self.error_code = error_code
        self.base_offset = base_offset
        self.last_offset = last_offset
        self.log_append_time_ms = log_append_time_ms
        self.log_start_offset = log_start_offset
        self.error_message = error_message
        self.record_errors = record_errors
        self.leader_id = -1
        self.leader_epoch = -1


class AppendOutcome:
    """The answer to a produce.

    Attributes:
        results: one per partition, in request order.
        parked_us, answered_us: as in FetchOutcome.
    """

    __slots__ = ("answered_us", "parked_us", "reason", "results")

    def __init__(
        self,
        results: list[AppendPartitionResult],
        reason: AppendReason,
        parked_us: int = -1,
        answered_us: int = -1,
    ) -> None:
        self.results = results
        self.reason = reason
        self.parked_us = parked_us
        self.answered_us = answered_us

    @property
    def has_error(self) -> bool:
        """Whether any partition failed: with acks=0 the connection closes then (P1)."""
        return any(result.error_code != ErrorCode.NONE for result in self.results)
