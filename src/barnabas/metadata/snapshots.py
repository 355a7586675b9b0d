"""Snapshots of the metadata log: `<end offset>-<epoch>.checkpoint`, whole files of record batches.

A snapshot holds what all records below its end offset come to, between a header and a footer. It is written
aside, synced and renamed, so a file with the final name is complete; its footer is checked all the same. The
one named 0-0 is what the formatter left: it names the voters and the features to begin with, and is no state
of the log.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from barnabas.base.dataclass import dataclass
from barnabas.base.disk import Disk
from barnabas.base.hints import Any, Final
from barnabas.base.named_tuple import NamedTuple
from barnabas.metadata.batches import LogRecord, build_control_batch, build_data_batches, read_records
from barnabas.metadata.records import MetadataError, VersionedRecord
from barnabas.protocol import messages
from barnabas.protocol.control_records import ControlType

SUFFIX: Final = ".checkpoint"
PART_SUFFIX: Final = ".checkpoint.part"
DELETED_SUFFIX: Final = ".checkpoint.deleted"
_OFFSET_DIGITS: Final = 20
_EPOCH_DIGITS: Final = 10
_RECORDS_PER_BATCH: Final = 1024


class SnapshotId(NamedTuple):
    """Everything below `end_offset` is in it; `epoch` is that of the last such record."""

    end_offset: int
    epoch: int

    @property
    def file_name(self) -> str:
        """20 and 10 digits."""
        return f"{self.end_offset:020d}-{self.epoch:010d}{SUFFIX}"


BOOTSTRAP_ID: Final = SnapshotId(0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quorum:
    """How voters are known: `voters` is the VotersRecord of kraft.version 1, None below."""

    kraft_version: int
    voters: Any = None

    def controls(self) -> list[tuple[ControlType, Any]]:
        """Return the control records that say so; none for kraft.version 0."""
        if self.kraft_version == 0:
            return []
        kraft = messages.KRaftVersionRecord(version=0, kraft_version=self.kraft_version)
        return [(ControlType.KRAFT_VERSION, kraft), (ControlType.KRAFT_VOTERS, self.voters)]


def list_snapshots(disk: Disk, directory: str) -> list[SnapshotId]:
    """Return the snapshots of a directory, oldest first, the formatter's included."""
    found = []
    for name in disk.list_dir(directory):
        offset, _, epoch = name.removesuffix(SUFFIX).partition("-")
        digits = offset + epoch
        if (
            name.endswith(SUFFIX)
            and (len(offset), len(epoch)) == (_OFFSET_DIGITS, _EPOCH_DIGITS)
            and digits.isascii()
            and digits.isdecimal()
        ):
            found.append(SnapshotId(int(offset), int(epoch)))
    return sorted(found)


def remove_leftovers(disk: Disk, directory: str) -> None:
    """Unlink unfinished and deleted snapshots."""
    for name in disk.list_dir(directory):
        if name.endswith((PART_SUFFIX, DELETED_SUFFIX)):
            disk.unlink(f"{directory}/{name}")


def encode_snapshot(
    records: Iterable[VersionedRecord], *, quorum: Quorum, epoch: int, last_timestamp: int, timestamp: int
) -> list[bytes]:
    """Return the batches of a snapshot.

    Args:
        last_timestamp: of the last record of the log that is in it.
        timestamp: milliseconds since 1970, now.
    """
    header = messages.SnapshotHeaderRecord(version=0, last_contained_log_timestamp=last_timestamp)
    controls = [(ControlType.SNAPSHOT_HEADER, header), *quorum.controls()]
    batches = [build_control_batch(controls, base_offset=0, epoch=epoch, timestamp=timestamp)]
    offset = len(controls)
    pending: list[VersionedRecord] = []
    for record in records:
        pending.append(record)
        if len(pending) == _RECORDS_PER_BATCH:
            batches += build_data_batches(pending, base_offset=offset, epoch=epoch, timestamp=timestamp)
            offset += len(pending)
            pending = []
    batches += build_data_batches(pending, base_offset=offset, epoch=epoch, timestamp=timestamp)
    offset += len(pending)
    footer = [(ControlType.SNAPSHOT_FOOTER, messages.SnapshotFooterRecord(version=0))]
    batches.append(build_control_batch(footer, base_offset=offset, epoch=epoch, timestamp=timestamp))
    return batches


def write_snapshot_file(
    disk: Disk, directory: str, snapshot_id: SnapshotId, batches: Sequence[bytes]
) -> None:
    """Write a snapshot durably; a crash leaves it whole or not there."""
    path = f"{directory}/{snapshot_id.file_name}"
    part = path.removesuffix(SUFFIX) + PART_SUFFIX
    file = disk.open(part, create=True)
    try:
        file.truncate(0)
        file.write_at(0, batches)
        file.sync()
    finally:
        file.close()
    disk.rename(part, path)
    disk.sync_dir(directory)


def read_snapshot(disk: Disk, directory: str, snapshot_id: SnapshotId) -> list[LogRecord]:
    """Return the records of a snapshot.

    Raises:
        MetadataError: it is damaged or incomplete.
    """
    path = f"{directory}/{snapshot_id.file_name}"
    return read_snapshot_file(disk, path)


def read_snapshot_file(disk: Disk, path: str) -> list[LogRecord]:
    """Return the records of a snapshot file, checked to be whole; raises as read_snapshot()."""
    file = disk.open_readonly(path)
    try:
        content = file.read_at(0, file.size())
    finally:
        file.close()
    records = list(read_records(content, where=path))
    if not records or records[0].control is not ControlType.SNAPSHOT_HEADER:
        raise MetadataError(f"{path} does not begin as a snapshot does")
    if records[-1].control is not ControlType.SNAPSHOT_FOOTER:
        raise MetadataError(f"{path} is cut: its end is missing")
    return records


def remove_snapshot(disk: Disk, directory: str, snapshot_id: SnapshotId) -> None:
    """Unlink a snapshot."""
    disk.unlink(f"{directory}/{snapshot_id.file_name}")
