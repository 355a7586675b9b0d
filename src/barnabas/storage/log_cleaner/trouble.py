"""What goes wrong with cleanings: logs that are left alone for good, and those that are tried again later.

A damaged log is told of once and never cleaned again before a restart, as in Apache Kafka. A process that
died, or
memory or room that lacked, is no fault of the log: it is tried again, later each time. Everything else that
the disk says takes the directory offline, as any other error of it does.
"""

import errno as errnos
from collections.abc import Callable, Mapping

from barnabas.base.hints import Final
from barnabas.base.logger import Logger
from barnabas.storage.compaction.task import FailureKind
from barnabas.storage.log import Log
from barnabas.storage.topic_partition import TopicPartition

log = Logger(__name__)

RETRY_DELAYS_MS: Final = (1_000, 5_000, 15_000, 60_000)
"""From a failure to the next try; the last one for all further failures."""

NO_ROOM: Final = frozenset({errnos.ENOSPC, errnos.EDQUOT})
NOT_THE_DISK: Final = frozenset({errnos.EMFILE, errnos.ENFILE, errnos.ENOMEM, errnos.EAGAIN})


class CleanerTrouble:
    """Remembers which logs are not to be cleaned, or not yet.

    Args:
        now_ms: reads the monotonic clock.

    Attributes:
        uncleanable: logs that are left alone; one made anew under a name is not.
    """

    __slots__ = ("_failures", "_now_ms", "_try_at_ms", "uncleanable")

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self.uncleanable: dict[TopicPartition, Log] = {}
        self._failures: dict[TopicPartition, int] = {}
        self._try_at_ms: dict[TopicPartition, int] = {}

    @property
    def crashed(self) -> int:
        """How many logs wait to be tried again."""
        return len(self._failures)

    def is_uncleanable(self, key: TopicPartition, known: Log) -> bool:
        """Whether a log is left alone."""
        return self.uncleanable.get(key) is known

    def may_try(self, key: TopicPartition) -> bool:
        """Whether a log that failed before may be tried again by now."""
        return self._now_ms() >= self._try_at_ms.get(key, 0)

    def next_try_in_ms(self, otherwise_ms: int) -> int:
        """Return until when the next log may be tried again; `otherwise_ms` when none waits."""
        now_ms = self._now_ms()
        waits = [at_ms - now_ms for at_ms in self._try_at_ms.values() if at_ms > now_ms]
        return min(waits, default=otherwise_ms)

    def mark_uncleanable(self, key: TopicPartition, known: Log, why: str) -> None:
        """Leave a log alone."""
        if not self.is_uncleanable(key, known):
            log.error("%s is not cleaned any more before a restart: %s", key, why)
            self.uncleanable[key] = known

    def met(self, key: TopicPartition, known: Log, kind: FailureKind, message: str, errno: int) -> None:
        """Take note of a cleaning that failed.

        Args:
            errno: what the disk said, when it was the disk.
        """
        if kind is FailureKind.CORRUPT:
            self.mark_uncleanable(key, known, message)
        elif kind is FailureKind.CRASHED or errno in NO_ROOM or errno in NOT_THE_DISK:
            self._try_later(key, message)
        else:
            known.directory.failed(OSError(errno or errnos.EIO, message), f"cleaning {key}")

    def _try_later(self, key: TopicPartition, message: str) -> None:
        failures = self._failures.get(key, 0)
        if not failures:
            log.warning("%s could not be cleaned and is tried again: %s", key, message)
        self._failures[key] = failures + 1
        self._try_at_ms[key] = self._now_ms() + RETRY_DELAYS_MS[min(failures, len(RETRY_DELAYS_MS) - 1)]

    def went_well(self, key: TopicPartition) -> None:
        """Take note of a cleaning that was completed."""
        self._failures.pop(key, None)
        self._try_at_ms.pop(key, None)

    def forget_unless(self, logs: Mapping[TopicPartition, Log]) -> None:
        """Forget logs that are gone."""
        for key in [key for key, known in self.uncleanable.items() if logs.get(key) is not known]:
            del self.uncleanable[key]
        for remembered in (self._failures, self._try_at_ms):
            for key in [key for key in remembered if key not in logs]:
                del remembered[key]
