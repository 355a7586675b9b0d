"""A produce that waits: for this broker's disk, for its in-sync replicas, or for one and then the other (P1).

It knows, per partition, the offset that must be reached. A partition that is decided, well or badly, stays
so. What is still undecided at the deadline, or when the broker stops, is told REQUEST_TIMED_OUT, and the
records may then be there or not.
"""

from collections.abc import Callable, Sequence

from barnabas.base.clock import Clock
from barnabas.base.enums import Enum
from barnabas.base.errors import ErrorCode
from barnabas.base.hints import Final
from barnabas.replica.partition import Partition
from barnabas.replica.produce import AppendOutcome, AppendPartitionResult, AppendReason
from barnabas.timing.purgatory import DelayedOperation

SYNC_WAIT_MS_MAX: Final = 86_400_000
"""A disk that takes a day for a sync has failed without saying so, and no client waits for so long."""

Undecided = tuple[AppendPartitionResult, Partition, int]
"""A partition's result, the partition, and the offset that must be reached."""


class DelayedProduce(DelayedOperation):
    """A produce with acks=-1 that waits until the in-sync replicas have its records.

    Args:
        waiting: each undecided partition, with the offset that the high watermark must reach.
        results: of all partitions, in request order.
        now_us: reads the monotonic clock.
        parked_us: when it began to wait, if that was before now, else -1.
    """

    __slots__ = ("_now_us", "_waiting", "parked_us", "respond", "results")

    def __init__(  # noqa: PLR0917 - made in one place
        self,
        deadline_ms: int,
        waiting: list[Undecided],
        results: list[AppendPartitionResult],
        respond: Callable[[AppendOutcome], None],
        now_us: Callable[[], int],
        parked_us: int = -1,
    ) -> None:
        super().__init__(deadline_ms)
        self._waiting = waiting
        self.results = results
        self.respond = respond
        self._now_us = now_us
        self.parked_us = now_us() if parked_us < 0 else parked_us

    def try_complete(self) -> bool:
        self._decide()
        return not self._waiting and self.complete(AppendReason.REPLICATED)

    def _decide(self) -> None:
        still_waiting = []
        for entry in self._waiting:
            result, partition, required_offset = entry
            error = partition.has_replicated(required_offset)
            if error is None:
                still_waiting.append(entry)
            else:
                result.error_code = error
        self._waiting = still_waiting

    def on_complete(self, reason: Enum | None) -> None:
        assert reason is None or isinstance(reason, AppendReason)
        self._decide()  # what was reached in this very turn counts
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


class DelayedSync(DelayedOperation):
    """A produce, or a coordinator's append, that waits until `flush.messages` is kept.

    It has no deadline that a client would know: Apache Kafka syncs inside the append, and there too the
    request's timeout begins behind that.

    Args:
        waiting: each partition that was appended to, with the offset that must be synced.
        synced: told when it began to wait (monotonic microseconds), once all results say how it went.
    """

    __slots__ = ("_parked_us", "_synced", "_waiting")

    def __init__(self, waiting: Sequence[Undecided], synced: Callable[[int], None], clock: Clock) -> None:
        self._parked_us = clock.monotonic_us()
        super().__init__(self._parked_us // 1000 + SYNC_WAIT_MS_MAX)
        self._waiting = waiting
        self._synced = synced

    def try_complete(self) -> bool:
        self._decide()
        return not self._waiting and self.complete(AppendReason.SYNCED)

    def _decide(self) -> None:
        still_waiting = []
        for entry in self._waiting:
            result, partition, required_offset = entry
            error = partition.has_synced(required_offset)
            if error is None:
                still_waiting.append(entry)
            elif error is not ErrorCode.NONE:
                # Whether it is there after a restart is open: no offset of it may be told.
                result.error_code = error
                result.base_offset = result.last_offset = -1
                result.log_append_time_ms = result.log_start_offset = -1
        self._waiting = still_waiting

    def on_complete(self, reason: Enum | None) -> None:
        del reason  # the results say it
        self._decide()
        for result, _, _ in self._waiting:
            result.error_code = ErrorCode.REQUEST_TIMED_OUT
        synced = self._synced
        self._let_go()
        synced(self._parked_us)

    def on_cancel(self) -> None:
        self._let_go()

    def _let_go(self) -> None:
        del self._synced
        self._waiting = ()
