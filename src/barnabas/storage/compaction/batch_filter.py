"""What a cleaning keeps of a batch: the rules of Apache Kafka's log cleaner, one batch at a time.

A record of the range that the offset map knows stays when it is the last of its key and has a value, or is a
tombstone whose delete horizon has not passed; one without a key goes. Batches of an aborted transaction lose
their records at once, a marker goes when its transaction's batches and its horizon are gone. A horizon is set
when a batch with a tombstone, or a marker that nothing stands before any more, is met for the first time: it
takes the place of the base timestamp (KIP-534).

A batch without records stays, as a header, when it is an active producer's last one, which a restart reads
that producer's sequence number or epoch from, or when it is the last one below the high watermark, so that
the log does not seem to end earlier. Any other is left out, and readers go over the gap. What loses no record
stays byte for byte.
"""

from collections.abc import Iterable

from barnabas.protocol.compression import Codec, decompress
from barnabas.protocol.control_records import ControlType, parse_control_type
from barnabas.protocol.record_batch import (
    CODEC_MASK,
    HEADER_BYTES,
    NO_PRODUCER_ID,
    BatchHeader,
)
from barnabas.protocol.record_places import RecordPlaces, iter_record_places
from barnabas.storage.compaction.batch_rewrite import Kept, emptied_batch, rewritten_batch
from barnabas.storage.compaction.cleaned_segment import WrittenBatch
from barnabas.storage.compaction.offset_map import OffsetMap
from barnabas.storage.compaction.task import NO_DATA_OFFSET, ActiveProducer, CleaningStatistics
from barnabas.storage.compaction.transactions import CleanedTransactions
from barnabas.storage.compaction.verdicts import Verdicts
from barnabas.storage.indexes.transaction_index import AbortedTransaction


class BatchFilter:
    """Decides what stays, batch after batch from the beginning of the log.

    Args:
        high_watermark: of the log.

    Attributes:
        aborted_kept: aborted transactions whose markers were met and stay, for the transaction index of the
            segment that is written; the caller takes them out.
    """

    def __init__(
        self,
        *,
        offset_map: OffsetMap,
        verdicts: Verdicts,
        transactions: CleanedTransactions,
        active_producers: Iterable[ActiveProducer],
        high_watermark: int,
        now_ms: int,
        delete_retention_ms: int,
        statistics: CleaningStatistics,
    ) -> None:
        self._map = offset_map
        self._verdicts = verdicts
        self._transactions = transactions
        self._producers = {producer.producer_id: producer for producer in active_producers}
        self._high_watermark = high_watermark
        self._now_ms = now_ms
        self._horizon_ms = now_ms + delete_retention_ms
        self._statistics = statistics
        self.aborted_kept: list[AbortedTransaction] = []

    def filter(self, batch: bytes, header: BatchHeader) -> WrittenBatch | None:
        """Return what stays of a batch; None when nothing does.

        Raises:
            DecodeError: its records are malformed.
        """
        if header.is_control:
            return self._filter_control(batch, header)
        is_aborted = self._transactions.on_data_batch(
            header.last_offset, header.producer_id, is_transactional=header.is_transactional
        )
        if is_aborted:
            self._statistics.records_read += header.records_count if self._must_stay(header) else 0
            return self._without_records(batch, header)
        return self._filter_data(batch, header)

    # Control batches ---------------------------------------------------------------------------

    def _filter_control(self, batch: bytes, header: BatchHeader) -> WrittenBatch | None:
        control_type = control_type_of(batch, header)
        may_go, aborted = self._transactions.on_marker(header.last_offset, header.producer_id, control_type)
        if aborted is not None:
            self.aborted_kept.append(aborted)
        horizon_ms = header.delete_horizon_ms
        if control_type is None or (may_go and horizon_ms is not None and horizon_ms <= self._now_ms):
            self._statistics.records_read += header.records_count if self._must_stay(header) else 0
            return self._without_records(batch, header)
        self._statistics.records_read += header.records_count
        if may_go and horizon_ms is None:
            section = records_of(batch, header)
            kept = Kept()
            for places in iter_record_places(section, header.records_count, is_dense=False):
                kept.add_all(places)
            return self._rewritten(section, header, kept, self._horizon_ms)
        return self._unchanged(batch, header)

    # Records -----------------------------------------------------------------------------------

    def _filter_data(self, batch: bytes, header: BatchHeader) -> WrittenBatch | None:
        count = header.records_count
        self._statistics.records_read += count
        is_dense = count == header.last_offset_delta + 1
        horizon_ms = header.delete_horizon_ms
        if is_dense and horizon_ms is None and header.last_offset <= self._map.latest_offset:
            verdicts = self._verdicts.of_batch(header.base_offset, count)
            if verdicts is not None:
                return self._filter_by_verdicts(batch, header, verdicts)
        section = records_of(batch, header)
        tombstones_stay = horizon_ms is None or self._now_ms < horizon_ms
        kept = Kept()
        for places in iter_record_places(
            section, count, is_dense=is_dense, offset_delta_max=header.last_offset_delta
        ):
            self._choose(places, header.base_offset, kept, tombstones_stay=tombstones_stay)
        if kept.count == 0:
            return self._without_records(batch, header)
        sets_horizon = kept.has_tombstone and horizon_ms is None
        if kept.count == count and not sets_horizon:
            return self._unchanged(batch, header)
        return self._rewritten(section, header, kept, self._horizon_ms if sets_horizon else horizon_ms)

    def _filter_by_verdicts(
        self, batch: bytes, header: BatchHeader, verdicts: bytearray
    ) -> WrittenBatch | None:
        """Do the same for a batch that was seen when the map was built, without asking for its keys again."""
        count = header.records_count
        keyless = verdicts.count(Verdicts.KEYLESS)
        self._statistics.invalid_records += keyless
        going = verdicts.count(Verdicts.GOES) + keyless
        has_tombstone = Verdicts.TOMBSTONE in verdicts
        if going == 0 and not has_tombstone:
            return self._unchanged(batch, header)
        if going == count:
            return self._without_records(batch, header)
        section = records_of(batch, header)
        kept = Kept()
        kept.has_tombstone = has_tombstone
        for places in iter_record_places(section, count, is_dense=True, wants_keys=False):
            kept.add_by_verdicts(places, verdicts)
        return self._rewritten(section, header, kept, self._horizon_ms if has_tombstone else None)

    def _choose(self, places: RecordPlaces, base_offset: int, kept: Kept, *, tombstones_stay: bool) -> None:
        """Add those of some neighbouring records that stay to `kept`."""
        deltas, keys, valueless = places.offset_deltas, places.keys, places.valueless
        latest_delta = self._map.latest_offset - base_offset
        if deltas[0] > latest_delta:
            kept.add_all(places)
            return
        found = self._map.offsets_of(keys)
        stays = [delta + base_offset >= offset for delta, offset in zip(deltas, found, strict=True)]
        if None in keys:
            for number, key in enumerate(keys):
                if key is None:
                    stays[number] = False
                    self._statistics.invalid_records += deltas[number] <= latest_delta
        if valueless and not tombstones_stay:
            for number in valueless:
                stays[number] = False
        if deltas[-1] > latest_delta:  # what the map does not know stays
            stays = [stay or delta > latest_delta for stay, delta in zip(stays, deltas, strict=True)]
        if False not in stays:
            kept.add_all(places)
        elif True in stays:
            kept.add_chosen(places, stays)

    # Outcomes ----------------------------------------------------------------------------------

    def _must_stay(self, header: BatchHeader) -> bool:
        """Whether a batch stays even without records."""
        if header.next_offset == self._high_watermark:
            return True
        if header.producer_id == NO_PRODUCER_ID:
            return False
        producer = self._producers.get(header.producer_id)
        if producer is None:
            return False
        if producer.last_data_offset != NO_DATA_OFFSET:
            return header.last_offset == producer.last_data_offset
        return header.is_control and header.producer_epoch == producer.producer_epoch

    def _without_records(self, batch: bytes, header: BatchHeader) -> WrittenBatch | None:
        if not self._must_stay(header):
            self._statistics.batches_dropped += 1
            return None
        if header.records_count == 0 and len(batch) == HEADER_BYTES:
            return self._unchanged(batch, header)
        self._statistics.batches_emptied += 1
        return WrittenBatch(emptied_batch(header), header.last_offset, header.max_timestamp)

    def _unchanged(self, batch: bytes, header: BatchHeader) -> WrittenBatch:
        self._statistics.batches_kept += 1
        self._statistics.records_written += header.records_count
        return WrittenBatch(batch, header.last_offset, header.max_timestamp)

    def _rewritten(
        self, section: bytes, header: BatchHeader, kept: Kept, horizon_ms: int | None
    ) -> WrittenBatch:
        self._statistics.batches_rewritten += 1
        self._statistics.records_written += kept.count
        content, max_timestamp = rewritten_batch(section, header, kept, horizon_ms)
        return WrittenBatch(content, header.last_offset, max_timestamp)


def records_of(batch: bytes, header: BatchHeader) -> bytes:
    """Return the records of a batch, uncompressed.

    Raises:
        DecodeError: the compressed stream is malformed or too large.
    """
    section = batch[HEADER_BYTES:]
    if header.attributes & CODEC_MASK == Codec.NONE or not header.records_count:
        return section
    return bytes(decompress(header.codec, section))


def control_type_of(batch: bytes, header: BatchHeader) -> ControlType | None:
    """Return what a control batch says; None when it has been emptied.

    Raises:
        DecodeError: it is malformed.
    """
    if not header.records_count:
        return None
    places = next(iter_record_places(records_of(batch, header), header.records_count, is_dense=False))
    return parse_control_type(places.keys[0])
