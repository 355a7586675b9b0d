"""Which transaction holds back readers of committed records, for an explained fetch (F5).

A partition's log knows the producer; the transactional id, and when the transaction began, its coordinator
knows. Where none runs, in a data directory, the producer and its last record have to do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from barnabas.base.dataclass import dataclass
from barnabas.base.hints import TYPE_CHECKING
from barnabas.replica.explain import ExplainStep

if TYPE_CHECKING:
    from barnabas.coordinator.transactions.state import TransactionMetadata
    from barnabas.replica.partition import Partition


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionHolder:
    """What a coordinator knows of a producer's transaction.

    Attributes:
        open_ms: since its first partition was added; -1 when there is no transaction any more.
    """

    transactional_id: str
    state: str
    open_ms: int
    timeout_ms: int


HolderOf = Callable[[int], "TransactionHolder | None"]
"""Producer id -> what a coordinator knows of it."""


def holder_among(transactions: Iterable[TransactionMetadata], now_ms: int) -> HolderOf:
    """Return a look into a coordinator's transactions."""

    def holder_of(producer_id: int) -> TransactionHolder | None:
        from barnabas.coordinator.transactions.state import state_name  # noqa: PLC0415 - no start needs it

        for one in transactions:
            if producer_id in (one.producer_id, one.previous_producer_id):
                return TransactionHolder(
                    transactional_id=one.transactional_id,
                    state=state_name(one.state),
                    open_ms=now_ms - one.start_ms if one.partitions else -1,
                    timeout_ms=one.timeout_ms,
                )
        return None

    return holder_of


def held_back(partition: Partition, holder_of: HolderOf | None) -> ExplainStep | None:
    """Tell what the last stable offset waits for; None when it waits for nothing.

    Args:
        holder_of: None where no coordinator runs.
    """
    unstable = partition.log.first_unstable_offset
    if unstable is None or unstable.message_offset >= partition.high_watermark:
        return None
    first_offset = unstable.message_offset
    facts: dict[str, object] = {"first_offset": first_offset}
    producers = partition.log.producers.producers.values()
    state = next((one for one in producers if one.txn_first_offset == first_offset), None)
    if state is None:
        text = f"the transaction from {first_offset} on has its marker, which is not replicated yet"
        return ExplainStep(name="transaction", rule="F5", text=text, facts=facts)
    facts |= {
        "producer_id": state.producer_id,
        "producer_epoch": state.epoch,
        "last_ms": state.last_timestamp,
    }
    text = f"producer {state.producer_id} has a transaction open from {first_offset} on"
    holder = None if holder_of is None else holder_of(state.producer_id)
    if holder is not None and holder.open_ms >= 0:
        facts |= {
            "transactional_id": holder.transactional_id,
            "state": holder.state,
            "open_ms": holder.open_ms,
            "timeout_ms": holder.timeout_ms,
        }
        text += (
            f": {holder.transactional_id!r}, {holder.state} for {holder.open_ms} ms; "
            f"it is aborted after {holder.timeout_ms} ms"
        )
    elif holder_of is not None:
        text += ", and no coordinator knows of it: it hangs"
    return ExplainStep(name="transaction", rule="F5", text=text, facts=facts)
