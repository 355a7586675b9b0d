"""Which transactions a cleaning has met: whose records go, and whose markers may.

Records of an aborted transaction go at once. A marker goes when no batch of its transaction is left before
it, since a reader needs it as long as one is; until its delete horizon has passed it stays even then.
The aborted ones are known beforehand, from the transaction indexes. One object goes with one pass over a log
from its beginning (or from the first dirty offset, for the offset map), batch by batch.
"""

from collections.abc import Iterable

from barnabas.protocol.control_records import ControlType
from barnabas.storage.indexes.transaction_index import AbortedTransaction


class CleanedTransactions:
    """The transactions between the beginning of a pass and where it is.

    Args:
        aborted: those with any record or marker in the range of the pass, in any order.
    """

    __slots__ = ("_ahead", "_committed", "_ongoing_aborted", "_seen")

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        # By first offset, the next one last.
        self._ahead = sorted(aborted, key=lambda transaction: -transaction.first_offset)
        self._ongoing_aborted: dict[int, AbortedTransaction] = {}  # by producer id
        self._seen: set[int] = set()  # of these, producers of whom a batch was met
        self._committed: set[int] = set()  # producers of whom a batch was met that is not aborted

    def on_data_batch(self, last_offset: int, producer_id: int, *, is_transactional: bool) -> bool:
        """Go by a batch of records; return whether it belongs to an aborted transaction."""
        if self._ahead:
            self._begin_up_to(last_offset)
        if not is_transactional:
            return False
        if producer_id in self._ongoing_aborted:
            self._seen.add(producer_id)
            return True
        self._committed.add(producer_id)
        return False

    def on_marker(
        self, last_offset: int, producer_id: int, control_type: ControlType | None
    ) -> tuple[bool, AbortedTransaction | None]:
        """Go by a control batch.

        Args:
            control_type: None for a batch that was emptied.
        Returns:
            Whether no batch of its transaction was met, so that it may go; and if it ends an aborted
            transaction of which one was, that one, which must stay in the transaction index.
        """
        if self._ahead:
            self._begin_up_to(last_offset)
        if control_type is None:
            return True, None
        if control_type is ControlType.ABORT:
            transaction = self._ongoing_aborted.pop(producer_id, None)
            if transaction is None or producer_id not in self._seen:
                return True, None
            self._seen.discard(producer_id)
            return False, transaction
        if control_type is ControlType.COMMIT:
            was_met = producer_id in self._committed
            self._committed.discard(producer_id)
            return not was_met, None
        return False, None

    def _begin_up_to(self, offset: int) -> None:
        ahead = self._ahead
        while ahead and ahead[-1].first_offset <= offset:
            transaction = ahead.pop()
            self._ongoing_aborted.setdefault(transaction.producer_id, transaction)
