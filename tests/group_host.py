"""Groups without a broker: one shard behind the real handlers, its log in memory, its time moved by hand.

Requests go through dispatch, decoding and the handlers as they do in a broker, so what a scenario or a
simulation sees is what a client would see. Below the handlers stands this file in place of the runtime: it
appends to a list, replays, keeps deadlines in a heap, and can do on demand what a disk and a power cut do at
the worst moment: refuse an append, delay a commit, lose what was not committed, start anew from the log or
from a compacted one.
"""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any, NamedTuple

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.coordinator.groups.config import GroupConfig
from barnabas.coordinator.groups.group import GroupContext
from barnabas.coordinator.groups.shard import GroupShard
from barnabas.coordinator.runtime.outcome import CoordinatorRecord, Outcome
from barnabas.coordinator.runtime.record_codec import RecordCodec
from barnabas.coordinator.runtime.shard import NO_PRODUCER_ID
from barnabas.handlers.dispatch import Dispatcher
from barnabas.handlers.routes import ROUTES
from barnabas.handlers.services import HandlerSettings, Services
from barnabas.metadata.image import Endpoint, MetadataDelta, MetadataImage
from barnabas.metadata.records import VersionedRecord
from barnabas.protocol import frames, messages
from barnabas.sim.clock import ManualClock

NODE_ID = 1
TIMER_RETRY_MS = 500

Operation = Callable[[int], Outcome[None]]


class SeededEntropy:
    """Random bits that a seed repeats."""

    def __init__(self, seed: int) -> None:
        self._state = (seed * 2 + 1) & (2**64 - 1)

    def _next(self) -> int:
        # splitmix64: short, and the same in every Python.
        self._state = (self._state + 0x9E3779B97F4A7C15) & (2**64 - 1)
        value = self._state
        value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & (2**64 - 1)
        value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & (2**64 - 1)
        return value ^ (value >> 31)

    def random_bytes(self, length: int) -> bytes:
        """Return `length` bytes."""
        data = b"".join(self._next().to_bytes(8, "big") for _ in range(-(-length // 8)))
        return data[:length]

    def random_below(self, limit: int) -> int:
        """Return an integer in [0, limit)."""
        return self._next() % limit


class LoggedRecord(NamedTuple):
    """A record in the log, as bytes."""

    offset: int
    key: bytes
    value: bytes | None


class HostTimers:
    """Deadlines of the shard that lives (`outcome.Timers`)."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self._heap: list[tuple[int, int, Hashable]] = []
        self._current: dict[Hashable, tuple[int, Operation]] = {}
        self._numbers = itertools.count()

    def schedule(self, key: Hashable, delay_ms: int, operation: Operation) -> None:
        """Call `operation(now_ms)` after a while; a timer with this key is replaced."""
        number = next(self._numbers)
        self._current[key] = (number, operation)
        heapq.heappush(self._heap, (self._clock.monotonic_ms() + max(delay_ms, 0), number, key))

    def cancel(self, key: Hashable) -> None:
        """Forget a timer."""
        self._current.pop(key, None)

    def is_scheduled(self, key: Hashable) -> bool:
        """Whether a timer with this key waits."""
        return key in self._current

    def next_ms(self) -> int | None:
        """Return when the next one fires; None when none waits."""
        while self._heap:
            deadline_ms, number, key = self._heap[0]
            if key in self._current and self._current[key][0] == number:
                return deadline_ms
            heapq.heappop(self._heap)
        return None

    def pop(self) -> tuple[Hashable, Operation]:
        """Take the next one."""
        _, _, key = heapq.heappop(self._heap)
        return key, self._current.pop(key)[1]


class HostConnection:
    """A client's connection; what it was answered lies in `answers`.

    Attributes:
        answers: (api name, response) as they came.
        closed: why the broker closed it.
    """

    def __init__(self, name: str) -> None:
        self.id = name
        self.listener_name = "PLAINTEXT"
        self.peer_host = "10.0.0.1"
        self.request_in_hand = False
        self.context: Any = None
        self.answers: deque[tuple[str, Any]] = deque()
        self.closed: str | None = None
        self.asked: dict[int, tuple[int, int]] = {}

    def respond(self, parts: list[Any], when_sent: Callable[[], None]) -> None:
        """Decode and keep an answer."""
        when_sent()
        raw = b"".join(bytes(part) for part in parts)
        correlation_id = int.from_bytes(raw[:4], "big")
        if correlation_id not in self.asked:
            return  # of an incarnation of the coordinator that is gone
        key, version = self.asked.pop(correlation_id)
        _, body = frames.decode_response_header(memoryview(raw), key, version)
        spec = messages.BY_KEY[key]
        self.answers.append((spec.name, spec.response.decode(raw, version, body)))

    def complete_without_response(self) -> None:
        """No group request is one."""
        raise AssertionError("a request of groups is answered")

    def close(self, reason: str) -> None:
        """Remember why."""
        self.closed = reason


class GroupHost:
    """One shard of groups.

    Args:
        topics: name -> partitions.
        seed: of what the coordinator draws.

    Attributes:
        log: everything appended that was not lost.
        committed: records below this index are committed; nothing loses them.
        append_error: what the next appends fail with; None lets them through.
        commit_delay_ms: called for each append: how long until it is committed.
        appended: called with the decoded records of each append, in order.
        configs: of single groups, by id.
    """

    def __init__(self, topics: Mapping[str, int], config: GroupConfig, *, seed: int = 0) -> None:
        self.clock = ManualClock()
        self.config = config
        self.configs: dict[str, GroupConfig] = {}
        self.log: list[LoggedRecord] = []
        self.committed = 0
        self.append_error: ErrorCode | None = None
        self.commit_delay_ms: Callable[[], int] = lambda: 0
        self.appended: Callable[[list[CoordinatorRecord]], None] = lambda _: None
        self.image = MetadataImage()
        self.is_loading = False
        self._codec = RecordCodec("group_records")
        self._entropy = SeededEntropy(seed)
        self._correlation_ids = itertools.count(1)
        self._metadata_offset = 0
        self._offsets = itertools.count()
        self._uncommitted: deque[tuple[int, int, list[Callable[[ApiError | None], None]]]] = deque()
        self._is_running = False
        self._waiting: deque[Callable[[], None]] = deque()
        self.dispatcher = Dispatcher()
        self.dispatcher.services = self._services()
        self._start()
        self._replay_metadata(messages.FeatureLevelRecord(name="group.version", feature_level=1))
        for name, partitions in topics.items():
            self.make_topic(name, partitions)

    def _services(self) -> Services:
        services = Services(
            cluster_id="cluster",
            node_id=NODE_ID,
            rack=None,
            clock=self.clock,
            image=self.image,
            controller=SimpleNamespace(metadata_offset=0),  # type: ignore[arg-type]
            replicas=SimpleNamespace(),  # type: ignore[arg-type]
            logs=SimpleNamespace(directories=[]),  # type: ignore[arg-type]
            producer_ids=SimpleNamespace(),  # type: ignore[arg-type]
            fetch_sessions=SimpleNamespace(),  # type: ignore[arg-type]
            settings=HandlerSettings(),
            advertised_apis={key: route.advertised for key, route in ROUTES.items()},
            advertised={"PLAINTEXT": Endpoint(name="PLAINTEXT", host="broker.example", port=9092)},
        )
        services.made_groups = self  # type: ignore[assignment]
        return services

    # Life --------------------------------------------------------------------------------------------

    def _start(self) -> None:
        self.timers = HostTimers(self.clock)
        context = GroupContext(
            image=self.image,
            config_of=lambda group_id: self.configs.get(group_id, self.config),
            clock=self.clock,
            entropy=self._entropy,
            timers=self.timers,
            metadata_offset=lambda: self._metadata_offset,
        )
        self.shard = GroupShard(context, 0)
        for logged in self.log:
            self.shard.replay(self._codec.decode(logged.key, logged.value), logged.offset, NO_PRODUCER_ID)
        self.shard.loaded(self.clock.wall_ms())

    def restart(self, *, compacted: bool = False) -> None:
        """Give the partition up, as a clean stop does, and load it again."""
        self._settle_commits()
        self.shard.unloaded()
        self._load_again(compacted)

    @property
    def uncommitted(self) -> int:
        """How many batches are not committed yet."""
        return len(self._uncommitted)

    def crash(self, *, keep: int | None = None, compacted: bool = False) -> None:
        """Forget everything but the log; of the batches not committed yet, keep so many (all)."""
        if keep is not None and keep < len(self._uncommitted):
            del self.log[self._uncommitted[keep - 1][1] if keep else self.committed :]
        self._uncommitted.clear()
        self._load_again(compacted)

    def _load_again(self, compacted: bool) -> None:
        self.committed = len(self.log)
        if compacted:
            last = {logged.key: logged for logged in self.log}
            self.log = sorted(last.values())
            self.committed = len(self.log)
        self._waiting.clear()
        self._start()

    # Time --------------------------------------------------------------------------------------------

    def advance_ms(self, milliseconds: int) -> None:
        """Let time pass: commits come through and deadlines fire, each at its moment."""
        end_ms = self.clock.monotonic_ms() + milliseconds
        while (due_ms := self.next_ms()) is not None and due_ms <= end_ms:
            self.clock.advance_ms(max(0, due_ms - self.clock.monotonic_ms()))
            if self._uncommitted and self._uncommitted[0][0] <= due_ms:
                self._commit_first()
            else:
                key, operation = self.timers.pop()
                self._run_timer(key, operation)
        self.clock.advance_ms(end_ms - self.clock.monotonic_ms())

    def next_ms(self) -> int | None:
        """Return the monotonic time at which something happens by itself."""
        times = [self.timers.next_ms(), self._uncommitted[0][0] if self._uncommitted else None]
        return min((time for time in times if time is not None), default=None)

    def _run_timer(self, key: Hashable, operation: Operation) -> None:
        def failed(_: ApiError) -> None:
            if not self.timers.is_scheduled(key):
                self.timers.schedule(key, TIMER_RETRY_MS, operation)

        self._run(lambda _, now_ms: operation(now_ms), lambda _: None, failed)

    # Metadata ----------------------------------------------------------------------------------------

    def topic_id(self, name: str) -> bytes:
        """The id of a topic that is there."""
        return bytes(self.image.topics[name].topic_id)

    def make_topic(self, name: str, partitions: int, topic_id: bytes | None = None) -> None:
        """Create a topic."""
        drawn = topic_id or name.encode().ljust(16, b"\x01")[:16]
        self._replay_metadata(
            messages.TopicRecord(name=name, topic_id=drawn), *self._partitions(drawn, range(partitions))
        )

    def grow_topic(self, name: str, partitions: int) -> None:
        """Raise the number of a topic's partitions."""
        before = len(self.image.topics[name].partitions)
        self._replay_metadata(*self._partitions(self.topic_id(name), range(before, partitions)))

    def delete_topic(self, name: str) -> None:
        """Delete a topic."""
        self._replay_metadata(messages.RemoveTopicRecord(topic_id=self.topic_id(name)))

    @staticmethod
    def _partitions(topic_id: bytes, numbers: range) -> list[messages.Message]:
        return [
            messages.PartitionRecord(
                partition_id=number,
                topic_id=topic_id,
                replicas=[NODE_ID],
                isr=[NODE_ID],
                leader=NODE_ID,
                directories=[bytes(15) + b"\x09"],
            )
            for number in numbers
        ]

    def _replay_metadata(self, *records: messages.Message) -> None:
        delta = MetadataDelta()
        for record in records:
            self.image.replay(VersionedRecord(record), delta)
            self._metadata_offset += 1
        self.shard.metadata_changed(delta, self.clock.wall_ms())

    # Requests ----------------------------------------------------------------------------------------

    def send(
        self, connection: HostConnection, request: messages.Message, version: int, client_id: str = "client"
    ) -> None:
        """Let a connection ask; the answer comes into its `answers`, at once or when time goes on."""
        key = request.api_key
        assert key is not None
        correlation_id = next(self._correlation_ids)
        connection.asked[correlation_id] = (key, version)
        header = frames.encode_request_header(key, version, correlation_id, client_id)
        frame = memoryview(bytearray(header + request.encode(version)))
        self.dispatcher.request_received(connection, frame)  # type: ignore[arg-type]

    # What handlers ask of `services.groups` -----------------------------------------------------------

    def ensure_topic(self) -> None:
        """It is there."""

    def leader_of(self, group_id: str) -> int:
        """This broker coordinates all groups."""
        return NODE_ID

    def active_shards(self) -> Iterator[GroupShard]:
        """Yield the shard."""
        yield self.shard

    def write(
        self,
        group_id: str,
        operation: Callable[[GroupShard, int], Outcome[Any]],
        reply: Callable[[Any], None],
        failed: Callable[[ApiError], None],
    ) -> None:
        """Run an operation that may append (`CoordinatorRuntime.write`)."""
        self._run(operation, reply, failed)

    def read(
        self,
        group_id: str,
        operation: Callable[[GroupShard, int], Any],
        reply: Callable[[Any], None],
        failed: Callable[[ApiError], None],
    ) -> None:
        """Run an operation that changes nothing; it is answered when all it saw is committed."""
        try:
            response = operation(self.shard, self.clock.wall_ms())
        except ApiError as error:
            failed(error)
            return
        self._when_committed(lambda _: reply(response))

    def _run(
        self,
        operation: Callable[[GroupShard, int], Outcome[Any]],
        reply: Callable[[Any], None],
        failed: Callable[[ApiError], None],
    ) -> None:
        self._waiting.append(lambda: self._run_one(operation, reply, failed))
        if self._is_running:
            return
        self._is_running = True
        try:
            while self._waiting:
                self._waiting.popleft()()
        finally:
            self._is_running = False

    def _run_one(
        self,
        operation: Callable[[GroupShard, int], Outcome[Any]],
        reply: Callable[[Any], None],
        failed: Callable[[ApiError], None],
    ) -> None:
        try:
            outcome = operation(self.shard, self.clock.wall_ms())
        except ApiError as error:
            failed(error)
            return

        def ended(error: ApiError | None) -> None:
            if outcome.appended is not None:
                outcome.appended(error)
            if error is not None:
                failed(error)
            elif outcome.response is not None:
                reply(outcome.response)

        if not outcome.records:
            self._when_committed(ended)
        elif self.append_error is not None:
            ended(ApiError(self.append_error))
        else:
            self._append(list(outcome.records), outcome.replayed, ended)

    def _append(
        self,
        records: list[CoordinatorRecord],
        replayed: Callable[[], None] | None,
        ended: Callable[[ApiError | None], None],
    ) -> None:
        for record in records:
            offset = next(self._offsets)
            key, value = self._codec.encode(record)
            self.log.append(LoggedRecord(offset, key, value))
            self.shard.replay(self._codec.decode(key, value), offset, NO_PRODUCER_ID)
        if replayed is not None:
            replayed()
        self.appended(records)
        delay_ms = self.commit_delay_ms()
        if delay_ms == 0 and not self._uncommitted:
            self.committed = len(self.log)
            ended(None)
            return
        due_ms = self.clock.monotonic_ms() + delay_ms
        if self._uncommitted:
            due_ms = max(due_ms, self._uncommitted[-1][0])
        self._uncommitted.append((due_ms, len(self.log), [ended]))

    def _when_committed(self, follows: Callable[[ApiError | None], None]) -> None:
        if self._uncommitted:
            self._uncommitted[-1][2].append(follows)
        else:
            follows(None)

    def _commit_first(self) -> None:
        _, self.committed, follows = self._uncommitted.popleft()
        for each in follows:
            each(None)

    def _settle_commits(self) -> None:
        while self._uncommitted:
            self._commit_first()
