"""Leader epochs: those that batches carry, outside of their checksum, and those of leader-epoch-checkpoint.

Each is the other's witness. In the batches an epoch never falls; in the file each begins where the first
batch of it does. A few batches whose epoch fits neither their neighbours nor the file are what is wrong,
else the file is.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from struct import Struct

from barnabas.base.dataclass import dataclass, field
from barnabas.base.disk import Disk
from barnabas.cli.doctor.findings import Finding, Fix, PartitionReport, Patch, Severity
from barnabas.storage.checkpoints.checkpoint_file import CheckpointError, content_of, read_lines

_EPOCH = Struct(">i")
_EPOCH_POSITION = 12
_PLACES_MAX = 64
"""Batches of one run that are remembered: more of the same epoch are not all wrong."""


@dataclass(slots=True, kw_only=True)
class _Run:
    """Batches in a row that carry the same epoch."""

    epoch: int
    first_offset: int
    places: list[tuple[str, int]] = field(default_factory=list)
    more: bool = False


class EpochRuns:
    """The epochs of a log's batches, in order."""

    def __init__(self) -> None:
        self._runs: list[_Run] = []

    def batch(self, epoch: int, base_offset: int, path: str, position: int) -> None:
        """A batch goes by."""
        if not self._runs or self._runs[-1].epoch != epoch:
            self._runs.append(_Run(epoch=epoch, first_offset=base_offset))
        run = self._runs[-1]
        if len(run.places) < _PLACES_MAX:
            run.places.append((path, position))
        else:
            run.more = True

    def first_offsets(self) -> list[tuple[int, int]]:
        """Return (epoch, first offset) without the runs that fit nowhere."""
        found: list[tuple[int, int]] = []
        for number, run in enumerate(self._runs):
            if self._right_epoch(number, None) is None and (not found or run.epoch != found[-1][0]):
                found.append((run.epoch, run.first_offset))
        return found

    def findings(
        self, file: Sequence[tuple[int, int]] | None, may_lack_from: int | None
    ) -> Iterator[Finding]:
        """Say which batches carry a wrong epoch.

        Args:
            file: what leader-epoch-checkpoint says; None for nothing.
            may_lack_from: as in check_epoch_file().
        """
        for number, run in enumerate(self._runs):
            is_lacking = may_lack_from is not None and run.first_offset >= may_lack_from
            right = self._right_epoch(number, None if is_lacking else file)
            if right is None:
                continue
            for path, position in run.places:
                yield Finding(
                    severity=Severity.DAMAGE,
                    kind="batch-leader-epoch",
                    file=path,
                    position=position,
                    offset=run.first_offset,
                    fix=Fix.RESTORE,
                    cause=f"the batch has leader epoch {run.epoch}, those around it {right}",
                    patches=(Patch(position=position + _EPOCH_POSITION, content=_EPOCH.pack(right)),),
                )

    def _right_epoch(self, number: int, file: Sequence[tuple[int, int]] | None) -> int | None:
        """Return the epoch that a run should have; None when nothing says that it is wrong."""
        run = self._runs[number]
        if run.more:
            return None
        before = self._runs[number - 1].epoch if number else None
        after = self._runs[number + 1].epoch if number + 1 < len(self._runs) else None
        if before is not None and before == after:
            return before
        in_order = (before is None or before < run.epoch) and (after is None or run.epoch < after)
        if file is not None:
            if (run.epoch, run.first_offset) in file:
                return None
            told = [epoch for epoch, start in file if start <= run.first_offset]
            known = told[-1] if told else None
            if known is not None and known != run.epoch and known in (before, after):
                return known
        if in_order:
            return None
        return before if before is not None and (after is None or before <= after) else after


def check_epoch_file(
    disk: Disk,
    path: str,
    seen: Sequence[tuple[int, int]],
    *,
    report: PartitionReport,
    log_start_offset: int,
    may_lack_from: int | None,
    compacted: bool,
) -> tuple[list[tuple[int, int]] | None, Finding | None]:
    """Return the file's entries, None when it is damaged, and what is wrong with it.

    Args:
        seen: (epoch, first offset) of the batches.
        log_start_offset: what lies below was deleted, though its segment may still be there.
        may_lack_from: epochs that begin at or behind this offset may not be written yet; None: all must be.
    """
    try:
        lines = read_lines(disk, path) or []
        entries = [_entry(line) for line in lines]
        written = [f"{epoch} {start}" for epoch, start in entries]
        if disk.size(path) and not is_as_written(disk, path, written):
            raise CheckpointError("it is not as a broker writes it")
    except (CheckpointError, ValueError) as error:
        return None, _finding(path, f"is damaged: {error}")
    for before, after in pairwise(entries):
        if after[0] <= before[0] or after[1] < before[1]:
            return None, _finding(
                path, f"epoch {after[0]} at {after[1]} follows epoch {before[0]} at {before[1]}"
            )
    if may_lack_from is not None and entries:
        # Records were deleted, and a kill came before the checkpoint that says so.
        log_start_offset = max(log_start_offset, entries[0][1])
    cause = _difference(
        entries,
        seen,
        log_start_offset=log_start_offset,
        log_end_offset=report.log_end_offset,
        may_lack_from=may_lack_from,
        compacted=compacted,
    )
    return entries, None if cause is None else _finding(path, cause)


def _difference(
    entries: Sequence[tuple[int, int]],
    seen: Sequence[tuple[int, int]],
    *,
    log_start_offset: int,
    log_end_offset: int,
    may_lack_from: int | None,
    compacted: bool,
) -> str | None:
    """Say in what a file's entries are not those of the batches; see check_epoch_file()."""
    starts = dict(entries)
    for number, (epoch, first) in enumerate(seen):
        start = starts.pop(epoch, None)
        if start is None:
            end = seen[number + 1][1] if number + 1 < len(seen) else log_end_offset
            # The file begins where the log does.
            if end > log_start_offset and (may_lack_from is None or first < may_lack_from):
                return f"leader epoch {epoch} of offset {first} is not in it"
        elif start == first or (first <= log_start_offset and start <= max(first, log_start_offset)):
            continue
        elif not (compacted and start < first):
            return f"leader epoch {epoch} begins at {start}, its batches at {first}"
    if not compacted:
        first_seen = seen[0][1] if seen else log_end_offset
        for epoch, start in starts.items():
            if first_seen <= start != log_end_offset:
                return f"leader epoch {epoch} at offset {start} has no batches"
    return None


def is_as_written(disk: Disk, path: str, lines: Sequence[str]) -> bool:
    """Whether a checkpoint with these lines is byte for byte what a broker writes."""
    file = disk.open_readonly(path)
    try:
        return file.read_at(0, file.size()) == content_of(lines)
    finally:
        file.close()


def _entry(line: str) -> tuple[int, int]:
    epoch, start = line.split()
    if int(epoch) < 0 or int(start) < 0:
        raise ValueError(f"{line!r} is no epoch and offset")
    return int(epoch), int(start)


def _finding(path: str, cause: str) -> Finding:
    return Finding(severity=Severity.DERIVED, kind="leader-epochs", file=path, cause=cause, fix=Fix.REBUILD)
