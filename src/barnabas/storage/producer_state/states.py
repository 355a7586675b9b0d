"""What a log knows of its producers: idempotence (KIP-98, P4), open transactions, snapshots.

The state is a function of the log: batches and markers are applied in order, whether they were just
appended or are read again after a restart. Checking a batch changes nothing, so a refused or failed
append leaves no trace. Sequence numbers are checked for clients only; a coordinator's and a leader's
batches are taken as they come. Expiry is by time since the last batch (producer.id.expiration.ms) and never
takes a producer with an open transaction.
"""

from collections.abc import Iterable
from contextlib import suppress

from barnabas.base.disk import Buffer, Disk, rewrite
from barnabas.base.enums import Enum
from barnabas.base.errors import ApiError, DecodeError, ErrorCode
from barnabas.base.logger import Logger
from barnabas.base.named_tuple import NamedTuple
from barnabas.protocol.control_records import ControlType, parse_control_type, parse_end_txn_marker
from barnabas.protocol.record_batch import parse_header, parse_records
from barnabas.storage.batch_scan import BatchHead
from barnabas.storage.offset_metadata import LogOffsetMetadata
from barnabas.storage.producer_state import snapshots
from barnabas.storage.producer_state.entry import NO_EPOCH, SEQUENCE_MAX, BatchMetadata, ProducerState
from barnabas.storage.producer_state.snapshots import SnapshotEntry
from barnabas.storage.segment import file_stem

log = Logger(__name__)


class AppendOrigin(Enum):
    """Who appends; decides what is checked."""

    CLIENT = "client"
    COORDINATOR = "coordinator"
    REPLICATION = "replication"


class EndTransactionMarker(NamedTuple):
    """The content of a control batch that ends a transaction."""

    commit: bool
    coordinator_epoch: int


class CompletedTransaction(NamedTuple):
    """A transaction whose marker was applied."""

    producer_id: int
    first_offset: int
    last_offset: int
    aborted: bool


class VerificationState:
    """A transaction that is being verified with its coordinator before its first batch here (KIP-890).

    Attributes:
        starts_at_zero: whether a producer that is not known here must begin with sequence 0: those that get a
            new epoch with every transaction do.
    """

    __slots__ = ("epoch", "lowest_sequence", "starts_at_zero")

    def __init__(self, epoch: int, lowest_sequence: int, *, starts_at_zero: bool = False) -> None:
        self.epoch = epoch
        self.lowest_sequence = lowest_sequence
        self.starts_at_zero = starts_at_zero


class OpenTransaction:
    """A transaction from its first record until its marker is below the high watermark."""

    __slots__ = ("first_offset", "last_offset", "producer_id")

    def __init__(self, producer_id: int, first_offset: LogOffsetMetadata) -> None:
        self.producer_id = producer_id
        self.first_offset = first_offset
        self.last_offset: int | None = None


def parse_marker(batch: Buffer) -> EndTransactionMarker | None:
    """Return what a control batch says, or None when it ends no transaction or was emptied by compaction.

    Raises:
        ApiError: CORRUPT_MESSAGE, the record does not parse.
    """
    try:
        records = parse_records(batch, 0, parse_header(batch, 0))
        if not records or parse_control_type(records[0].key) not in (ControlType.ABORT, ControlType.COMMIT):
            return None
        marker = parse_end_txn_marker(records[0])
    except DecodeError as error:
        raise ApiError(ErrorCode.CORRUPT_MESSAGE, f"a control record does not parse: {error}") from None
    return EndTransactionMarker(marker.control_type is ControlType.COMMIT, marker.coordinator_epoch)


class ProducerStates:
    """The producers of one log.

    Args:
        disk, directory: where the snapshots lie.
        expiration_ms: producer.id.expiration.ms, 86400000 unless set.
    """

    __slots__ = (
        "_completed", "_directory", "_disk", "_last_snapshot_offset", "_open", "_producers", "_snapshots",
        "_verifications", "expiration_ms", "map_end_offset",
    )  # fmt: skip

    def __init__(self, disk: Disk, directory: str, expiration_ms: int) -> None:
        self._disk = disk
        self._directory = directory
        self.expiration_ms = expiration_ms
        self._producers: dict[int, ProducerState] = {}
        self._open: dict[
            int, OpenTransaction
        ] = {}  # by first offset; offsets ascend, so insertion order is order
        self._completed: dict[int, OpenTransaction] = {}  # markers not yet below the high watermark
        self._verifications: dict[int, VerificationState] = {}
        self._snapshots: set[int] = set()
        self._last_snapshot_offset = 0
        self.map_end_offset = 0
        """The offset up to which batches were applied."""

    # Looking -----------------------------------------------------------------------------------

    @property
    def producers(self) -> dict[int, ProducerState]:
        """By producer id; not to be changed."""
        return self._producers

    @property
    def empty(self) -> bool:
        return not self._producers and not self._completed

    @property
    def snapshot_offsets(self) -> set[int]:
        """The offsets snapshots exist for; not to be changed."""
        return self._snapshots

    def first_unstable(self) -> LogOffsetMetadata | None:
        """Return where the first transaction begins that is open or whose marker is not below the HW (F5)."""
        first: LogOffsetMetadata | None = None
        for transactions in (self._open, self._completed):
            if transactions:
                earliest = transactions[min(transactions)].first_offset
                if first is None or earliest.message_offset < first.message_offset:
                    first = earliest
        return first

    def oldest_open_timestamp(self) -> int | None:
        """Return when, by its records, the producer of the earliest open transaction last wrote here."""
        if not self._open:
            return None
        producer = self._producers.get(self._open[min(self._open)].producer_id)
        return None if producer is None else producer.last_timestamp

    def has_open_transaction(self, producer_id: int, epoch: int) -> bool:
        """Whether the producer, in that epoch, has a transaction with records here."""
        state = self._producers.get(producer_id)
        return state is not None and state.txn_first_offset is not None and state.epoch == epoch

    def open_transaction_start(self, producer_id: int) -> int | None:
        """Return the first offset of the producer's open transaction, or None."""
        state = self._producers.get(producer_id)
        return state.txn_first_offset if state is not None else None

    # Verifying transactions ----------------------------------------------------------------------

    def start_verification(
        self, producer_id: int, sequence: int, epoch: int, *, starts_at_zero: bool = False
    ) -> VerificationState:
        """Note that a transaction's first batch waits for its coordinator; hand the result to `check`."""
        state = self._verifications.get(producer_id)
        if state is None or epoch > state.epoch:
            # A later epoch is another transaction; the same guard object would let the older one in.
            state = VerificationState(epoch, sequence, starts_at_zero=starts_at_zero)
            self._verifications[producer_id] = state
        elif epoch == state.epoch and sequence < state.lowest_sequence:
            state.lowest_sequence = sequence
        return state

    # Checking ----------------------------------------------------------------------------------

    def find_duplicate(self, head: BatchHead) -> BatchMetadata | None:
        """Return the batch this one repeats, or None (P4)."""
        state = self._producers.get(head.producer_id)
        return state.find_duplicate(head) if state is not None else None

    def check(self, head: BatchHead, origin: AppendOrigin, verification: VerificationState | None) -> None:
        """Refuse a data batch that must not be appended; nothing is changed (P4).

        Args:
            verification: what `start_verification` gave, for a transaction's first batch. It is worth nothing
                when the transaction has ended since; without it a batch is refused only while one is awaited.

        Raises:
            ApiError: INVALID_PRODUCER_EPOCH, OUT_OF_ORDER_SEQUENCE_NUMBER, INVALID_TXN_STATE.
        """
        producer_id, epoch = head.producer_id, head.producer_epoch
        state = self._producers.get(producer_id)
        waiting = self._verifications.get(producer_id)
        if (
            head.is_transactional
            and waiting is not verification
            and not self.has_open_transaction(producer_id, epoch)
        ):
            raise ApiError(
                ErrorCode.INVALID_TXN_STATE,
                f"producer {producer_id}'s transaction was not verified for this batch",
            )
        if state is None:
            state = ProducerState(producer_id)
        if epoch < state.epoch:
            raise ApiError(
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"producer {producer_id} has epoch {epoch}, known is {state.epoch}",
            )
        if state.txn_first_offset is not None and not head.is_transactional:
            raise ApiError(
                ErrorCode.INVALID_TXN_STATE,
                f"producer {producer_id} writes outside of its open transaction",
            )
        if origin is AppendOrigin.CLIENT:
            self._check_sequence(head, state, waiting)

    @staticmethod
    def _check_sequence(head: BatchHead, state: ProducerState, waiting: VerificationState | None) -> None:
        sequence = head.base_sequence
        if waiting is not None and waiting.starts_at_zero and sequence != 0 and not state.batches:
            expected = 0
        elif waiting is not None and head.is_transactional and sequence > waiting.lowest_sequence:
            expected = waiting.lowest_sequence
        elif head.producer_epoch != state.epoch:
            if sequence == 0 or state.epoch == NO_EPOCH:
                return
            expected = 0
        else:
            last = state.last_sequence
            if sequence == last + 1 or (sequence == 0 and last == SEQUENCE_MAX):
                return
            expected = last + 1
        raise ApiError(
            ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
            f"producer {head.producer_id} epoch {head.producer_epoch}: "
            f"sequence {sequence} where {expected} is due",
        )

    def check_marker(self, head: BatchHead, marker: EndTransactionMarker, origin: AppendOrigin) -> None:
        """Refuse a marker of a fenced producer or coordinator; followers take what the leader took.

        Raises:
            ApiError: INVALID_PRODUCER_EPOCH, TRANSACTION_COORDINATOR_FENCED.
        """
        state = self._producers.get(head.producer_id)
        if state is None or origin is AppendOrigin.REPLICATION:
            return
        if head.producer_epoch < state.epoch:
            raise ApiError(
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"a marker of producer {head.producer_id} has epoch {head.producer_epoch}, "
                f"known is {state.epoch}",
            )
        if marker.coordinator_epoch < state.coordinator_epoch:
            raise ApiError(
                ErrorCode.TRANSACTION_COORDINATOR_FENCED,
                f"coordinator epoch {marker.coordinator_epoch}, known is {state.coordinator_epoch}",
            )

    # Applying ----------------------------------------------------------------------------------

    def apply_batch(self, head: BatchHead, place: LogOffsetMetadata) -> None:
        """Take in a data batch that is in the log now.

        Args:
            place: where it begins.
        """
        state = self._producers.get(head.producer_id)
        if state is None:
            state = self._producers[head.producer_id] = ProducerState(head.producer_id)
        state.raise_epoch(head.producer_epoch)
        state.batches.append(
            BatchMetadata(
                head.last_sequence, head.last_offset, head.last_offset - head.base_offset, head.max_timestamp
            )
        )
        state.last_timestamp = head.max_timestamp
        if head.is_transactional:
            self._verifications.pop(head.producer_id, None)
            if state.txn_first_offset is None:
                state.txn_first_offset = head.base_offset
                self._open[head.base_offset] = OpenTransaction(head.producer_id, place)

    def apply_marker(self, head: BatchHead, marker: EndTransactionMarker) -> CompletedTransaction | None:
        """Take in a marker; return the transaction it ends, None when that had no records here.

        `complete` must follow once its aborted entry is made.
        """
        state = self._producers.get(head.producer_id)
        if state is None:
            state = self._producers[head.producer_id] = ProducerState(head.producer_id)
        self._verifications.pop(head.producer_id, None)
        state.raise_epoch(head.producer_epoch)
        state.coordinator_epoch = marker.coordinator_epoch
        state.last_timestamp = head.max_timestamp
        first_offset, state.txn_first_offset = state.txn_first_offset, None
        if first_offset is None:
            return None
        return CompletedTransaction(head.producer_id, first_offset, head.last_offset, not marker.commit)

    def last_stable_offset(self, completed: CompletedTransaction) -> int:
        """Return the last stable offset once this transaction is complete."""
        others = [offset for offset in self._open if offset != completed.first_offset]
        return min(others) if others else completed.last_offset + 1

    def complete(self, completed: CompletedTransaction) -> None:
        """Move a transaction from open to waiting for the high watermark."""
        transaction = self._open.pop(completed.first_offset, None)
        if transaction is not None:
            transaction.last_offset = completed.last_offset
            self._completed[completed.first_offset] = transaction

    def high_watermark_advanced(self, high_watermark: int) -> None:
        """Forget completed transactions whose marker lies below the high watermark."""
        if self._completed:
            for first_offset, transaction in list(self._completed.items()):
                assert transaction.last_offset is not None
                if transaction.last_offset < high_watermark:
                    del self._completed[first_offset]

    def remove_expired(self, now_ms: int) -> None:
        """Forget producers without an open transaction that were silent for too long."""
        gone = [pid for pid, state in self._producers.items() if self._expired(state, now_ms)]
        for producer_id in gone:
            del self._producers[producer_id]

    def _expired(self, state: ProducerState, now_ms: int) -> bool:
        return state.txn_first_offset is None and now_ms - state.last_timestamp >= self.expiration_ms

    def clear(self, end_offset: int) -> None:
        """Forget everything; batches are applied again from `end_offset`."""
        self._producers.clear()
        self._open.clear()
        self._completed.clear()
        self.map_end_offset = end_offset

    # Snapshots ---------------------------------------------------------------------------------

    def path(self, offset: int) -> str:
        """Return the path of the snapshot at an offset."""
        return file_stem(self._directory, offset) + snapshots.SUFFIX

    def move(self, directory: str) -> None:
        """Follow a renamed partition directory."""
        self._directory = directory

    def found_snapshots(self, offsets: Iterable[int]) -> None:
        """Note the snapshots that the directory holds."""
        self._snapshots = set(offsets)

    def take_snapshot(self) -> None:
        """Write the state as of `map_end_offset`, not synced, unless it is not new."""
        if self.map_end_offset <= self._last_snapshot_offset:
            return
        file = self._disk.open(self.path(self.map_end_offset), create=True)
        try:
            # Ordered, so that one state is one content however it came about.
            content = snapshots.encode([self._producers[pid].snapshot() for pid in sorted(self._producers)])
            rewrite(file, content)
        finally:
            file.close()
        self._snapshots.add(self.map_end_offset)
        self._last_snapshot_offset = self.map_end_offset

    def drop_snapshot(self, offset: int) -> None:
        """Delete one snapshot; a missing one is fine."""
        self._snapshots.discard(offset)
        with suppress(FileNotFoundError):
            self._disk.unlink(self.path(offset))

    def drop_stray_snapshots(self, base_offsets: Iterable[int]) -> None:
        """Delete snapshots that belong to no segment, but for the newest beyond the last base offset."""
        bases = set(base_offsets)
        strays = sorted(offset for offset in self._snapshots if offset not in bases)
        if strays and strays[-1] > max(bases, default=-1):
            strays.pop()
        for offset in strays:
            self.drop_snapshot(offset)

    def reload(self, first_offset: int, log_end_offset: int, now_ms: int) -> None:
        """Go back to the newest usable snapshot in [first_offset, log_end_offset], or to nothing.

        Snapshots outside are deleted; `map_end_offset` tells from where batches must be applied again.
        """
        for offset in sorted(self._snapshots):
            if not first_offset <= offset <= log_end_offset:
                self.drop_snapshot(offset)
        self.clear(first_offset)
        self._last_snapshot_offset = first_offset
        for offset in sorted(self._snapshots, reverse=True):
            try:
                entries = self._read_snapshot(offset)
            except snapshots.SnapshotError as error:
                log.warning("%s is dropped: %s", self.path(offset), error)
                self.drop_snapshot(offset)
                continue
            for entry in entries:
                self._load_entry(entry, now_ms)
            self.map_end_offset = self._last_snapshot_offset = offset
            break

    def _read_snapshot(self, offset: int) -> list[SnapshotEntry]:
        file = self._disk.open_readonly(self.path(offset))
        try:
            return snapshots.decode(file.read_at(0, file.size()))
        finally:
            file.close()

    def _load_entry(self, entry: SnapshotEntry, now_ms: int) -> None:
        state = ProducerState(entry.producer_id)
        state.epoch = entry.producer_epoch
        if entry.last_offset >= 0:
            state.batches.append(
                BatchMetadata(entry.last_sequence, entry.last_offset, entry.offset_delta, entry.timestamp)
            )
        state.coordinator_epoch = entry.coordinator_epoch
        state.last_timestamp = entry.timestamp
        if entry.txn_first_offset != snapshots.NO_OFFSET:
            state.txn_first_offset = entry.txn_first_offset
        if self._expired(state, now_ms):
            return
        self._producers[entry.producer_id] = state
        if state.txn_first_offset is not None:
            place = LogOffsetMetadata(state.txn_first_offset)
            self._open[state.txn_first_offset] = OpenTransaction(entry.producer_id, place)

    def log_start_advanced(self, log_start_offset: int) -> None:
        """Forget what only concerned records that were deleted."""
        self.high_watermark_advanced(log_start_offset)
        self.map_end_offset = max(self.map_end_offset, log_start_offset)


def check_producer(
    producers: ProducerStates,
    head: BatchHead,
    marker: EndTransactionMarker | None,
    origin: AppendOrigin,
    verification: VerificationState | None,
) -> BatchMetadata | None:
    """Refuse what a producer may not append (P4); return the batch that this one repeats, or None.

    Raises:
        ApiError: see ProducerStates.check and check_marker.
    """
    if head.is_control:
        if marker is not None:
            producers.check_marker(head, marker, origin)
        return None
    if origin is AppendOrigin.CLIENT:
        repeated = producers.find_duplicate(head)
        if repeated is not None:
            return repeated
    producers.check(head, origin, verification)
    return None
