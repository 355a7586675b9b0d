"""Which fetch sessions live: ids, slots, and who gives way when the slots are taken (KIP-227, F38).

The slots are split over eight shards, each with its own range of ids, and every decision is one of a shard
alone. One process needs no shards for its locks, as Apache Kafka does; but with one table of 1000 slots a
client would sometimes get a session here that it is refused there.

Nobody asks how long a connection lives: a session outlasts it until a client ends it or it gives way.
Sessions are kept by last use in an ordered dict, and those that may give way in two sorted lists, so that a
fetch in a steady session costs one move to the end of a dict.

Rejected: one list of sessions searched when a slot is wanted. With 100,000 slots a flood of new clients would
pay for a walk over thousands each time.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator

from barnabas.base.dataclass import dataclass
from barnabas.base.entropy import Entropy
from barnabas.base.errors import ErrorCode
from barnabas.base.hints import TYPE_CHECKING, Final
from barnabas.handlers.fetch_partitions import PartitionKey
from barnabas.handlers.fetch_session import FINAL_EPOCH, CachedPartition, FetchSession, next_session_epoch

if TYPE_CHECKING:
    from barnabas.protocol import messages

INVALID_SESSION_ID: Final = 0
"""Stands for "no session" in requests and answers."""

SESSION_SHARDS: Final = 8
EVICTION_MS: Final = 120_000
"""A session unused for longer gives way to any; one younger than this gives way to followers only."""

_ID_RANGE: Final = (2**31 - 1) // SESSION_SHARDS

_Rank = tuple[bool, int, int]
"""(privileged, size, id): the lower gives way first."""


def closes_session(request: messages.FetchRequest) -> bool:
    """Whether a request ends a session, on which a parked fetch of the connection is answered (F33)."""
    return request.session_id != INVALID_SESSION_ID and request.session_epoch == FINAL_EPOCH


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSessionInfo:
    """One live session, for people.

    Attributes:
        epoch: that the next request has to name.
        privileged: of a follower, which consumers cannot displace.
        size: partitions.
        age_ms, idle_ms: since it was made, and since it was last used.
        client_id, client_host: who opened it; the connection may be gone since.
    """

    id: int
    epoch: int
    privileged: bool
    size: int
    age_ms: int
    idle_ms: int
    client_id: str
    client_host: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSessionStatistics:
    """Gauges and counters, some with their names in Apache Kafka's `kafka.server:type=FetchSessionCache`.

    Attributes:
        slots: sessions that can live at one time.
        session_count: NumIncrementalFetchSessions.
        partition_count: NumIncrementalFetchPartitionsCached.
        evictions: sessions that gave way to another; its rate is IncrementalFetchSessionEvictionsPerSec.
        created: sessions opened since the start.
        refused: full fetches that wanted a session and found no slot.
    """

    slots: int
    session_count: int
    partition_count: int
    evictions: int
    created: int
    refused: int


class FetchSessionCache:
    """All sessions of a broker.

    Args:
        slots: `max.incremental.fetch.session.cache.slots`; what is left over by eight stays unused, so fewer
            than eight are none, as in Apache Kafka.
        entropy: where ids come from.
    """

    __slots__ = ("_created", "_next_shard", "_refused", "_shards")

    def __init__(self, *, slots: int, entropy: Entropy) -> None:
        self._shards = [_Shard(number, slots // SESSION_SHARDS, entropy) for number in range(SESSION_SHARDS)]
        self._next_shard = 0
        self._created = 0
        self._refused = 0

    def open(
        self,
        partitions: dict[PartitionKey, CachedPartition],
        *,
        uses_topic_ids: bool,
        privileged: bool,
        now_ms: int,
        client_id: str,
        client_host: str,
    ) -> FetchSession | None:
        """Make a session whose client was told of these partitions; None without a slot for it (F34, F38).

        Args:
            partitions: in the order they are read; the session's own from here on.
            privileged: a follower's.
            now_ms: monotonic.
        """
        shard = self._shards[self._next_shard]
        self._next_shard = (self._next_shard + 1) % SESSION_SHARDS
        if not shard.make_room(privileged, len(partitions), now_ms):
            self._refused += 1
            return None
        session = FetchSession(
            shard.unused_id(), partitions, uses_topic_ids, privileged, now_ms, client_id, client_host
        )
        shard.add(session)
        self._created += 1
        return session

    def resume(
        self, session_id: int, epoch: int, *, uses_topic_ids: bool
    ) -> tuple[FetchSession | None, ErrorCode]:
        """Return the session that a request continues, or the error it is answered with (F35)."""
        session = self._shard(session_id).sessions.get(session_id)
        if session is None:
            return None, ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        if session.epoch != epoch:
            return None, ErrorCode.INVALID_FETCH_SESSION_EPOCH
        if session.uses_topic_ids is not uses_topic_ids:
            return None, ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
        return session, ErrorCode.NONE

    def advance(self, session: FetchSession, now_ms: int) -> bool:
        """Take a request that `resume` let through and that has changed the partitions (F36).

        Returns:
            False: no partition is left, so the session is gone.
        """
        shard = self._shard(session.id)
        session.epoch = next_session_epoch(session.epoch)
        if not session.partitions:
            shard.remove(session)
            return False
        shard.touch(session, now_ms)
        return True

    def close(self, session_id: int) -> bool:
        """End a session that a full request names; return whether there was one."""
        shard = self._shard(session_id)
        session = shard.sessions.get(session_id)
        if session is None:
            return False
        shard.remove(session)
        return True

    def statistics(self) -> FetchSessionStatistics:
        """Return gauges and counters."""
        return FetchSessionStatistics(
            slots=sum(shard.slots for shard in self._shards),
            session_count=sum(len(shard.sessions) for shard in self._shards),
            partition_count=sum(shard.partition_count for shard in self._shards),
            evictions=sum(shard.evictions for shard in self._shards),
            created=self._created,
            refused=self._refused,
        )

    def sessions(self, now_ms: int) -> Iterator[FetchSessionInfo]:
        """Yield every live session, for a listing."""
        for shard in self._shards:
            for session in shard.sessions.values():
                yield FetchSessionInfo(
                    id=session.id,
                    epoch=session.epoch,
                    privileged=session.privileged,
                    size=len(session.partitions),
                    age_ms=now_ms - session.created_ms,
                    idle_ms=now_ms - session.last_used_ms,
                    client_id=session.client_id,
                    client_host=session.client_host,
                )

    def _shard(self, session_id: int) -> _Shard:
        # Ids that no shard gives out, negative ones too, are in none of them.
        return self._shards[min(max(session_id // _ID_RANGE, 0), SESSION_SHARDS - 1)]


class _Shard:
    """An eighth of the slots and of the ids.

    Attributes:
        sessions: by id, the longest unused first.
        partition_count: of all sessions, each as of its last use.
    """

    __slots__ = (
        "_entropy",
        "_evictable_by_all",
        "_evictable_by_privileged",
        "_first_id",
        "_id_limit",
        "evictions",
        "partition_count",
        "sessions",
        "slots",
    )

    def __init__(self, number: int, slots: int, entropy: Entropy) -> None:
        self.slots = slots
        self.sessions: dict[int, FetchSession] = {}
        self.partition_count = 0
        self.evictions = 0
        self._entropy = entropy
        self._first_id = max(1, number * _ID_RANGE)
        self._id_limit = (number + 1) * _ID_RANGE
        self._evictable_by_all: list[_Rank] = []
        self._evictable_by_privileged: list[_Rank] = []

    def unused_id(self) -> int:
        """Return an id that nobody can guess and no live session has."""
        while True:
            found = self._first_id + self._entropy.random_below(self._id_limit - self._first_id)
            if found not in self.sessions:
                return found

    def add(self, session: FetchSession) -> None:
        self.sessions[session.id] = session
        self._rank(session)

    def touch(self, session: FetchSession, now_ms: int) -> None:
        """Note that a session was used; its size may have changed."""
        sessions = self.sessions
        session.last_used_ms = now_ms
        sessions[session.id] = sessions.pop(session.id)
        if session.counted_size != len(session.partitions) or (
            not session.evictable_by_all and now_ms - session.created_ms > EVICTION_MS
        ):
            self._unrank(session)
            self._rank(session)

    def remove(self, session: FetchSession) -> None:
        del self.sessions[session.id]
        session.reading.close()
        self._unrank(session)

    def make_room(self, privileged: bool, size: int, now_ms: int) -> bool:
        """Return whether there is a slot for a new session, after another has given way if need be."""
        if len(self.sessions) < self.slots:
            return True
        longest_unused = next(iter(self.sessions.values()), None)
        if longest_unused is None:
            return False
        if now_ms - longest_unused.last_used_ms > EVICTION_MS:
            self._evict(longest_unused)
            return True
        evictable = self._evictable_by_privileged if privileged else self._evictable_by_all
        if not evictable or (privileged, size, INVALID_SESSION_ID) < evictable[0]:
            return False
        self._evict(self.sessions[evictable[0][2]])
        return True

    def _evict(self, session: FetchSession) -> None:
        self.remove(session)
        self.evictions += 1

    def _rank(self, session: FetchSession) -> None:
        """Enter a session where those stand that may give way.

        It is by its use that a session grows old: one made long ago but not used since then is not
        evictable yet, as in Apache Kafka.
        """
        session.counted_size = len(session.partitions)
        self.partition_count += session.counted_size
        rank = (session.privileged, session.counted_size, session.id)
        session.evictable_by_all = session.last_used_ms - session.created_ms > EVICTION_MS
        if session.evictable_by_all:
            insort(self._evictable_by_all, rank)
        if session.evictable_by_all or not session.privileged:
            insort(self._evictable_by_privileged, rank)

    def _unrank(self, session: FetchSession) -> None:
        self.partition_count -= session.counted_size
        rank = (session.privileged, session.counted_size, session.id)
        if session.evictable_by_all:
            _remove(self._evictable_by_all, rank)
        if session.evictable_by_all or not session.privileged:
            _remove(self._evictable_by_privileged, rank)


def _remove(ranks: list[_Rank], rank: _Rank) -> None:
    del ranks[bisect_left(ranks, rank)]
