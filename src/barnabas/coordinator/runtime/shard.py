"""What the runtime asks of the state machine of one partition, whichever kind of coordinator it is."""

from __future__ import annotations

from barnabas.base.hints import Protocol
from barnabas.coordinator.runtime.outcome import CoordinatorRecord

NO_PRODUCER_ID = -1


class Shard(Protocol):
    """The coordinator of the groups, or transactional ids, whose records lie in one partition."""

    def replay(self, record: CoordinatorRecord, offset: int, producer_id: int) -> None:
        """Change the state by one record: the same when it was just appended and after a restart.

        Args:
            offset: of the record in the partition.
            producer_id: of the transaction it belongs to, which is not decided yet; else -1.
        """

    def replay_transaction_end(self, producer_id: int, *, committed: bool) -> None:
        """A producer's transaction on this partition was committed or aborted."""

    def loaded(self, now_ms: int) -> None:
        """All records were replayed and requests begin to come: arm timers."""

    def unloaded(self) -> None:
        """The partition is not ours any more, or the broker stops: answer waiters NOT_COORDINATOR.

        Timers are cancelled already.
        """
