"""What appends and reads of a log give back.

Plain slotted classes rather than frozen dataclasses: one is made for every append and read.
"""

from barnabas.base.region import FileSlice
from barnabas.storage.indexes.transaction_index import AbortedTransaction
from barnabas.storage.offset_metadata import LogOffsetMetadata

NO_TIMESTAMP = -1


class AppendInfo:
    """The outcome of an append.

    Attributes:
        first_offset, last_offset: of the records; of the first append when this one repeats it.
        log_append_time_ms: what the answer tells; -1 on a CreateTime topic, except for a duplicate, where
            Kafka tells the batch's timestamp.
        log_start_offset: of the log.
        duplicate: nothing was appended, the batch is there already (P4).
        bytes_appended: 0 for a duplicate.
    """

    __slots__ = (
        "bytes_appended",
        "duplicate",
        "first_offset",
        "last_offset",
        "log_append_time_ms",
        "log_start_offset",
    )

    def __init__(  # noqa: PLR0917 - the hot path gives them by place, which costs less than by name
        self,
        first_offset: int,
        last_offset: int,
        log_append_time_ms: int,
        log_start_offset: int,
        bytes_appended: int,
        duplicate: bool = False,
    ) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.log_append_time_ms = log_append_time_ms
        self.log_start_offset = log_start_offset
        self.bytes_appended = bytes_appended
        self.duplicate = duplicate

    def __repr__(self) -> str:
        what = "duplicate" if self.duplicate else f"{self.bytes_appended} bytes"
        return f"AppendInfo({self.first_offset}..{self.last_offset}, {what})"


class FetchDataInfo:
    """The outcome of a read: a place and, unless empty, a leased slice that someone must release (F22).

    Attributes:
        offset_metadata: the start offset and where its batch lies.
        records: None when there is nothing to send.
        first_entry_incomplete: max_bytes was smaller than the first batch, so the slice holds a part of it.
        aborted_transactions: None unless asked for (F17).
    """

    __slots__ = ("aborted_transactions", "first_entry_incomplete", "offset_metadata", "records")

    def __init__(
        self,
        offset_metadata: LogOffsetMetadata,
        records: FileSlice | None = None,
        first_entry_incomplete: bool = False,
        aborted_transactions: list[AbortedTransaction] | None = None,
    ) -> None:
        self.offset_metadata = offset_metadata
        self.records = records
        self.first_entry_incomplete = first_entry_incomplete
        self.aborted_transactions = aborted_transactions

    @property
    def size(self) -> int:
        """Bytes of the slice."""
        return self.records.length if self.records is not None else 0

    def __repr__(self) -> str:
        return f"FetchDataInfo({self.offset_metadata}, {self.size} bytes)"
