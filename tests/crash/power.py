"""A machine in memory whose power goes after a number of operations of its disk."""

import random
from collections.abc import Callable

from barnabas.base.errors import ApiError
from barnabas.sim.clock import ManualClock
from barnabas.sim.disk import MemoryDisk
from barnabas.storage.loading.directory_loading import LogManagerError
from tests.storage_setup import FIRST_TIMESTAMP

NEVER = 10**9


class PowerLossError(OSError):
    """The disk stops answering: the machine lost power."""


class FailingMachine:
    """A clock and a disk; reads do not count as operations.

    Attributes:
        left: operations until the power goes.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.clock = ManualClock(FIRST_TIMESTAMP)
        self.disk = MemoryDisk(self.clock)
        self.disk.on_operation = self._count
        self.left = NEVER

    def _count(self, what: str, path: str) -> None:
        if what == "read":
            return
        self.left -= 1
        if self.left < 0:
            raise PowerLossError(5, f"power lost before {what}", path)

    def live_once(self, life: Callable[[], None], operations_max: int) -> None:
        """Let `life` go on until it ends or the power goes, and lose what was not synced."""
        self.left = self.random.randrange(operations_max)
        try:
            life()
        except (PowerLossError, ApiError, LogManagerError):
            if self.left >= 0:
                raise
        self.disk.crash(self.random, keep_all=self.random.randrange(4) == 0)
        self.left = NEVER
