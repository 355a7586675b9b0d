"""Reading `__cluster_metadata-0` without changing it: the newest snapshot, then the log behind it.

A start replays first and repairs afterwards, so that a log it cannot carry on is left byte for byte as it
was: recovery cuts off a torn end, makes indexes anew and removes what was half deleted. The walk ends where
recovery will cut; `MetadataLog.open` checks that both met at the same offset.

Opening the log for real and replaying from it was rejected: it has changed the directory by the time the
first record of an unknown type is met.
"""

from __future__ import annotations

from collections.abc import Iterator

from barnabas.base.disk import Disk, DiskFile
from barnabas.base.errors import DecodeError
from barnabas.base.hints import Final
from barnabas.metadata.batches import LogRecord, read_records
from barnabas.metadata.image import MetadataDelta, MetadataImage
from barnabas.metadata.quorum_state import read_quorum_state
from barnabas.metadata.records import MetadataError, VersionedRecord
from barnabas.metadata.snapshots import BOOTSTRAP_ID, Quorum, SnapshotId, list_snapshots, read_snapshot
from barnabas.protocol.control_records import ControlType
from barnabas.protocol.record_batch import (
    HEADER_BYTES,
    LOG_OVERHEAD_BYTES,
    BatchHeader,
    crc_matches,
    parse_header,
)
from barnabas.storage.segment import LOG_SUFFIX
from barnabas.storage.swap_files import is_offset

_PIECE_BYTES: Final = 4 * 1024 * 1024


class MetadataReplay:
    """What one reading of the log came to.

    Args:
        path: of the directory `__cluster_metadata-0`, which need not exist.
        image: where everything is replayed.

    Attributes:
        delta: all that was replayed.
        snapshots: oldest first, without the formatter's own.
        latest: the one that was loaded, or the formatter's.
        bootstrap_records: what the formatter's snapshot wants the log to begin with.
        quorum: the voters as the log has them.
        elected_voters: those of the last election and of quorum-state; for voters that are configured.
        end_offset: behind the last good batch; where `latest` ends when the log ends before that.
        last_timestamp: of the last record, in ms since 1970; -1 without one.
        last_epoch: of the last batch.
        bytes_since_snapshot: of the batches that were replayed.
    """

    __slots__ = (
        "_disk",
        "_image",
        "_path",
        "bootstrap_records",
        "bytes_since_snapshot",
        "delta",
        "elected_voters",
        "end_offset",
        "last_epoch",
        "last_timestamp",
        "latest",
        "quorum",
        "snapshots",
    )

    def __init__(self, disk: Disk, path: str, image: MetadataImage) -> None:
        self._disk = disk
        self._path = path
        self._image = image
        self.delta = MetadataDelta()
        self.snapshots: list[SnapshotId] = []
        self.latest = BOOTSTRAP_ID
        self.bootstrap_records: list[VersionedRecord] = []
        self.quorum = Quorum(kraft_version=0)
        self.elected_voters: set[int] = set()
        self.end_offset = 0
        self.last_timestamp = -1
        self.last_epoch = 0
        self.bytes_since_snapshot = 0

    def run(self) -> None:
        """Read everything; once.

        Raises:
            MetadataError: damaged or unknown content, or a gap between snapshot and log.
            OSError: the disk refused.
        """
        disk, path = self._disk, self._path
        if not disk.is_dir(path):
            return
        state = read_quorum_state(disk, path)
        if state is not None:
            self.elected_voters.update(state.voters)
        found = list_snapshots(disk, path)
        self.snapshots = [snapshot for snapshot in found if snapshot != BOOTSTRAP_ID]
        if BOOTSTRAP_ID in found:
            self._load_bootstrap()
        if self.snapshots:
            self._load_snapshot(self.snapshots[-1])
        self.end_offset = self.latest.end_offset
        self._replay_segments()

    def _load_bootstrap(self) -> None:
        for entry in read_snapshot(self._disk, self._path, BOOTSTRAP_ID):
            if entry.record is not None:
                self.bootstrap_records.append(entry.record)
            else:
                self._note_control(entry)

    def _load_snapshot(self, latest: SnapshotId) -> None:
        self.latest = latest
        for entry in read_snapshot(self._disk, self._path, latest):
            self._replay(entry, f"{self._path}/{latest.file_name}")
            if entry.message is not None and entry.control is ControlType.SNAPSHOT_HEADER:
                self.last_timestamp = entry.message.last_contained_log_timestamp
        self.last_epoch = latest.epoch

    def _replay_segments(self) -> None:
        names = self._disk.list_dir(self._path)
        stems = [name.removesuffix(LOG_SUFFIX) for name in names if name.endswith(LOG_SUFFIX)]
        bases = sorted(int(stem) for stem in stems if is_offset(stem))
        if bases and bases[0] > self.latest.end_offset:
            raise MetadataError(
                f"{self._path}: the log begins at offset {bases[0]}, but the newest snapshot ends at "
                f"{self.latest.end_offset}; the records between are missing"
            )
        # Those that end below the snapshot are not read: it holds what they say.
        first = max((number for number, base in enumerate(bases) if base <= self.end_offset), default=0)
        last = -1
        for number in range(first, len(bases)):
            following = bases[number + 1] if number + 1 < len(bases) else None
            file = self._disk.open_readonly(f"{self._path}/{bases[number]:020d}{LOG_SUFFIX}")
            try:
                last, whole = self._replay_file(file, max(last, bases[number] - 1), following)
            finally:
                file.close()
            if not whole or (following is not None and last + 1 != following):
                return  # what follows is no part of the log

    def _replay_file(self, file: DiskFile, last: int, following: int | None) -> tuple[int, bool]:
        """Replay a segment; return its last offset, and whether it is sound to its end."""
        position = 0
        for batch, header in whole_batches(file):
            if header.base_offset <= last or (following is not None and header.last_offset >= following):
                return last, False
            last = header.last_offset
            position += header.size_bytes
            if last < self.latest.end_offset:
                continue
            for entry in read_records(batch, where=self._path, from_offset=self.latest.end_offset):
                self._replay(entry, self._path)
                self.last_timestamp = entry.timestamp
            self.last_epoch = max(self.last_epoch, header.partition_leader_epoch)
            self.bytes_since_snapshot += header.size_bytes
            self.end_offset = last + 1
        return last, position == file.size()

    def _replay(self, entry: LogRecord, where: str) -> None:
        if entry.record is None:
            self._note_control(entry)
            return
        try:
            self._image.replay(entry.record, self.delta)
        except MetadataError as error:
            raise MetadataError(f"{where}, offset {entry.offset}: {error}") from error

    def _note_control(self, entry: LogRecord) -> None:
        message = entry.message
        if message is None:
            return
        if entry.control is ControlType.KRAFT_VERSION:
            self.quorum = Quorum(kraft_version=message.kraft_version, voters=self.quorum.voters)
        elif entry.control is ControlType.KRAFT_VOTERS:
            self.quorum = Quorum(kraft_version=self.quorum.kraft_version, voters=message)
        elif entry.control is ControlType.LEADER_CHANGE:
            self.elected_voters = {voter.voter_id for voter in message.voters}


def whole_batches(file: DiskFile) -> Iterator[tuple[memoryview, BatchHeader]]:
    """Yield the batches of a segment with their headers, up to the first that is cut or damaged."""
    size = file.size()
    start = at = 0
    piece = memoryview(b"")
    while start + at + HEADER_BYTES <= size:
        if len(piece) - at < HEADER_BYTES:
            start, at = start + at, 0
            piece = memoryview(file.read_at(start, min(_PIECE_BYTES, size - start)))
        try:
            header = parse_header(piece, at)
        except DecodeError:
            return
        length = header.batch_length + LOG_OVERHEAD_BYTES
        if length > size - start - at:
            return
        if length > len(piece) - at:
            start, at = start + at, 0
            piece = memoryview(file.read_at(start, max(length, min(_PIECE_BYTES, size - start))))
        if len(piece) - at < length or not crc_matches(piece, at, header):
            return
        yield piece[at : at + length], header
        at += length
