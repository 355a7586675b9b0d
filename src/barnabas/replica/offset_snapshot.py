"""How far a partition reaches, for everybody who asks, at one moment (F13)."""

from barnabas.storage.offset_metadata import LogOffsetMetadata


class OffsetSnapshot:
    """The four offsets of a partition at one moment (F13)."""

    __slots__ = ("high_watermark", "last_stable_offset", "log_end_offset", "log_start_offset")

    def __init__(
        self,
        log_start_offset: int,
        log_end_offset: LogOffsetMetadata,
        high_watermark: LogOffsetMetadata,
        last_stable_offset: LogOffsetMetadata,
    ) -> None:
        self.log_start_offset = log_start_offset
        self.log_end_offset = log_end_offset
        self.high_watermark = high_watermark
        self.last_stable_offset = last_stable_offset
