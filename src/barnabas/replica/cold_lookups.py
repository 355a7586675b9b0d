"""Requests whose look-up met a page that is not in memory (F44): set aside, helped, and made anew.

The whole request is tried again when its pages are there, with nothing kept of the first try, as a parked
fetch is: partitions may have been deleted, truncated or given away meanwhile. Each try gets further, for what
it met is in memory; after COLD_READ_TRIES_MAX of them the next may wait for the disk, so that a machine which
throws pages out as fast as they come still answers.
"""

from collections.abc import Callable, Hashable, Sequence
from functools import partial

from barnabas.base.cold_reads import ColdReadError, ColdReads
from barnabas.base.errors import ErrorCode
from barnabas.base.limits import COLD_READ_TRIES_MAX
from barnabas.replica.fetch import (
    FetchOutcome,
    FetchParams,
    FetchPartition,
    FetchPartitionResult,
    FetchReason,
)
from barnabas.replica.session_partitions import SessionPartitions

Respond = Callable[[FetchOutcome], None]
Asked = Sequence[FetchPartition] | SessionPartitions
Fetch = Callable[[FetchParams, Asked, Respond, Hashable | None], None]


class ColdLookups:
    """What is set aside now.

    Args:
        cold_reads: None: look-ups wait for the disk.
    """

    __slots__ = ("_cold_reads", "_waiting")

    def __init__(self, cold_reads: ColdReads | None) -> None:
        self._cold_reads = cold_reads
        self._waiting: dict[Hashable, _SetAside] = {}  # one a connection, since it has one request in hand

    @property
    def tries_max(self) -> int:
        """How often a request may be set aside."""
        return 0 if self._cold_reads is None else COLD_READ_TRIES_MAX

    def __len__(self) -> int:
        """How many requests of connections are set aside."""
        return len(self._waiting)

    def fetch_later(  # noqa: PLR0917 - the arguments of the fetch, in their order
        self,
        cold: ColdReadError,
        fetch: Fetch,
        params: FetchParams,
        partitions: Asked,
        respond: Respond,
        owner: Hashable | None,
    ) -> None:
        """Call `fetch` with the rest again when what it met is in memory; never before this returns."""
        params.cold_tries += 1

        def again() -> None:
            try:
                fetch(params, partitions, respond, owner)
            except Exception:
                # A fault of ours, for the loop to report; dispatch, which would answer, is long gone.
                asked = list(partitions)
                failed = [FetchPartitionResult(ErrorCode.UNKNOWN_SERVER_ERROR) for _ in asked]
                respond(FetchOutcome(asked, failed, FetchReason.ERROR, 0))
                raise

        self.try_later(cold, again, owner)

    def try_later(self, cold: ColdReadError, again: Callable[[], None], owner: Hashable | None) -> None:
        """Call `again` when what a look-up met is in memory, unless its owner is gone by then."""
        assert self._cold_reads is not None, "nobody reads for look-ups that may not wait"
        set_aside = _SetAside(again)
        if owner is not None:
            assert owner not in self._waiting, "a connection has one request in hand"
            self._waiting[owner] = set_aside
        self._cold_reads.read_all(cold, partial(self._go_on, set_aside, owner))

    def cancel_owner(self, owner: Hashable) -> int:
        """Forget what is set aside for a connection that is gone (F31); return how many that were."""
        set_aside = self._waiting.pop(owner, None)
        if set_aside is None:
            return 0
        set_aside.again = None
        return 1

    def _go_on(self, set_aside: "_SetAside", owner: Hashable | None) -> None:
        again = set_aside.again
        if again is None:
            return
        if owner is not None:
            del self._waiting[owner]
        again()


class _SetAside:
    """One request; without `again` when nobody waits for it any more."""

    __slots__ = ("again",)

    def __init__(self, again: Callable[[], None]) -> None:
        self.again: Callable[[], None] | None = again
