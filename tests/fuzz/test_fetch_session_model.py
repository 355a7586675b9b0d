"""Random conversations with fetch sessions against a naive model of KIP-227.

The model keeps plain lists, searches them from end to end and makes everything anew for every request; ours
keeps objects, caches and sorted lists. Both must give the same answers: the partitions and their order, the
session or its error, and which session gives way when the slots are taken.
"""

import random
from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.base.errors import ErrorCode
from barnabas.handlers.fetch_session_cache import FetchSessionCache
from barnabas.replica.fetch import FetchParams
from tests.seeded_entropy import AscendingIds
from tests.unit.handlers.conftest import services_with
from tests.unit.handlers.fetch_logs import Reader

AGE_MS = 120_000
ID_RANGE = (2**31 - 1) // 8
NAMES = ("a", "b", "c")
PARTITIONS = 3
FIRST_RECORDS = 4
MAX_BYTES = 12

SEEDS = range(24)
STEPS = 300


class ModelPartition(SimpleNamespace):
    """name ("" while unknown), topic_id, partition, offset, max_bytes, and what the client was told."""


class ModelSession(SimpleNamespace):
    """id, epoch, with_ids, privileged, parts, created, used, size and is_old as of its last use."""


class Conversations:
    """Both sides of the comparison, and the clients that talk to them."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        slots, version = chance.choice((8, 16)), chance.choice((12, 13))
        services = services_with(None)
        services.fetch_sessions = FetchSessionCache(slots=slots, entropy=AscendingIds())
        self.clock = services.clock
        self.reader = Reader(services, version)
        self.slots = slots // 8
        self.next_shard = 0
        self.sessions: dict[int, ModelSession] = {}
        self.ended: list[int] = []
        self.parked: list[Any] = []
        self.answers_with_records = 0
        self.made: dict[str, bool] = {}
        for name in NAMES[:2]:
            self.make(name)
        topic_id = b"c".ljust(15, b"-") + b"\1"
        self.reader.announce("c", topic_id)
        self.reader.all_ids.clear()

    # The world ----------------------------------------------------------------------------------

    def make_or_delete(self) -> None:
        name = self.chance.choice(NAMES)
        if self.parked:
            return  # the replica layer answers these at once; not what is tried here
        if self.made.get(name):
            self.reader.delete(name)
            self.made[name] = False
        else:
            self.make(name)

    def make(self, name: str) -> None:
        self.reader.make(name, PARTITIONS)
        for partition in range(PARTITIONS):
            self.reader.append(name, partition, FIRST_RECORDS)
        self.made[name] = True

    def change_a_log(self) -> None:
        name, partition = self.chance.choice(NAMES), self.chance.randrange(PARTITIONS)
        if not self.made.get(name):
            return
        log = self.reader.logs.logs[name, partition]
        match self.chance.randrange(3):
            case 0:
                self.reader.append(name, partition, self.chance.randint(1, 3))
            case 1:
                log.log_start_offset = min(log.log_start_offset + 1, log.high_watermark)
            case 2:
                failed = log.error != ErrorCode.NONE
                log.error = ErrorCode.NONE if failed else ErrorCode.KAFKA_STORAGE_ERROR

    def wait(self) -> None:
        self.clock.advance_ms(self.chance.choice((1, 1000, 60_000, 120_001)))

    # Requests -----------------------------------------------------------------------------------

    def chosen(self, most: int) -> list[tuple[str, int, int, int]]:
        """Return partitions to ask for: name, number (the last one is never there), offset, bytes."""
        return [
            (
                self.chance.choice(NAMES),
                self.chance.choice((*range(PARTITIONS), *range(PARTITIONS + 1))),
                self.chance.randint(0, FIRST_RECORDS + 1),
                self.chance.choice((1, 4, 100)),
            )
            for _ in range(self.chance.randint(0, most))
        ]

    def full(self) -> None:
        chance = self.chance
        parts, epoch, follower = self.chosen(6), chance.choice((0, 0, 0, -1)), chance.random() < 0.3
        session_id = chance.choice(sorted(self.sessions)) if self.sessions and chance.random() < 0.2 else 0
        if session_id:
            self.forget_session(session_id)
        asked: list[ModelPartition] = []
        self.update(asked, parts)
        response = self.send(session_id, epoch, parts, (), follower)
        readable, failed = self.sort_out(asked, follower)
        results = self.read(readable)
        told = [self.line(p, r) for p, r in zip(readable, results, strict=True)]
        told += [(*self.key(p), int(code), -1, 0) for p, code in failed]
        assert self.told(response) == told
        assert response.error_code == 0
        if epoch == -1:
            assert response.session_id == 0
            return
        for part, result in zip(readable, results, strict=True):
            part.hw, part.start = result.high_watermark, result.log_start_offset
        self.open(response.session_id, readable + [p for p, _ in failed], follower)

    def incremental(self) -> None:
        chance = self.chance
        if not self.sessions:
            return
        session = self.sessions[chance.choice(sorted(self.sessions))]
        parts, off, mixed = self.chosen(3), chance.choice((0,) * 9 + (1, -1)), chance.random() < 0.1
        forget = [(name, number) for name, number, _, _ in self.chosen(2)]
        follower, parks = session.privileged ^ (chance.random() < 0.05), chance.random() < 0.3
        epoch = session.epoch + off
        if epoch <= 0:
            return
        version = self.reader.version
        if mixed:
            self.reader.version = 13 if version == 12 else 12
        self.reader.logs.parks = parks
        response = self.send(session.id, epoch, parts, forget, follower)
        self.reader.logs.parks = False
        self.reader.version = version
        if off or mixed:
            wrong = ErrorCode.INVALID_FETCH_SESSION_EPOCH if off else ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
            assert (response.error_code, response.session_id, response.responses) == (wrong, 0, [])
            return
        self.update(session.parts, parts)
        for name, partition in forget:
            session.parts = [p for p in session.parts if not self.is_of(p, name, partition)]
        session.epoch += 1
        if not session.parts:
            del self.sessions[session.id]
            self.ended.append(session.id)
            asked: list[ModelPartition] = []
            self.update(asked, parts)
            readable, failed = self.sort_out(asked, follower)
            waiting = (None, None, readable, failed)
        else:
            session.used, session.size = self.now_ms, len(session.parts)
            session.is_old = self.now_ms - session.created > AGE_MS
            waiting = (session, session.epoch, *self.sort_out(session.parts, follower))
        if parks:
            self.parked.append(waiting)
        else:
            self.check_answer(response, *waiting)

    def answer_parked(self) -> None:
        if not self.parked:
            return
        self.reader.logs.answer_parked()
        response = self.reader.peer.decode("Fetch", self.reader.version)
        self.check_answer(response, *self.parked.pop(0))

    def continue_an_ended_one(self) -> None:
        if self.ended:
            response = self.send(self.chance.choice(self.ended), self.chance.randint(1, 3), (), (), False)
            assert (response.error_code, response.session_id, response.responses) == (70, 0, [])

    def check_that_the_same_sessions_live(self) -> None:
        live = {info.id: (info.epoch, info.size) for info in self.listed()}
        assert live == {s.id: (s.epoch, len(s.parts)) for s in self.sessions.values()}
        statistics = self.reader.services.fetch_sessions.statistics()
        assert statistics.partition_count == sum(size for _, size in live.values())

    def listed(self) -> Any:
        return self.reader.services.fetch_sessions.sessions(self.now_ms)

    # The model ----------------------------------------------------------------------------------

    @property
    def now_ms(self) -> int:
        return self.clock.monotonic_ms()

    def send(self, session_id: int, epoch: int, parts: Any, forget: Any, follower: bool) -> Any:
        topics = [self.reader.topic(name, (p, offset, most)) for name, p, offset, most in parts]
        replica_id = 5 if follower else -1
        return self.reader.fetch(
            session_id, epoch, *topics, forget=forget, max_bytes=MAX_BYTES, replica_id=replica_id
        )

    def is_of(self, part: ModelPartition, name: str, partition: int) -> bool:
        if part.partition != partition:
            return False
        return part.topic_id == self.reader.logs.ids[name] if self.reader.with_ids else part.topic == name

    def update(self, parts: list[ModelPartition], asked: Any) -> None:
        for name, partition, offset, most in asked:
            for part in parts:
                if self.is_of(part, name, partition):
                    part.fetch_offset, part.max_bytes = offset, most
                    break
            else:
                parts.append(
                    ModelPartition(
                        topic="" if self.reader.with_ids else name,
                        topic_id=self.reader.logs.ids[name] if self.reader.with_ids else bytes(16),
                        partition=partition, fetch_offset=offset, max_bytes=most, hw=-1, start=-1,
                    )
                )  # fmt: skip

    def sort_out(self, parts: list[ModelPartition], follower: bool) -> tuple[list[Any], list[Any]]:
        readable, unknown, missing = [], [], []
        for part in parts:
            if self.reader.with_ids and not part.topic:
                name = self.reader.names[part.topic_id]
                if self.made.get(name) and self.reader.logs.ids[name] == part.topic_id:
                    part.topic = name
                else:
                    unknown.append((part, ErrorCode.UNKNOWN_TOPIC_ID))
                    continue
            if self.made.get(part.topic) and part.partition < PARTITIONS:
                readable.append(part)
            elif follower:
                unknown.append((part, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
            else:
                missing.append((part, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
        return readable, unknown + missing

    def read(self, readable: list[ModelPartition]) -> Any:
        return self.reader.logs._outcome(FetchParams(0, 1, MAX_BYTES, None), readable).results  # type: ignore[arg-type]

    def check_answer(
        self, response: Any, session: ModelSession | None, epoch: int | None, readable: Any, failed: Any
    ) -> None:
        if session is not None and session.epoch != epoch:
            assert (response.error_code, response.session_id, response.responses) == (71, session.id, [])
            return
        told, moved = [], []
        for part, result in zip(readable, self.read(readable), strict=True):
            line = self.line(part, result)
            if (
                session is None
                or line[2]
                or line[4]
                or part.hw != line[3]
                or part.start != result.log_start_offset
            ):
                told.append(line)
            if line[4]:
                moved.append(part)
                self.answers_with_records += 1
            part.hw, part.start = -1 if line[2] else line[3], result.log_start_offset
        for part, code in failed:
            told.append((*self.key(part), int(code), -1, 0))
            part.hw = part.start = -1
        assert self.told(response) == told
        assert (response.error_code, response.session_id) == (0, 0 if session is None else session.id)
        if session is not None and session.parts:
            session.parts = [p for p in session.parts if p not in moved] + moved

    def key(self, part: ModelPartition) -> tuple[Any, int]:
        return (part.topic_id if self.reader.with_ids else part.topic, part.partition)

    def line(self, part: ModelPartition, result: Any) -> tuple[Any, int, int, int, int]:
        return (
            *self.key(part), int(result.error_code), result.high_watermark,
            0 if result.records is None else len(result.records),
        )  # fmt: skip

    def told(self, response: Any) -> list[tuple[Any, int, int, int, int]]:
        return [
            (
                bytes(topic.topic_id) if self.reader.with_ids else topic.topic, part.partition_index,
                part.error_code, part.high_watermark, len(part.records or b""),
            )
            for topic in response.responses
            for part in topic.partitions
        ]  # fmt: skip

    def forget_session(self, session_id: int) -> None:
        del self.sessions[session_id]
        self.ended.append(session_id)

    def open(self, session_id: int, parts: list[ModelPartition], privileged: bool) -> None:
        """Check whether there had to be a session, and who had to give way for it."""
        shard, self.next_shard = self.next_shard, (self.next_shard + 1) % 8
        inside = [s for s in self.sessions.values() if s.id // ID_RANGE == shard]
        if len(inside) >= self.slots:
            stale = sorted((s for s in inside if self.now_ms - s.used > AGE_MS), key=lambda s: s.used)
            ranked = sorted(
                (s.privileged, s.size, s.id) for s in inside if s.is_old or (privileged and not s.privileged)
            )
            if stale:
                oldest = [s.id for s in stale if s.used == stale[0].used]
                live = {info.id for info in self.listed()}
                (victim,) = (i for i in oldest if i not in live)
            elif ranked and ranked[0] < (privileged, len(parts), 0):
                victim = ranked[0][2]
            else:
                assert session_id == 0
                return
            self.forget_session(victim)
        assert session_id // ID_RANGE == shard
        self.sessions[session_id] = ModelSession(
            id=session_id, epoch=1, privileged=privileged, parts=parts, created=self.now_ms, used=self.now_ms,
            size=len(parts), is_old=False,
        )  # fmt: skip


@pytest.mark.parametrize("seed", SEEDS)
def test_f34_f35_f36_f37_f38_the_naive_model_agrees(seed: int) -> None:
    chance = random.Random(seed)
    both = Conversations(chance)
    actions = (
        both.incremental, both.full, both.change_a_log, both.answer_parked, both.make_or_delete, both.wait,
        both.continue_an_ended_one,
    )  # fmt: skip
    for _ in range(STEPS):
        chance.choices(actions, (40, 15, 20, 15, 3, 4, 2))[0]()
        both.check_that_the_same_sessions_live()
    assert both.answers_with_records > STEPS / 20
