"""kill -9 every few seconds for minutes, while everything goes on that a broker does over years.

Idempotent producers, consumers that follow them and commit, a compacted topic, retention that takes segments
away right behind the consumers. Every record is followed by its partition and number: none may be missing,
none come twice, none lie elsewhere than was acknowledged; committed offsets, high watermarks and log starts
never go back. Thirty seconds in every run, ten minutes with --slow.
"""

import random
import threading
import time
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.broker import BarnabasBroker
from tests.crash.stream import _NUMBER, Stream, make_value

pytestmark = [pytest.mark.interop, pytest.mark.timeout(1800)]

RUN_S = 30
RUN_S_SLOW = 600
PAUSE_S = 0.025
"""Between bursts of each producer. It is time that a soak is about: no need to keep both cores busy."""
FOLLOW_S = 120
CODECS = ("none", "lz4")
STREAM, SHORT, KEYED = "stream", "short", "keyed"
KEYS = 40
COMMIT_EVERY = 300
TOPICS = {
    STREAM: (
        len(CODECS),
        # More than a consumer may fall behind, so that it reads all.
        {"segment.bytes": "1048576", "retention.bytes": "268435456", "file.delete.delay.ms": "500"},
    ),
    SHORT: (1, {"segment.bytes": "1048576", "retention.bytes": "1048576", "file.delete.delay.ms": "500"}),
    KEYED: (
        1,
        {
            "cleanup.policy": "compact",
            "segment.bytes": "1048576",
            "min.cleanable.dirty.ratio": "0.01",
            "file.delete.delay.ms": "500",
        },
    ),
}
CONFIGS = {
    "log.retention.check.interval.ms": "500",
    "log.cleaner.backoff.ms": "200",
    "log.flush.offset.checkpoint.interval.ms": "1000",
    "log.flush.start.offset.checkpoint.interval.ms": "1000",
    "log.initial.task.delay.ms": "100",
}


def reader(bootstrap: str, group: str, *, reset: str = "error") -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "enable.auto.commit": False,
            "auto.offset.reset": reset,
            "reconnect.backoff.ms": 20,
            "reconnect.backoff.max.ms": 200,
            "log_level": 0,
        }
    )


class Follower:
    """Reads a partition from its beginning on, as long as it is told to, and commits how far it came.

    Args:
        may_skip: retention may be faster.

    Attributes:
        offsets: by record number.
        seen: the number behind the last record.
        committed: the last offset whose commit was answered.
    """

    def __init__(self, bootstrap: str, topic: str, stream: Stream, *, may_skip: bool) -> None:
        self.topic = topic
        self.partition = stream.partition
        self.group = f"follower-{topic}-{self.partition}"
        self.offsets: dict[int, int] = {}
        self.seen = 0
        self._end = 0
        self._may_skip = may_skip
        self.committed = 0
        self.failures: list[str] = []
        self._stream = stream
        self._consumer = reader(bootstrap, self.group, reset="earliest" if may_skip else "error")
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        self._consumer.assign([TopicPartition(self.topic, self.partition, 0)])
        uncommitted = 0
        while not self._stopping.is_set() and not self.failures:
            for message in self._consumer.consume(500, 0.1):
                error = message.error()
                if error is None:
                    self._take(message)
                    uncommitted += 1
                elif error.fatal() or error.code() in (
                    KafkaError.OFFSET_OUT_OF_RANGE,
                    KafkaError._AUTO_OFFSET_RESET,
                    KafkaError._BAD_MSG,
                ):
                    self.failures.append(f"{self.group} at {self._end}: {error}")
            if uncommitted >= COMMIT_EVERY:
                uncommitted = 0
                self._commit()

    def _take(self, message: Message) -> None:
        offset, value = message.offset(), message.value()
        assert offset is not None
        assert isinstance(value, bytes)
        _, number = _NUMBER.unpack_from(value)
        if value != make_value(self.partition, number):
            self.failures.append(f"{self.group}: the record at offset {offset} is damaged")
        if number < self.seen or (number > self.seen and not self._may_skip):
            self.failures.append(f"{self.group}: record {number} at offset {offset}, not {self.seen}")
        if offset < self._end:
            self.failures.append(f"{self.group}: offset {offset} again, or too late")
        told = self._stream.acknowledged.get(number, offset)
        if told != offset:
            self.failures.append(f"{self.group}: record {number} lies at {offset}, acknowledged at {told}")
        self.offsets[number] = offset
        self.seen, self._end = number + 1, offset + 1

    @property
    def end(self) -> int:
        """Behind the last offset that was read."""
        return self._end

    def _commit(self) -> None:
        wanted = self._end
        place = TopicPartition(self.topic, self.partition, wanted)
        try:
            told = self._consumer.commit(offsets=[place], asynchronous=False)
        except KafkaException:
            return  # nobody said that it is there
        if told and told[0].error is None:
            self.committed = wanted

    def wait_for(self, count: int) -> None:
        deadline = time.monotonic() + FOLLOW_S
        while self.seen < count:
            assert not self.failures, self.failures[0]
            assert time.monotonic() < deadline, f"{self.group} saw {self.seen} of {count}"
            time.sleep(0.05)
        assert not self.failures, self.failures[0]

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join(60)
        self._consumer.close()


class KeyedStream:
    """Overwrites few keys with rising numbers, idempotently, until told to stop."""

    def __init__(self, bootstrap: str) -> None:
        self.sent = 0
        self.failures: list[str] = []
        self._stopping = threading.Event()
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "enable.gapless.guarantee": True,
                "message.timeout.ms": FOLLOW_S * 1000,
                "reconnect.backoff.ms": 20,
                "reconnect.backoff.max.ms": 200,
                "queue.buffering.max.messages": 2000,
                "log_level": 0,
            }
        )
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stopping.is_set():
            for _ in range(KEYS):
                try:
                    self._producer.produce(
                        KEYED,
                        b"%d" % self.sent + b" " * 500,
                        b"%d" % (self.sent % KEYS),
                        on_delivery=self._told,
                    )
                except BufferError:
                    break
                self.sent += 1
            self._producer.poll(PAUSE_S)

    def _told(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.failures.append(str(error))

    def finish(self) -> None:
        self._stopping.set()
        self._thread.join(60)
        assert self._producer.flush(FOLLOW_S) == 0
        assert not self.failures, self.failures[0]


class Watch:
    """What may only go up, asked after each start."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._seen: dict[tuple[str, int], tuple[int, int]] = {}

    def check(self, followers: list[Follower]) -> None:
        """Compare with what was there before; asks again while the broker starts."""
        before = {follower.group: follower.committed for follower in followers}
        positions = {(one.topic, one.partition): one.end for one in followers}
        for topic, (count, _) in TOPICS.items():
            for partition in range(count):
                asked = TopicPartition(topic, partition)
                consumer = reader(self._bootstrap, "watch")
                low, high = retried(lambda c=consumer, a=asked: c.get_watermark_offsets(a, timeout=5))
                consumer.close()
                place = topic, partition
                low_before, high_before = self._seen.get(place, (0, 0))
                assert low >= low_before, f"{place}: the log start went from {low_before} to {low}"
                least = max(high_before, positions.get(place, 0))
                assert high >= least, f"{place}: the high watermark went from {least} to {high}"
                self._seen[place] = low, high
        for follower in followers:
            consumer = reader(self._bootstrap, follower.group)
            asked = TopicPartition(follower.topic, follower.partition)
            (found,) = retried(lambda c=consumer, a=asked: c.committed([a], timeout=5))
            consumer.close()
            told = before[follower.group]
            assert max(found.offset, 0) >= told, f"{follower.group}: committed {told}, now {found.offset}"

    def log_start(self, topic: str) -> int:
        return self._seen[topic, 0][0]


def retried(ask):  # type: ignore[no-untyped-def]
    deadline = time.monotonic() + FOLLOW_S
    while True:
        try:
            return ask()
        except KafkaException:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def check_keyed(bootstrap: str, sent: int) -> int:
    """Check the compacted topic: numbers of a key rise, each key ends with its last; return the records."""
    consumer = reader(bootstrap, "keyed")
    low, high = consumer.get_watermark_offsets(TopicPartition(KEYED, 0), timeout=30)
    consumer.assign([TopicPartition(KEYED, 0, low)])
    last: dict[int, int] = {}
    count, offset = 0, -1
    deadline = time.monotonic() + FOLLOW_S
    while offset < high - 1:
        assert time.monotonic() < deadline, f"read up to {offset} of {high}"
        for message in consumer.consume(2000, 0.2):
            error = message.error()
            if error is not None:
                raise KafkaException(error)
            key, value = message.key(), message.value()
            assert isinstance(key, bytes)
            assert isinstance(value, bytes)
            number, previous = int(value), last.get(int(key), -1)
            assert number % KEYS == int(key), f"key {key!r} holds number {number}"
            assert number > previous, f"key {key!r}: number {number} after {previous}"
            last[int(key)] = number
            count, offset = count + 1, message.offset() or 0
    consumer.close()
    expected = {number % KEYS: number for number in range(max(sent - KEYS, 0), sent)}
    assert last == expected
    return count


def test_a_broker_that_is_killed_all_the_time_loses_and_repeats_nothing(
    tmp_path: Path, slow: bool, rng: random.Random
) -> None:
    broker = BarnabasBroker(tmp_path / "broker", overrides=CONFIGS)
    broker.start()
    try:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
        wanted = [NewTopic(name, count, 1, config=configs) for name, (count, configs) in TOPICS.items()]
        for made in admin.create_topics(wanted).values():
            made.result(30)
        places = [(STREAM, number, codec) for number, codec in enumerate(CODECS)] + [(SHORT, 0, "none")]
        streams = [Stream(broker.bootstrap, *place, pause_s=PAUSE_S) for place in places]
        followers = [
            Follower(broker.bootstrap, topic, stream, may_skip=topic == SHORT)
            for (topic, _, _), stream in zip(places, streams, strict=True)
        ]
        keyed, watch = KeyedStream(broker.bootstrap), Watch(broker.bootstrap)
        end, kills = time.monotonic() + (RUN_S_SLOW if slow else RUN_S), 0
        while time.monotonic() < end:
            time.sleep(rng.uniform(0.5, 4))
            broker.kill()
            if rng.random() < 0.2:
                broker.start_and_kill(rng.uniform(0, 0.3))
            broker.start()
            kills += 1
            watch.check(followers)
            for stream, follower in zip(streams, followers, strict=True):
                assert not stream.failures, stream.failures[0]
                follower.wait_for(len(stream.acknowledged) - 5_000)
        for stream in streams:
            stream.finish()
        keyed.finish()
        for stream, follower in zip(streams, followers, strict=True):
            follower.wait_for(stream.sent)
            follower.stop()
            assert follower.offsets.items() <= stream.acknowledged.items()
            assert follower.topic == SHORT or len(follower.offsets) == stream.sent
        watch.check(followers)
        left = check_keyed(broker.bootstrap, keyed.sent)
        sent = [stream.sent for stream in streams]
        print(
            f"{kills} kills; sent {sent} and {keyed.sent} of {KEYS} keys; log start {watch.log_start(SHORT)}"
        )
        assert watch.log_start(SHORT) > 0, "retention took nothing"
        assert left < keyed.sent, "nothing was compacted"
        broker.stop()
    except BaseException as error:
        error.add_note(f"the broker's log ends:\n{broker.log_tail()}")
        raise
    finally:
        broker.kill()
