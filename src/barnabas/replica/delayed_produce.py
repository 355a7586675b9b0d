"""A produce with acks=-1 that waits until the in-sync replicas have its records (P1).

It knows, per partition, the offset that the high watermark must reach. A partition that is decided, well
or badly, stays so; what is still undecided at the deadline is told REQUEST_TIMED_OUT, and the records may
then be there or not.
"""

from collections.abc import Callable

from barnabas.base.enums import Enum
from barnabas.base.errors import ErrorCode
from barnabas.replica.partition import Partition
from barnabas.replica.produce import AppendOutcome, AppendPartitionResult, AppendReason
from barnabas.timing.purgatory import DelayedOperation


class DelayedProduce(DelayedOperation):
    """One parked produce.

    Args:
        waiting: (result, partition, offset that the high watermark must reach) of each undecided partition.
        results: of all partitions, in request order.
        now_us: reads the monotonic clock.
    """

    __slots__ = ("_now_us", "_waiting", "parked_us", "respond", "results")

    def __init__(
        self,
        deadline_ms: int,
        waiting: list[tuple[AppendPartitionResult, Partition, int]],
        results: list[AppendPartitionResult],
        respond: Callable[[AppendOutcome], None],
        now_us: Callable[[], int],
    ) -> None:
        super().__init__(deadline_ms)
        self._waiting = waiting
        self.results = results
        self.respond = respond
        self._now_us = now_us
        self.parked_us = now_us()

    def try_complete(self) -> bool:
        still_waiting = []
        for entry in self._waiting:
            result, partition, required_offset = entry
            error = partition.has_replicated(required_offset)
            if error is None:
                still_waiting.append(entry)
            else:
                result.error_code = error
        self._waiting = still_waiting
        return not still_waiting and self.complete(AppendReason.REPLICATED)

    def on_complete(self, reason: Enum | None) -> None:
        assert reason is None or isinstance(reason, AppendReason)
        for result, _, _ in self._waiting:
            result.error_code = ErrorCode.REQUEST_TIMED_OUT
        self.respond(
            AppendOutcome(self.results, reason or AppendReason.TIMEOUT, self.parked_us, self._now_us())
        )
        self._let_go()

    def on_cancel(self) -> None:
        self._let_go()

    def _let_go(self) -> None:
        del self.respond
        self._waiting = []
