"""Random lives of a broker whose sessions read what changed, against one that reads everything each time.

Two brokers over real logs get the same produces, fetches, leaders, topics, cut and rolled logs, in the same
order; one of them never takes a partition for quiet. Every byte that goes out must be the same, at the same
moment, and so must the figures. What changes a log behind the replica layer's back is done to the logs
directly, as retention does it.
"""

import random
from typing import Any

import pytest

from barnabas.base.errors import ApiError
from barnabas.handlers.fetch_session import FetchSession
from barnabas.handlers.fetch_session_cache import FetchSessionCache
from barnabas.protocol import messages
from barnabas.replica.fetch import FetchIsolation, FetchPartition
from barnabas.storage.log_config import LogConfig
from barnabas.storage.producer_state.states import AppendOrigin
from tests.seeded_entropy import AscendingIds
from tests.storage_setup import marker
from tests.unit.handlers.conftest import Peer, services_with
from tests.unit.replica.broker_setup import (
    AppendPartition,
    Broker,
    batch,
    fetch_params,
)

SEEDS = range(16)
STEPS = 200
TOPICS = ("a", "b", "c")
PARTITIONS = 4
CONNECTIONS = 2
FOLLOWER = 2


class World:
    """One of the two brokers, its clients, and what the clients were sent."""

    def __init__(self, version: int, *, reads_all: bool) -> None:
        self.version = version
        self.broker = Broker(0, config=LogConfig())
        services = services_with(self.broker.manager)
        services.image, services.clock = self.broker.image, self.broker.clock
        services.fetch_sessions = FetchSessionCache(slots=16, entropy=AscendingIds())
        self.services = services
        self.reads_all = reads_all
        self.peers = [Peer(services) for _ in range(CONNECTIONS)]
        self.sent: list[tuple[int, int, bytes]] = []
        self.in_hand: dict[int, int] = {}
        self.ids: dict[str, bytes] = {}
        self.spared = 0

    # What happens to it

    def make(self, topic: str, topic_id: bytes, partitions: int) -> None:
        self.ids[topic] = topic_id
        self.broker.configs[topic] = LogConfig()
        self.broker.create(topic, topic_id, partitions, leader_epoch=1)

    def delete(self, topic: str) -> None:
        self.broker.replay(messages.RemoveTopicRecord(topic_id=self.ids[topic]))

    def change_partition(self, topic: str, number: int, **fields: Any) -> None:
        self.broker.replay(
            messages.PartitionChangeRecord(partition_id=number, topic_id=self.ids[topic], **fields)
        )

    def produce(self, topic: str, number: int, records: bytes, origin: AppendOrigin) -> None:
        asked = AppendPartition(topic, bytes(16), number, records)
        self.broker.manager.append(
            acks=1, timeout_ms=100, partitions=[asked], respond=lambda _: None, origin=origin
        )

    def follow(self, topic: str, number: int, offset: int) -> None:
        params = fetch_params(
            max_wait_ms=0, replica_id=FOLLOWER, isolation=FetchIsolation.LOG_END, client_metadata=None
        )
        asked = FetchPartition(topic, bytes(16), number, offset, 1000)
        self.broker.manager.fetch(params, [asked], lambda outcome: outcome.release())

    def change_log(self, topic: str, number: int, what: str, offset: int) -> None:
        partition = self.broker.partition(number, topic)
        log = partition.log
        match what:
            case "roll":
                log.roll()
            case "retention":
                log.advance_log_start(min(offset, partition.high_watermark))
            case "delete_records":
                partition.delete_records(min(offset, partition.high_watermark))
            case "truncate":
                partition.truncate_to(max(offset, log.log_start_offset))
            case "segments":
                log.delete_oldest_segments(list(log.segments)[:1])

    def fail_disk(self) -> None:
        self.broker.manager.log_directory_failed(self.broker.logs.directory)

    def send(self, connection: int, request: messages.FetchRequest) -> None:
        peer = self.peers[connection]
        self.in_hand[connection] = request.session_id
        peer.dispatcher.request_received(peer.connection, peer.frame(request, self.version))

    def leave(self, connection: int) -> None:
        self.broker.manager.connection_gone(self.peers[connection].connection)
        self.in_hand.pop(connection, None)

    def settle(self) -> None:
        """Let the loop rest, and take down what was sent until then."""
        self.broker.settle()
        for number, peer in enumerate(self.peers):
            for parts in peer.connection.sent:
                self.in_hand.pop(number, None)
                content = b"".join(p.read() if hasattr(p, "read") else bytes(p) for p in parts)
                self.sent.append((self.broker.clock.monotonic_ms(), number, content))
                for part in parts:
                    if hasattr(part, "release"):
                        part.release()
            peer.connection.sent.clear()

    def pass_ms(self, milliseconds: int) -> None:
        # In steps, so that the moment of an answer shows.
        for _ in range(milliseconds // 50):
            self.broker.pass_ms(50)
            self.settle()

    # What is compared

    def figures(self) -> Any:
        partitions = self.broker.manager.partitions
        waiting = self.broker.manager.waiting_statistics()
        return (
            {name: partition.fetches for name, partition in partitions.by_name.items()},
            partitions.retired_traffic.fetches,
            waiting.fetches_by_reason,
            waiting.fetch_purgatory.num_delayed_operations,
        )

    def sessions(self) -> list[FetchSession]:
        return [s for shard in self.services.fetch_sessions._shards for s in shard.sessions.values()]

    def check_that_quiet_ones_are(self) -> None:
        for session in self.sessions():
            reading = session.reading
            how = reading._how
            for partition in reading._quiet:
                assert not self.reads_all
                assert how is not None
                self.spared += 1
                found = self.broker.partition(partition.partition, partition.topic)
                result = found.read(partition, fetch_params(isolation=how), 10**6, True)
                assert (result.records, result.error_code, result.diverging_epoch) == (None, 0, None)
                assert result.high_watermark == partition.told_high_watermark  # type: ignore[attr-defined]
                assert result.log_start_offset == partition.told_log_start_offset  # type: ignore[attr-defined]
                assert result.offset_metadata == partition.position

    def check_that_nobody_is_forgotten(self) -> None:
        """Only the quiet partitions of sessions that live are entered at logs."""
        entered = {
            quiet
            for partition in self.broker.manager.partitions
            for readers in partition.log.watch
            for quiet in readers.by_session.values()  # type: ignore[attr-defined]
        }
        assert entered == {part for session in self.sessions() for part in session.reading._quiet}


class Lives:
    """Draws what happens and has it happen to both."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        version = chance.choice((9, 10, 11, 12, 12, 13, 17, 17, 17))
        self.with_ids = version >= 13
        self.ours, self.plain = World(version, reads_all=False), World(version, reads_all=True)
        self.made = 0
        self.producers = 0
        self.open: dict[tuple[str, int], list[int]] = {}
        self.disk_failed = False
        self.old_ids: list[tuple[str, bytes]] = []
        for topic in TOPICS[:2]:
            self.make(topic)

    def both(self, what: str, *args: Any, **fields: Any) -> None:
        raised = []
        for world in (self.ours, self.plain):
            try:
                getattr(world, what)(*args, **fields)
                raised.append(None)
            except ApiError as error:
                raised.append(error.code)
        assert raised[0] == raised[1]

    # Topics and logs

    def make(self, topic: str) -> None:
        self.made += 1
        self.both("make", topic, topic.encode().ljust(15, b"-") + bytes([self.made]), PARTITIONS)
        self.old_ids.append((topic, self.ours.ids[topic]))

    def make_or_delete(self) -> None:
        topic = self.chance.choice(TOPICS)
        if topic in self.ours.broker.image.topics:
            if self.chance.random() < 0.3:
                self.both("delete", topic)
                self.open.clear()
        elif not self.disk_failed and self.made < 200:
            self.make(topic)

    def some_partition(self) -> tuple[str, int] | None:
        return self.chance.choice(sorted(self.ours.broker.manager.partitions.by_name) or [None])  # type: ignore[list-item]

    def end(self, key: tuple[str, int]) -> int:
        return self.ours.broker.partition(key[1], key[0]).log.log_end_offset

    def produce(self) -> None:
        key = self.some_partition()
        if key is None:
            return
        origin, kind = AppendOrigin.CLIENT, self.chance.random()
        open_here = self.open.setdefault(key, [])
        if kind < 0.2:
            self.producers += 1
            open_here.append(self.producers)
            records = batch(
                producer_id=self.producers, producer_epoch=0, base_sequence=0, is_transactional=True
            )
        elif kind < 0.4 and open_here:
            origin = AppendOrigin.COORDINATOR
            records = marker(open_here.pop(0), commit=self.chance.random() < 0.5)
        else:
            records = batch(self.chance.randint(1, 3))
        self.both("produce", *key, records, origin)

    def change_leader(self) -> None:
        key = self.some_partition()
        if key is None:
            return
        match self.chance.randrange(4):
            case 0:
                self.both("change_partition", *key, leader=self.chance.choice((1, 1, FOLLOWER)))
            case 1:
                self.both("change_partition", *key, replicas=[1, FOLLOWER], isr=[1, FOLLOWER])
            case 2:
                self.both("change_partition", *key, isr=[1])
            case 3:
                self.both("follow", *key, self.end(key))

    def change_a_log(self) -> None:
        key = self.some_partition()
        if key is not None:
            what = self.chance.choice(("roll", "retention", "delete_records", "truncate", "segments"))
            self.both("change_log", *key, what, self.chance.randint(0, self.end(key)))

    def fail_disk(self) -> None:
        if self.chance.random() < 0.02:
            self.disk_failed = True
            self.both("fail_disk")

    def wait(self) -> None:
        self.both("pass_ms", self.chance.choice((50, 300, 600)))

    # Clients

    def named(self, most: int) -> list[messages.FetchRequestFetchTopic]:
        topics = []
        for _ in range(self.chance.randint(0, most)):
            name, number = self.chance.choice(TOPICS[:3]), self.chance.randrange(PARTITIONS + 1)
            known = (name, number) in self.ours.broker.manager.partitions.by_name
            end = self.end((name, number)) if known else 0
            asked = messages.FetchRequestFetchPartition(
                partition=number,
                fetch_offset=max(0, end - self.chance.choice((0, 0, 0, 0, 0, 0, 1, 2, 5, -1))),
                partition_max_bytes=self.chance.choice((1000, 1000, 100, 10)),
                current_leader_epoch=self.chance.choice((-1, -1, -1, 1, 2, 3)),
                last_fetched_epoch=-1 if self.ours.version < 12 else self.chance.choice((-1, -1, -1, 1, 2)),
            )
            topics.append(self.topic(name, messages.FetchRequestFetchTopic(partitions=[asked])))
        return topics

    def topic(self, name: str, made: Any) -> Any:
        if not self.with_ids:
            made.topic = name
        elif self.chance.random() < 0.1:
            made.topic_id = self.chance.choice(self.old_ids)[1]
        else:
            made.topic_id = self.ours.ids.get(name, bytes(15) + b"\xee")
        return made

    def fetch(self) -> None:
        chance = self.chance
        self.both("settle")
        free = [number for number in range(CONNECTIONS) if number not in self.ours.in_hand]
        if not free:
            return
        busy = self.ours.in_hand.values()
        sessions = self.ours.sessions()
        assert [(s.id, s.epoch) for s in sessions] == [(s.id, s.epoch) for s in self.plain.sessions()]
        sessions = [s for s in sessions if s.id not in busy]
        request = messages.FetchRequest(
            session_epoch=0,
            max_wait_ms=chance.choice((0, 300, 300, 500)),
            min_bytes=chance.choice((1, 1, 1, 150, 10_000)),
            max_bytes=chance.choice((100_000, 100_000, 200, 50)),
            # Mostly the same, as clients do.
            isolation_level=self.made % 2 if chance.random() < 0.9 else chance.choice((0, 1)),
        )
        kind = chance.random()
        if not sessions or kind < 0.08:
            request.topics = self.named(12)
            if sessions and kind < 0.02:
                request.session_id, request.session_epoch = chance.choice(sessions).id, chance.choice((0, -1))
        else:
            session = chance.choice(sessions)
            request.session_id = session.id
            request.session_epoch = session.epoch if chance.random() < 0.97 else session.epoch + 1
            request.topics = self.named(chance.choice((0, 0, 1, 2)))
            for _ in range(chance.choice((0, 0, 0, 1))):
                gone = messages.FetchRequestForgottenTopic(partitions=[chance.randrange(PARTITIONS)])
                request.forgotten_topics_data.append(self.topic(chance.choice(TOPICS), gone))
        if chance.random() < 0.05 and self.ours.version < 15:
            request.replica_id = FOLLOWER
        self.both("send", chance.choice(free), request)

    def leave(self) -> None:
        if self.chance.random() < 0.2:
            self.both("leave", self.chance.randrange(CONNECTIONS))


@pytest.mark.parametrize("seed", SEEDS)
def test_f37_a_session_that_reads_what_changed_tells_what_one_tells_that_reads_everything(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    lives = Lives(chance)
    read_by = FetchSession.read_by

    def reading_all(session: FetchSession, params: Any, *, all_of_them: bool) -> None:
        mine = session in lives.plain.sessions()
        read_by(session, params, all_of_them=all_of_them or mine)

    monkeypatch.setattr(FetchSession, "read_by", reading_all)
    actions = (
        lives.fetch, lives.produce, lives.change_leader, lives.change_a_log, lives.make_or_delete, lives.wait,
        lives.leave, lives.fail_disk,
    )  # fmt: skip
    weights = (40, 18, 4, 5, 1, 8, 1, 1)
    for _ in range(STEPS):
        (action,) = chance.choices(actions, weights)
        action()
        if chance.random() < 0.7:
            lives.both("settle")
            assert lives.ours.sent == lives.plain.sent
            lives.ours.check_that_quiet_ones_are()
            lives.ours.check_that_nobody_is_forgotten()
            lives.plain.check_that_quiet_ones_are()
    lives.both("pass_ms", 600)
    assert lives.ours.sent == lives.plain.sent
    assert lives.ours.figures() == lives.plain.figures()
    assert len(lives.ours.sent) > STEPS / 5
    assert lives.ours.spared > 20 or lives.ours.version < 11
