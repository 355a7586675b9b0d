"""Which fetch sessions live: ids, slots and who gives way (F34-F36, F38)."""

import random

import pytest

from barnabas.base.errors import ErrorCode
from barnabas.handlers.fetch_session import EPOCH_MAX, CachedPartition
from barnabas.handlers.fetch_session_cache import EVICTION_MS, SESSION_SHARDS, FetchSessionCache

ID_RANGE = (2**31 - 1) // 8
AGE_MS = 120_000


class Seeded:
    """Ids from a seed; the same one `repeats` times over."""

    def __init__(self, repeats: int = 1) -> None:
        self._random = random.Random(227)
        self._repeats = repeats
        self._given: list[int] = []
        self.limits: list[int] = []

    def random_bytes(self, length: int) -> bytes:
        raise AssertionError("ids need no bytes")

    def random_below(self, limit: int) -> int:
        self.limits.append(limit)
        if not self._given:
            self._given = [self._random.randrange(limit)] * self._repeats
        return self._given.pop()


class Opener:
    """Opens sessions of one shard: asks eight times, of which one falls to it."""

    def __init__(self, slots_per_shard: int) -> None:
        self.cache = FetchSessionCache(slots=slots_per_shard * SESSION_SHARDS, entropy=Seeded())
        self.now_ms = 0

    def open(self, size=1, *, privileged=False):
        """Return the id that the first shard gives, 0 for none; the other shards are left as they were."""
        session = open_session(self.cache, size, privileged=privileged, now_ms=self.now_ms)
        for _ in range(SESSION_SHARDS - 1):
            other = open_session(self.cache, 1, now_ms=self.now_ms)
            if other is not None:
                self.cache.close(other.id)
        return 0 if session is None else session.id

    def use(self, session_id, size=None):
        session = self.session(session_id)
        if size is not None:
            session.partitions = partitions(size)
        self.cache.advance(session, self.now_ms)

    def session(self, session_id):
        return self.cache._shard(session_id).sessions[session_id]

    @property
    def ids(self):
        return {info.id for info in self.cache.sessions(self.now_ms)}


def partitions(count):
    made = {}
    for number in range(count):
        made["t", number] = CachedPartition("t", bytes(16), number, 0, 100)
        made["t", number].told(-1, -1)
    return made


def open_session(cache, size=1, *, privileged=False, uses_topic_ids=False, now_ms=0):
    return cache.open(
        partitions(size),
        uses_topic_ids=uses_topic_ids,
        privileged=privileged,
        now_ms=now_ms,
        client_id="client",
        client_host="host",
    )


def test_f38_shards_take_turns_and_give_ids_of_their_range():
    cache = FetchSessionCache(slots=1000, entropy=Seeded())
    ids = [open_session(cache).id for _ in range(1000)]
    assert [found // ID_RANGE for found in ids] == [number % 8 for number in range(1000)]
    assert len(set(ids)) == 1000
    assert open_session(cache) is None
    statistics = cache.statistics()
    assert (statistics.slots, statistics.session_count, statistics.partition_count) == (1000, 1000, 1000)
    assert (statistics.created, statistics.refused, statistics.evictions) == (1000, 1, 0)


def test_f38_an_id_is_drawn_from_the_whole_range_and_never_0():
    entropy = Seeded()
    cache = FetchSessionCache(slots=8, entropy=entropy)
    for _ in range(8):
        open_session(cache)
    # The first shard's range begins with 0, which stands for no session.
    assert entropy.limits == [ID_RANGE - 1, *[ID_RANGE] * 7]
    entropy.random_below = lambda limit: 0
    cache = FetchSessionCache(slots=8, entropy=entropy)
    assert [open_session(cache).id for _ in range(8)] == [1, *(n * ID_RANGE for n in range(1, 8))]


def test_f38_an_id_in_use_is_not_given_again():
    # Shards take turns: each draws the same number a second time.
    cache = FetchSessionCache(slots=1000, entropy=Seeded(repeats=16))
    ids = [open_session(cache).id for _ in range(16)]
    assert len(set(ids)) == 16


@pytest.mark.parametrize(("slots", "kept"), [(0, 0), (7, 0), (8, 8), (15, 8), (16, 16), (1000, 1000)])
def test_f38_what_eight_shards_cannot_share_stays_unused(slots, kept):
    cache = FetchSessionCache(slots=slots, entropy=Seeded())
    assert cache.statistics().slots == kept
    assert sum(open_session(cache) is not None for _ in range(slots + 8)) == kept


def test_f38_a_session_unused_for_120_s_gives_way_to_anyone():
    opener = Opener(2)
    first, second = opener.open(size=50), opener.open(size=50, privileged=True)
    opener.now_ms = 100
    opener.use(first)
    opener.now_ms = AGE_MS
    assert opener.open() == 0, "the second is unused for 120 s, not longer"
    opener.now_ms += 1
    third = opener.open()
    assert third
    assert opener.ids == {first, third}
    assert opener.cache.statistics().evictions == 1
    assert second not in opener.ids


def test_f38_the_longest_unused_gives_way_first():
    opener = Opener(3)
    ids = [opener.open() for _ in range(3)]
    opener.now_ms = 10
    opener.use(ids[0])
    opener.now_ms = AGE_MS + 5
    opener.open()
    assert ids[1] not in opener.ids
    opener.open()
    assert ids[2] not in opener.ids
    assert ids[0] in opener.ids


def test_f38_a_young_session_stays_however_large_the_newcomer():
    opener = Opener(1)
    first = opener.open()
    opener.now_ms = AGE_MS
    opener.use(first)
    assert opener.open(size=1000) == 0
    assert opener.ids == {first}


def test_f38_an_old_session_in_use_gives_way_to_a_larger_one_only():
    opener = Opener(1)
    first = opener.open(size=2)
    opener.now_ms = AGE_MS + 1
    opener.use(first)
    assert opener.open(size=1) == 0
    assert opener.open(size=2) == 0, "of equal size the newcomer counts with id 0"
    assert opener.open(size=3)
    assert first not in opener.ids


def test_f38_a_session_is_old_only_from_its_next_use_on():
    opener = Opener(1)
    first = opener.open()
    opener.now_ms = AGE_MS
    opener.use(first)
    opener.now_ms = AGE_MS + 60_000
    assert opener.open(size=9) == 0
    opener.use(first)
    assert opener.open(size=9)


def test_f38_the_smallest_of_the_old_gives_way_and_size_is_that_of_its_last_use():
    opener = Opener(3)
    small, grown, other = opener.open(1), opener.open(2), opener.open(4)
    opener.now_ms = AGE_MS + 1
    for session_id, size in ((small, 6), (grown, 5), (other, 4)):
        opener.use(session_id, size)
    assert opener.cache.statistics().partition_count == 15
    opener.now_ms += 1
    newcomer = opener.open(7)
    assert opener.ids == {small, grown, newcomer}
    assert opener.cache.statistics().partition_count == 18


def test_f38_a_follower_displaces_the_youngest_consumer():
    opener = Opener(2)
    consumer, follower = opener.open(size=500), opener.open(size=1, privileged=True)
    assert opener.open(size=1, privileged=True)
    assert consumer not in opener.ids
    assert follower in opener.ids


def test_f38_a_follower_displaces_a_follower_only_when_that_is_old_and_smaller():
    opener = Opener(1)
    first = opener.open(size=3, privileged=True)
    assert opener.open(size=100, privileged=True) == 0
    opener.now_ms = AGE_MS + 1
    opener.use(first)
    assert opener.open(size=3, privileged=True) == 0
    assert opener.open(size=100) == 0, "a consumer ranks below any follower"
    assert opener.open(size=4, privileged=True)


def test_f38_a_steady_session_survives_a_flood():
    opener = Opener(1)
    steady = opener.open(size=4)
    for number in range(300):
        opener.now_ms += 1000
        opener.use(steady)
        assert opener.open(size=1 + number % 4) == 0
    assert opener.ids == {steady}
    assert opener.cache.statistics().refused == 300


def test_f38_shards_decide_alone():
    cache = FetchSessionCache(slots=16, entropy=Seeded())
    sessions = [open_session(cache) for _ in range(16)]
    cache.close(sessions[3].id)
    # The slot is in the fourth shard, which is asked fourth.
    assert [open_session(cache) is not None for _ in range(8)] == [False] * 3 + [True] + [False] * 4


def test_f35_what_a_request_hears_that_does_not_fit():
    cache = FetchSessionCache(slots=8, entropy=Seeded())
    session = open_session(cache, uses_topic_ids=True)
    resume = cache.resume
    for unknown in (0, 5, -1, -(2**31), 2**31 - 1, session.id + 1):
        assert resume(unknown, 1, uses_topic_ids=True) == (None, ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
    for epoch in (2, -2, EPOCH_MAX):
        assert resume(session.id, epoch, uses_topic_ids=False) == (
            None,
            ErrorCode.INVALID_FETCH_SESSION_EPOCH,
        )
    assert resume(session.id, 1, uses_topic_ids=False) == (None, ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
    assert resume(session.id, 1, uses_topic_ids=True) == (session, ErrorCode.NONE)


def test_f36_the_epoch_wraps_to_1():
    cache = FetchSessionCache(slots=8, entropy=Seeded())
    session = open_session(cache)
    assert session.epoch == 1
    cache.advance(session, 0)
    assert session.epoch == 2
    session.epoch = 2**31 - 2
    cache.advance(session, 0)
    assert session.epoch == 2**31 - 1
    cache.advance(session, 0)
    assert session.epoch == 1


def test_f34_f35_a_session_closed_or_emptied_is_gone():
    cache = FetchSessionCache(slots=8, entropy=Seeded())
    first, second = open_session(cache), open_session(cache)
    assert cache.close(first.id)
    assert not cache.close(first.id)
    assert not cache.close(-7)
    second.partitions.clear()
    assert not cache.advance(second, 0)
    assert cache.statistics().session_count == 0
    assert cache.statistics().partition_count == 0
    assert cache.statistics().evictions == 0


def test_live_sessions_are_listed():
    cache = FetchSessionCache(slots=8, entropy=Seeded())
    session = open_session(cache, 3, privileged=True, now_ms=100)
    cache.advance(session, 400)
    (info,) = cache.sessions(1000)
    assert (info.id, info.epoch, info.privileged, info.size) == (session.id, 2, True, 3)
    assert (info.age_ms, info.idle_ms) == (900, 600)
    assert (info.client_id, info.client_host) == ("client", "host")


@pytest.mark.parametrize("seed", range(5))
def test_f38_eviction_is_what_a_search_through_all_sessions_finds(seed):
    """The sorted lists against the rule said plainly: search all sessions of the shard."""
    chance = random.Random(seed)
    opener = Opener(6)
    seen_at: dict[int, int] = {}  # session -> when it was last used at an age that lets it go
    for _ in range(600):
        opener.now_ms += chance.choice((0, 1, 500, 20_000, 50_000))
        live = {i: opener.session(i) for i in opener.ids}
        action = chance.random()
        if live and action < 0.55:
            used = chance.choice(sorted(live))
            opener.use(used, chance.choice((None, None, 1, 2, 5)))
            if opener.now_ms - live[used].created_ms > EVICTION_MS:
                seen_at[used] = opener.now_ms
            continue
        if live and action < 0.6:
            opener.cache.close(chance.choice(sorted(live)))
            continue
        privileged, size = chance.random() < 0.2, chance.choice((1, 2, 3, 5))
        expected = None
        if len(live) >= 6:
            stale = [i for i, s in live.items() if opener.now_ms - s.last_used_ms > EVICTION_MS]
            ranked = sorted(
                (s.privileged, s.counted_size, i)
                for i, s in live.items()
                if i in seen_at or (privileged and not s.privileged)
            )
            if stale:
                expected = min(stale, key=lambda i: live[i].last_used_ms)
            elif ranked and ranked[0] < (privileged, size, 0):
                expected = ranked[0][2]
        made = opener.open(size, privileged=privileged)
        gone = set(live) - opener.ids
        if expected is not None and live[expected].last_used_ms in [
            s.last_used_ms for i, s in live.items() if i != expected
        ]:
            assert len(gone) == 1
        else:
            assert gone == (set() if expected is None else {expected})
        assert bool(made) == (len(live) < 6 or expected is not None)
    assert opener.cache.statistics().evictions > 20
