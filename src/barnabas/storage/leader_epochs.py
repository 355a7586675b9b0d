"""Which leader epoch began at which offset: `leader-epoch-checkpoint` (KIP-101, KIP-279).

Answers OffsetForLeaderEpoch and the divergence check of a fetch (F16). Kafka syncs the file on every new
epoch; here a new entry only marks the cache dirty and `persist` writes it before the recovery point moves,
on roll and on close: recovery assigns again what batches beyond the recovery point say, and ten thousand
partitions that change leaders at a start must not cost ten thousand syncs. An epoch that has no batch yet
when the broker is killed is forgotten and assigned anew by the next leader.
"""

from bisect import bisect_left, bisect_right

from barnabas.base.disk import Disk, FileReplacements, write_file_durably
from barnabas.base.named_tuple import NamedTuple
from barnabas.storage.checkpoints import checkpoint_file

UNDEFINED_EPOCH = -1
UNDEFINED_EPOCH_OFFSET = -1

_EPOCH_MAX = 2**31 - 1
_WRITTEN = 2**63 - 1
_FROM_START = -1


class EpochEntry(NamedTuple):
    """A leader epoch and the first offset it wrote."""

    epoch: int
    start_offset: int


class LeaderEpochs:
    """The epochs of one log, both columns ascending.

    Args:
        path: of the checkpoint file.

    Attributes:
        latest_epoch: the newest epoch, -1 when there is none.
    """

    __slots__ = ("_entries", "_path", "_unwritten_from", "latest_epoch")

    def __init__(self, path: str) -> None:
        self._path = path
        self._entries: list[EpochEntry] = []
        self.latest_epoch = UNDEFINED_EPOCH
        self._unwritten_from = _WRITTEN  # the file is right about every offset below

    def load(self, disk: Disk) -> None:
        """Read the file; none means no epochs.

        Raises:
            CheckpointError: it is damaged.
        """
        self._entries = []
        self.latest_epoch = UNDEFINED_EPOCH
        for line in checkpoint_file.read_lines(disk, self._path) or ():
            try:
                epoch, start_offset = map(int, line.split())
            except ValueError:
                raise checkpoint_file.CheckpointError(f"{self._path} holds the line {line!r}") from None
            if not (0 <= epoch <= _EPOCH_MAX and 0 <= start_offset <= checkpoint_file.OFFSET_MAX):
                raise checkpoint_file.CheckpointError(
                    f"{self._path} holds the line {line!r}, which is no epoch"
                )
            self.assign(epoch, start_offset)
        self._unwritten_from = _WRITTEN

    def persist(self, disk: Disk, end_offset: int, replacements: FileReplacements | None = None) -> None:
        """Write the file durably if what it tells of the offsets below `end_offset` has changed.

        An epoch without records is not worth a sync: opening the log forgets it anyway.

        Args:
            replacements: whoever gave them syncs, together with other files.
        """
        if self._unwritten_from < end_offset or self._unwritten_from == _FROM_START:
            content = checkpoint_file.content_of(f"{e} {s}" for e, s in self._entries)
            if replacements is not None:
                replacements.add(self._path, content)
            else:
                write_file_durably(disk, self._path, content)
            self._unwritten_from = _WRITTEN

    @property
    def dirty(self) -> bool:
        """Whether the file differs from what is here."""
        return self._unwritten_from != _WRITTEN

    def move(self, path: str) -> None:
        """Follow a renamed partition directory: `path` is the file's new one."""
        self._path = path

    @property
    def entries(self) -> list[EpochEntry]:
        """All entries, oldest first; not to be changed."""
        return self._entries

    def assign(self, epoch: int, start_offset: int) -> None:
        """Note that `epoch` starts at `start_offset`; entries it contradicts give way."""
        if epoch < 0 or start_offset < 0:
            raise ValueError(f"leader epoch {epoch} cannot start at offset {start_offset}")
        entries = self._entries
        if entries and epoch == entries[-1].epoch and start_offset >= entries[-1].start_offset:
            return
        while entries and (entries[-1].epoch >= epoch or entries[-1].start_offset >= start_offset):
            entries.pop()
        entries.append(EpochEntry(epoch, start_offset))
        self.latest_epoch = epoch
        self._unwritten_from = min(self._unwritten_from, start_offset)

    def end_offset_for(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """Return (epoch, end offset) of the largest known epoch not above `epoch`; (-1, -1) undetermined.

        The end offset of an epoch is where the next known one starts, of the latest the log's end.
        """
        if epoch == UNDEFINED_EPOCH:
            return UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET
        if epoch == self.latest_epoch:
            return epoch, log_end_offset
        above = bisect_right(self._entries, epoch, key=_epoch_of)
        if above == len(self._entries):
            return UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET
        end_offset = self._entries[above].start_offset
        # Below the oldest known epoch: nothing of it is left, and the oldest start bounds it.
        return (self._entries[above - 1].epoch if above else epoch), end_offset

    def epoch_for(self, offset: int) -> int:
        """Return the epoch that wrote `offset`, -1 when unknown."""
        at = bisect_right(self._entries, offset, key=_start_of) - 1
        return self._entries[at].epoch if at >= 0 else UNDEFINED_EPOCH

    def truncate_from_end(self, end_offset: int) -> None:
        """Forget epochs that start at or beyond `end_offset`."""
        keep = bisect_left(self._entries, end_offset, key=_start_of)
        if keep < len(self._entries):
            del self._entries[keep:]
            self.latest_epoch = self._entries[-1].epoch if self._entries else UNDEFINED_EPOCH
            self._unwritten_from = min(self._unwritten_from, end_offset)

    def truncate_from_start(self, start_offset: int) -> None:
        """Forget what lies before `start_offset`; the epoch in force there starts there now."""
        below = bisect_right(self._entries, start_offset, key=_start_of)
        if below and (below > 1 or self._entries[0].start_offset != start_offset):
            self._entries[:below] = [EpochEntry(self._entries[below - 1].epoch, start_offset)]
            self._unwritten_from = _FROM_START

    def clear(self) -> None:
        """Forget everything."""
        if self._entries:
            self._unwritten_from = _FROM_START
        self._entries = []
        self.latest_epoch = UNDEFINED_EPOCH


def _epoch_of(entry: EpochEntry) -> int:
    return entry.epoch


def _start_of(entry: EpochEntry) -> int:
    return entry.start_offset
