"""A DeleteRecords that waits until every replica's log starts at the wanted offset.

Followers learn of the new start from the leader's fetch answers and tell their own in their next fetch.
"""

from collections.abc import Callable

from barnabas.base.enums import Enum
from barnabas.base.errors import ErrorCode
from barnabas.replica.fetch import NO_LEADER_EPOCH
from barnabas.replica.offset_requests import DeleteRecordsResult
from barnabas.replica.partition import Partition
from barnabas.timing.purgatory import DelayedOperation


class DeleteRecordsReason(Enum):
    """Why a DeleteRecords that waited was answered."""

    LOW_WATERMARK = "every replica has followed or failed"
    SHUTDOWN = "the broker stops"


class DelayedDeleteRecords(DelayedOperation):
    """One parked DeleteRecords.

    Args:
        waiting: (result, partition, offset that the low watermark must reach) of each undecided partition.
        results: of all partitions, in request order.
    """

    __slots__ = ("_waiting", "respond", "results")

    def __init__(
        self,
        deadline_ms: int,
        waiting: list[tuple[DeleteRecordsResult, Partition, int]],
        results: list[DeleteRecordsResult],
        respond: Callable[[list[DeleteRecordsResult]], None],
    ) -> None:
        super().__init__(deadline_ms)
        self._waiting = waiting
        self.results = results
        self.respond = respond

    def try_complete(self) -> bool:
        still_waiting = []
        for entry in self._waiting:
            result, partition, wanted_offset = entry
            error = partition.access_error(NO_LEADER_EPOCH, only_leader=True)
            if error is not ErrorCode.NONE:
                result.error_code = error
                continue
            result.low_watermark = partition.low_watermark()
            if result.low_watermark < wanted_offset:
                still_waiting.append(entry)
        self._waiting = still_waiting
        return not still_waiting and self.complete(DeleteRecordsReason.LOW_WATERMARK)

    def on_complete(self, reason: Enum | None) -> None:
        del reason  # the answer says it all, partition by partition
        for result, _, _ in self._waiting:
            result.error_code = ErrorCode.REQUEST_TIMED_OUT
            result.low_watermark = -1
        self.respond(self.results)
        self._let_go()

    def on_cancel(self) -> None:
        self._let_go()

    def _let_go(self) -> None:
        del self.respond
        self._waiting = []
