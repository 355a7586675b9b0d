"""The note that transactions are still to be looked at as after a crash, though the last stop was clean.

A start that was not clean looks for what logs know of transactions and the coordinator does not
(`coordinator/transactions/lost.py`), once all transactional ids are loaded. A broker that is stopped before
that leaves this note beside the metadata log, whose directory it cannot do without, and the next start looks.

Rejected: to leave the marker of a clean stop away instead. The next start, ours or Apache Kafka's, would read
the last segment of every log for nothing, and so would each one after it as long as some id cannot be loaded.
"""

from __future__ import annotations

from barnabas.base.disk import Disk, write_file_durably
from barnabas.base.hints import Final

FILE_NAME: Final = ".barnabas-unchecked-transactions"

_TEXT: Final = b"the next start looks for transactions that no coordinator knows\n"


def is_noted(disk: Disk, directory: str) -> bool:
    """Whether the note is there.

    Args:
        directory: where the metadata log lies.
    """
    return disk.exists(f"{directory}/{FILE_NAME}")


def note(disk: Disk, directory: str, *, unchecked: bool) -> None:
    """Leave the note, durably, or take it away: a note too many costs a look.

    Raises:
        OSError: the disk refuses.
    """
    path = f"{directory}/{FILE_NAME}"
    if unchecked:
        write_file_durably(disk, path, _TEXT)
    elif disk.exists(path):
        disk.unlink(path)
