"""A log that is on its way into another directory: a copy of its files that follows it (KIP-113).

The copy is the log's files byte for byte, segment by segment from the oldest on, in a directory
`<topic>-<partition>.<32 hex>-future`. What the log gets, drops or replaces meanwhile is found by looking at
its segments anew before each step. Once nothing is left to copy, the log itself goes on in the other
directory: what it knows of its batches, producers, epochs and open transactions is as true of the copy,
so whoever holds the log, a parked fetch, a session, a coordinator, need not know of the move.

Apache Kafka's future replica is a second log that fetches from the first. Rejected: each batch would be
parsed and checked on the loop, and every holder of the log be told to hold another.
"""

import errno

from barnabas.base.errors import ApiError
from barnabas.storage.checkpoints import checkpoint_file
from barnabas.storage.log import Log
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.log_moves.copy_step import CopyStep, SourceReadError
from barnabas.storage.partition_metadata import FILE_NAME as PARTITION_METADATA_FILE
from barnabas.storage.partition_metadata import write_topic_id
from barnabas.storage.segment import LOG_SUFFIX, SEGMENT_SUFFIXES, LogSegment, file_stem

STEP_BYTES = 1024 * 1024
"""What is copied at once, at most."""

REST_BYTES_MAX = 256 * 1024
"""What may be left to copy when the log goes over, within one turn of the loop."""

UNSYNCED_BYTES_MAX = 1024 * 1024
UNSYNCED_FILES_MAX = 16
"""What may be left to sync then."""

SYNC_EVERY_BYTES = 64 * 1024 * 1024
"""A copy of many gigabytes is not to fill the page cache with what must be written."""


class FutureLog:
    """The copy of one log.

    Args:
        directory: where the log goes.
        path: of the copy, in that directory.

    Attributes:
        end_offset: the copy holds every record below it.
    """

    __slots__ = (
        "_copied",
        "_cuts",
        "_patience",
        "_reached",
        "_snapshots",
        "_unsynced",
        "_unsynced_bytes",
        "_whole",
        "directory",
        "end_offset",
        "path",
        "source",
    )

    def __init__(self, source: Log, directory: LogDirectory, path: str) -> None:
        self.source = source
        self.directory = directory
        self.path = path
        self.end_offset = source.segments.first.base_offset
        self._copied: dict[LogSegment, int] = {}  # bytes of each that are copied
        self._whole: set[LogSegment] = set()  # sealed, and all of them copied
        self._snapshots: set[int] = set()
        self._unsynced: dict[str, None] = {}
        self._unsynced_bytes = 0
        self._cuts = source.durability.cuts
        self._patience = 0
        self._reached = self.end_offset  # by the step that is under way

    def __repr__(self) -> str:
        return f"FutureLog({self.path}, {self.size} bytes)"

    @property
    def size(self) -> int:
        """Bytes of batches that are copied."""
        return sum(self._copied.values())

    def make(self) -> None:
        """Make the copy's directory; what is left in it of an earlier try goes.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR, the directory is offline.
        """
        disk, source = self.directory.disk, self.source
        self.directory.check()
        try:
            disk.make_dir(self.path)
            self.clear()
            if source.topic_id is not None:
                write_topic_id(disk, self.path, source.topic_id)
            disk.sync_dir(self.directory.path)
        except OSError as error:
            raise self.directory.failed(error, f"making {self.path}") from error

    def clear(self) -> None:
        """Unlink what is copied: half of a file would look whole to whoever trusts a clean stop.

        Whose copy it is stays said, or Apache Kafka would not start on it.

        Raises:
            OSError: the disk refuses.
        """
        for name in self.directory.disk.list_dir(self.path):
            if name != PARTITION_METADATA_FILE:
                self.directory.disk.unlink(f"{self.path}/{name}")

    # Steps -------------------------------------------------------------------------------------

    def next_step(self, bytes_max: int = STEP_BYTES) -> CopyStep | None:
        """Return what to copy next, None when so little is left that `finish` may do it.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR, one of the directories is offline.
        """
        self.source.directory.check()
        self.directory.check()
        step = CopyStep(self.directory.disk)
        try:
            return step if self._fill(step, bytes_max) else None
        except OSError as error:
            step.release()
            raise self.source.directory.failed(error, f"moving {self.source.name}") from error

    def _fill(self, step: CopyStep, bytes_max: int) -> bool:
        """Put into a step what is to be done next; return whether there is anything."""
        self._drop_what_is_gone(step)
        if self._unsynced_bytes >= SYNC_EVERY_BYTES:
            self._sync(step)
        elif self._is_much_left() or not step.is_empty:
            self._copy_some(step, bytes_max)
        elif (
            self._unsynced_bytes > self._allowed(UNSYNCED_BYTES_MAX)
            or len(self._unsynced) > UNSYNCED_FILES_MAX
        ):
            # A log that gets more in the time of a sync than may be left must go over all the same.
            self._patience += 1
            self._sync(step)
        else:
            return False
        return True

    def step_is_done(self, step: CopyStep) -> None:
        """Let go of a step that was run.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR, records were missing in the log's files.
        """
        step.release()
        self._check_complete(step)
        self.end_offset = self._reached

    def _check_complete(self, step: CopyStep) -> None:
        if step.missing is not None and self._cuts == self.source.durability.cuts:
            error = OSError(errno.EIO, "the file is shorter than what was written to it", step.missing)
            raise self.failed(SourceReadError(error)) from error

    def finish(self) -> None:
        """Copy the rest, here and now, and make all of the copy durable.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR, one of the directories is offline.
        """
        source, step = self.source, CopyStep(self.directory.disk)
        try:
            self._drop_what_is_gone(step)
            source.segments.active.write_indexes(even_if_empty=True)
            for segment in source.segments:
                if segment not in self._whole:
                    self._copy_range(step, segment, segment.size)
                    self._copy_indexes(step, segment)
        except OSError as error:
            step.release()
            raise source.directory.failed(error, f"moving {source.name}") from error
        self._copy_snapshots(step, source.producers.snapshot_offsets)
        epochs = checkpoint_file.content_of(f"{e} {s}" for e, s in source.leader_epochs.entries)
        step.write(f"{self.path}/{checkpoint_file.LEADER_EPOCH_FILE}", epochs)
        step.sync([f"{self.path}/{checkpoint_file.LEADER_EPOCH_FILE}"])
        self._sync(step)
        step.sync_dir(self.path)
        try:
            step.run()
        except OSError as error:
            raise self.failed(error) from error
        finally:
            step.release()
        self._check_complete(step)
        self.end_offset = source.log_end_offset

    def failed(self, error: OSError) -> ApiError:
        """Take the directory offline that made a step fail; return what to raise."""
        directory = self.source.directory if isinstance(error, SourceReadError) else self.directory
        return directory.failed(error, f"moving {self.source.name} to {self.directory.path}")

    # What a step holds ---------------------------------------------------------------------------

    def _allowed(self, bytes_max: int) -> int:
        return bytes_max << min(self._patience, 8)

    def _rest_bytes(self) -> int:
        copied = self._copied
        return sum(segment.size - copied.get(segment, 0) for segment in self.source.segments)

    def _is_much_left(self) -> bool:
        halves = len(self.source.segments) - len(self._whole)
        return self._rest_bytes() > self._allowed(REST_BYTES_MAX) or halves > UNSYNCED_FILES_MAX // 4

    def _drop_what_is_gone(self, step: CopyStep) -> None:
        """Forget segments that the log has no more; after a truncation, which is rare, all of them."""
        source = self.source
        if source.durability.cuts != self._cuts:
            self._cuts = source.durability.cuts
            gone = list(self._copied)
        else:
            there = set(source.segments)
            gone = [segment for segment in self._copied if segment not in there]
        for segment in gone:
            step.remove(self._paths(segment))
            del self._copied[segment]
            self._whole.discard(segment)

    def _copy_some(self, step: CopyStep, bytes_max: int) -> None:
        for segment in self.source.segments:
            if segment in self._whole:
                continue
            has = self._copied.get(segment, 0)
            end = min(segment.size, has + bytes_max - step.copied_bytes)
            self._copy_range(step, segment, end)
            self._reached = segment.base_offset
            if end < segment.size:
                return
            if segment.sealed:
                self._copy_indexes(step, segment)
                self._copy_snapshots(step, {segment.base_offset} & self.source.producers.snapshot_offsets)
                self._whole.add(segment)
        self._reached = self.source.log_end_offset

    def _copy_range(self, step: CopyStep, segment: LogSegment, end: int) -> None:
        has = self._copied.get(segment, 0)
        target = file_stem(self.path, segment.base_offset) + LOG_SUFFIX
        if end > has:
            step.copy_range(segment.leased, has, end - has, target)
            self._unsynced[target] = None
            self._unsynced_bytes += end - has
        elif not end:
            step.write(target, b"")
            self._unsynced[target] = None
        self._copied[segment] = end

    def _copy_indexes(self, step: CopyStep, segment: LogSegment) -> None:
        sources = segment.index_paths()
        for source, target in zip(sources, self._paths(segment)[1:], strict=True):
            step.copy_file(source, target)
            self._unsynced[target] = None

    def _copy_snapshots(self, step: CopyStep, offsets: set[int]) -> None:
        producers = self.source.producers
        for offset in sorted(offsets - self._snapshots):
            source = producers.path(offset)
            target = f"{self.path}/{source.rpartition('/')[2]}"
            step.copy_file(source, target)
            self._unsynced[target] = None
            self._snapshots.add(offset)

    def _sync(self, step: CopyStep) -> None:
        step.sync(self._unsynced)
        self._unsynced.clear()
        self._unsynced_bytes = 0

    def _paths(self, segment: LogSegment) -> list[str]:
        stem = file_stem(self.path, segment.base_offset)
        return [stem + suffix for suffix in SEGMENT_SUFFIXES]
