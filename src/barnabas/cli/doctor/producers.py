"""Producers of a partition, followed through its batches: what the transaction indexes and snapshots must
say.

The rules are the storage layer's: what a batch or a marker does to a producer is decided in one place.
"""

from collections.abc import Iterator

from barnabas.base.disk import Disk
from barnabas.base.enums import Enum
from barnabas.base.errors import ApiError
from barnabas.cli.doctor.batches import GoodBatch
from barnabas.cli.doctor.findings import Finding, Fix, Severity
from barnabas.storage.batch_scan import parse_head
from barnabas.storage.indexes.transaction_index import AbortedTransaction
from barnabas.storage.offset_metadata import LogOffsetMetadata
from barnabas.storage.producer_state import snapshots
from barnabas.storage.producer_state.snapshots import SnapshotEntry, SnapshotError
from barnabas.storage.producer_state.states import CompletedTransaction, ProducerStates, parse_marker

_NEVER_MS = 2**62
_EVERYTHING = 2**62
SNAPSHOT_BYTES_MAX = 256 * 1024 * 1024


class Known(Enum):
    """How much of an aborted transaction is certain."""

    ALL = "all"
    END = "end"
    """Its producer and its marker's offset."""
    MAYBE = "maybe"
    """Its marker was there; records of it may never have been."""


class ProducerTracker:
    """The state of all producers up to a batch.

    Attributes:
        aborted: transactions aborted since this was last emptied, each with what is known of it.
    """

    def __init__(self, disk: Disk, path: str, *, knows_all: bool, gaps: bool) -> None:
        """
        Args:
            knows_all: the log is there from its first offset, so that every open transaction is known.
            gaps: compaction may have taken batches out; what depends on all of them is not certain then.
        """
        self.aborted: list[tuple[AbortedTransaction, Known]] = []
        self._states = ProducerStates(disk, path, _NEVER_MS)
        self._certain = knows_all and not gaps
        self._gaps = gaps

    @property
    def is_empty(self) -> bool:
        return not self._states.producers

    def batch(self, batch: GoodBatch, segment_base_offset: int) -> None:
        """Apply a batch."""
        if batch.header.producer_id < 0:
            return
        head = parse_head(batch.content, 0, 0)
        if head is None:
            return
        head = head._replace(base_offset=batch.header.base_offset, last_offset=batch.header.last_offset)
        if not head.is_control:
            self._states.apply_batch(
                head, LogOffsetMetadata(head.base_offset, segment_base_offset, batch.position)
            )
            return
        try:
            marker = parse_marker(batch.content)
        except ApiError:
            return  # its records were found whole, so it is another kind of control record
        if marker is None:
            return
        completed = self._states.apply_marker(head, marker)
        if completed is None:
            if not marker.commit and not self._certain:
                # The transaction may have begun below what is left of the log.
                unknown = CompletedTransaction(head.producer_id, head.last_offset, head.last_offset, True)
                self._abort(unknown, Known.MAYBE)
            return
        if completed.aborted:
            self._abort(completed, Known.ALL if self._certain else Known.END)
        self._states.complete(completed)
        self._states.high_watermark_advanced(_EVERYTHING)

    def _abort(self, completed: CompletedTransaction, known: Known) -> None:
        stable = self._states.last_stable_offset(completed)
        entry = AbortedTransaction(
            completed.producer_id, completed.first_offset, completed.last_offset, stable
        )
        self.aborted.append((entry, known))

    def lost_some(self) -> None:
        """Batches are missing: nothing is certain from here on."""
        self._certain = False

    def compare(self, disk: Disk, path: str) -> Iterator[Finding]:
        """Say what is wrong with the snapshot of this moment."""
        try:
            entries = read_snapshot(disk, path)
        except SnapshotError as error:
            yield _finding(path, str(error))
            return
        for entry in entries:
            state = self._states.producers.get(entry.producer_id)
            if state is None:
                if self._certain:
                    yield _finding(path, f"producer {entry.producer_id} is not in the log")
                    return
                continue
            of_log = state.snapshot()
            if of_log.last_offset < 0 or self._gaps:
                continue
            told = (entry.producer_epoch, entry.last_sequence, entry.last_offset)
            right = (of_log.producer_epoch, of_log.last_sequence, of_log.last_offset)
            if told != right or (self._certain and entry.txn_first_offset != of_log.txn_first_offset):
                yield _finding(
                    path,
                    f"producer {entry.producer_id}: (epoch, sequence, offset) {told}, the log says {right}",
                )
                return


def read_snapshot(disk: Disk, path: str) -> list[SnapshotEntry]:
    """Return the entries of a producer snapshot.

    Raises:
        SnapshotError: it is none.
    """
    size = disk.size(path)
    if size > SNAPSHOT_BYTES_MAX:
        raise SnapshotError(f"{size} bytes are too many for a producer snapshot")
    file = disk.open_readonly(path)
    try:
        return snapshots.decode(file.read_at(0, size))
    finally:
        file.close()


def _finding(path: str, cause: str) -> Finding:
    return Finding(
        severity=Severity.DERIVED, kind="producer-snapshot", file=path, cause=cause, fix=Fix.REBUILD
    )
