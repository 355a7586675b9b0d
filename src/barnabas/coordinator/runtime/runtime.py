"""Runs coordinators: one state machine for each partition of an internal topic, and its log below.

A request names a group (or a transactional id); its hash names the partition. The operation reads the shard's
state and returns an Outcome. The runtime appends the records as one batch, has the shard replay them, and
answers when they are committed. A start replays the same records through the same `replay`, so that a live
coordinator and a restarted one cannot differ.

Operations of a shard run one after the other. One that is started from within another, by an answer that lets
a connection go on with its next request say, waits until that one is through.

Apache Kafka changes the state before it appends, keeps snapshots to take that back, and gathers records of
several requests for a batch. Here the append comes first: on one loop nothing can come between the two, so
there is nothing to take back, and a shard is plain dictionaries. See docs/adr/0010.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

from barnabas.base.clock import Clock
from barnabas.base.cold_reads import ColdReads
from barnabas.base.dataclass import dataclass
from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.hints import Any, Final, Generic, TypeVar
from barnabas.base.logger import Logger
from barnabas.base.uuids import NULL_UUID
from barnabas.coordinator.runtime.appender import Appender, TransactionEnd
from barnabas.coordinator.runtime.config import RuntimeConfig
from barnabas.coordinator.runtime.hosted_shard import HostedShard, ShardState
from barnabas.coordinator.runtime.log_loader import LoadProgress, LogLoader
from barnabas.coordinator.runtime.outcome import Outcome, Reply, Timers
from barnabas.coordinator.runtime.partition_for import partition_for
from barnabas.coordinator.runtime.record_codec import RecordCodec
from barnabas.coordinator.runtime.shard import Shard
from barnabas.coordinator.runtime.shard_timers import ShardTimers
from barnabas.replica.manager import ReplicaManager
from barnabas.timing.timer_wheel import TimerWheel

_log = Logger(__name__)

ShardT = TypeVar("ShardT", bound=Shard)
Response = TypeVar("Response")

KEYS_REMEMBERED_MAX: Final = 4096
"""Keys whose partition is remembered; the hash of a key takes as long as ten look-ups."""

FIRST_LOAD_US: Final = 20_000
"""How long a request that finds its partition not loaded waits for that, before it is sent away."""

TELL_LOAD_FROM_US: Final = 1_000_000
"""Loads that take longer are told in the log, and how far they are each time this has passed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeStatistics:
    """What a runtime holds and did.

    Attributes:
        shards: by state.
        loads, load_us: finished ones, and the time from their beginning to their end.
        appends, records: batches and records that were appended.
        append_failures: operations whose append failed.
        timers: deadlines that wait.
    """

    shards: dict[str, int]
    loads: int
    load_us: int
    appends: int
    records: int
    append_failures: int
    timers: int


class CoordinatorRuntime(Generic[ShardT]):
    """The coordinators of one internal topic. All calls come from the loop's thread.

    Args:
        codec: of the topic's records.
        make_shard: (partition number, timers of the shard) -> a shard without state.
        call_soon: runs a call in a later turn of the loop.
        cold_reads: brings in what a load reads (F44); None: a load waits for the disk.

    Attributes:
        on_loaded: called when no shard waits to be loaded any more.
    """

    def __init__(
        self,
        *,
        config: RuntimeConfig,
        codec: RecordCodec,
        replicas: ReplicaManager,
        clock: Clock,
        wheel: TimerWheel,
        call_soon: Callable[[Callable[[], None]], None],
        make_shard: Callable[[int, Timers], ShardT],
        cold_reads: ColdReads | None = None,
    ) -> None:
        self.config = config
        self._codec = codec
        self._replicas = replicas
        self._clock = clock
        self._wheel = wheel
        self._call_soon = call_soon
        self._make_shard = make_shard
        self._cold_reads = cold_reads
        self._appender = Appender(config=config, codec=codec, replicas=replicas, clock=clock)
        self._hosted: dict[int, HostedShard[ShardT]] = {}
        self._loading: deque[HostedShard[ShardT]] = deque()
        self._is_load_due = False
        self._is_load_begun = False
        self._load_began_us = 0
        self._load_told_us = 0
        self._waiting: deque[Callable[[], None]] = deque()
        self._is_running = False
        self.is_stopped = False
        self._partition_count = config.partition_count
        self._topic_id = NULL_UUID
        self._partitions: dict[str, int] = {}
        self._loads = 0
        self._load_us = 0
        self.on_loaded: Callable[[], None] | None = None

    # Where a key belongs

    def partition_of(self, key: str) -> int:
        """Return the partition that coordinates a key."""
        known = self._partitions.get(key)
        if known is None:
            if len(self._partitions) >= KEYS_REMEMBERED_MAX:
                self._partitions.clear()
            known = self._partitions[key] = partition_for(key, self._partition_count)
        return known

    def topic_is(self, topic_id: bytes, partition_count: int) -> None:
        """Tell which topic there is now.

        One that grows changes nothing until the next start, as with Apache Kafka: keys would be looked for in
        other partitions than their records lie in.
        """
        if topic_id != self._topic_id:
            self._topic_id = topic_id
            self._partition_count = partition_count
            self._partitions.clear()

    # Requests

    def write(
        self,
        key: str,
        operation: Callable[[ShardT, int], Outcome[Response]],
        reply: Reply[Response],
        failed: Callable[[ApiError], None],
    ) -> None:
        """Run an operation that may change the state: `operation(shard, now_ms)`, now in wall time.

        Exactly one of `reply` and `failed` is called, perhaps before this returns; neither when the outcome
        has no response. An ApiError that the operation raises goes to `failed`, as does the reason why
        nothing could be appended or is coordinated here: NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS,
        COORDINATOR_NOT_AVAILABLE.
        """
        try:
            hosted = self._active(self.partition_of(key))
        except ApiError as error:
            failed(error)
            return
        self._run(hosted, operation, reply, failed)

    def read(
        self,
        key: str,
        operation: Callable[[ShardT, int], Response],
        reply: Reply[Response],
        failed: Callable[[ApiError], None],
    ) -> None:
        """Run an operation that changes nothing; it is answered when all that it saw is committed."""
        try:
            hosted = self._active(self.partition_of(key))
            response = operation(hosted.shard, self._clock.wall_ms())
        except ApiError as error:
            failed(error)
            return
        hosted.when_committed(lambda _: reply(response))

    def end_transaction(
        self, number: int, end: TransactionEnd, ended: Callable[[ApiError | None], None]
    ) -> None:
        """Append the marker of a transaction's end to a partition and let the shard follow it.

        Args:
            ended: told when the marker is committed, or why it could not be appended.
        """
        try:
            hosted = self._active(number)
        except ApiError as error:
            ended(error)
            return
        self._run_in_turn(lambda: self._appender.append_marker(hosted, end, ended))

    def active_shards(self) -> Iterator[ShardT]:
        """Yield the shards that are loaded."""
        for hosted in self._hosted.values():
            if hosted.state is ShardState.ACTIVE:
                yield hosted.shard

    @property
    def is_loading(self) -> bool:
        """Whether some shard is not loaded yet."""
        unready = (ShardState.INITIAL, ShardState.LOADING)
        return any(hosted.state in unready for hosted in self._hosted.values())

    @property
    def has_all(self) -> bool:
        """Whether every key is known that there is: all partitions with records are led here, and loaded."""
        for number in range(self._partition_count):
            partition = self._replicas.partitions.by_name.get((self.config.topic, number))
            if partition is None or not HostedShard.can_host(partition):
                return False
            log = partition.log
            hosted = self._hosted.get(number)
            if log.log_end_offset > log.log_start_offset and (
                hosted is None or hosted.state is not ShardState.ACTIVE
            ):
                return False
        return True

    # Operations

    def _run(
        self,
        hosted: HostedShard[ShardT],
        operation: Callable[[ShardT, int], Outcome[Any]],
        reply: Reply[Any],
        failed: Callable[[ApiError], None],
    ) -> None:
        self._run_in_turn(lambda: self._run_one(hosted, operation, reply, failed))

    def _run_in_turn(self, run: Callable[[], None]) -> None:
        self._waiting.append(run)
        if not self._is_running:
            self._run_waiting()

    def _run_waiting(self) -> None:
        self._is_running = True
        try:
            while self._waiting:
                self._waiting.popleft()()
        finally:
            self._is_running = False
            if self._waiting:
                # An answer failed, by a fault of ours; who waits behind it shall not.
                self._call_soon(self._run_waiting)

    def _run_one(
        self,
        hosted: HostedShard[ShardT],
        operation: Callable[[ShardT, int], Outcome[Any]],
        reply: Reply[Any],
        failed: Callable[[ApiError], None],
    ) -> None:
        if hosted.state is not ShardState.ACTIVE:
            failed(ApiError(ErrorCode.NOT_COORDINATOR))
            return
        try:
            outcome = operation(hosted.shard, self._clock.wall_ms())
        except ApiError as error:
            failed(error)
            return
        except Exception:
            _log.exception("%s: an operation failed", hosted)
            failed(ApiError(ErrorCode.UNKNOWN_SERVER_ERROR))
            return

        def ended(error: ApiError | None) -> None:
            if outcome.appended is not None:
                try:
                    outcome.appended(error)
                except Exception:
                    _log.exception("%s: what follows an append failed", hosted)
                    error = error or ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)
            if error is not None:
                failed(error)
            elif outcome.response is not None:
                reply(outcome.response)

        if outcome.records:
            self._appender.append(hosted, outcome, ended)
        else:
            hosted.when_committed(ended)

    def _run_timer(self, number: int, key: Any, operation: Callable[[int], Outcome[None]]) -> None:
        hosted = self._hosted[number]
        self._run(
            hosted,
            lambda _, now_ms: operation(now_ms),
            _ignore,
            lambda _: hosted.timers.retry(key, operation),
        )

    # Loading and unloading

    def load_all(self) -> None:
        """Begin to load every partition that has records, in later turns of the loop."""
        for number in range(self._partition_count):
            partition = self._replicas.partitions.by_name.get((self.config.topic, number))
            if partition is not None and partition.log.log_end_offset > partition.log.log_start_offset:
                try:
                    self._hosted_at(number)
                except ApiError as error:
                    _log.debug("%s-%d is not loaded now: %s", self.config.topic, number, error)

    def partitions_changed(self) -> None:
        """Unload what is not led here any more: metadata changed, or a log directory failed."""
        for number, hosted in list(self._hosted.items()):
            if not hosted.is_current(self._replicas.partitions.by_name.get((self.config.topic, number))):
                self._unload(number)

    def stop(self) -> None:
        """Unload everything; who waits is told NOT_COORDINATOR, who comes later COORDINATOR_NOT_AVAILABLE."""
        self.is_stopped = True
        for number in list(self._hosted):
            self._unload(number)

    def statistics(self) -> RuntimeStatistics:
        """Return gauges and counts."""
        shards = {state.value: 0 for state in ShardState}
        for hosted in self._hosted.values():
            shards[hosted.state.value] += 1
        return RuntimeStatistics(
            shards=shards,
            loads=self._loads,
            load_us=self._load_us,
            appends=self._appender.appends,
            records=self._appender.records,
            append_failures=self._appender.failures,
            timers=sum(len(hosted.timers) for hosted in self._hosted.values()),
        )

    def _active(self, number: int) -> HostedShard[ShardT]:
        if self.is_stopped:
            raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        hosted = self._hosted_at(number)
        if hosted.state is ShardState.INITIAL:
            # Most partitions hold little: no reason to send anybody away for that.
            self._loading.remove(hosted)
            self._loading.appendleft(hosted)
            self._load_first(self._clock.monotonic_us() + FIRST_LOAD_US)
        if hosted.state is ShardState.ACTIVE:
            return hosted
        if hosted.state is ShardState.LOADING:
            raise ApiError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        raise ApiError(ErrorCode.NOT_COORDINATOR)

    def _hosted_at(self, number: int) -> HostedShard[ShardT]:
        partition = self._replicas.partitions.by_name.get((self.config.topic, number))
        hosted = self._hosted.get(number)
        if hosted is not None and not hosted.is_current(partition):
            self._unload(number)
            hosted = None
        if hosted is not None:
            return hosted
        if partition is None or self.is_stopped:
            raise ApiError(ErrorCode.NOT_COORDINATOR)
        hosted = HostedShard(partition)
        if not hosted.is_current(partition):
            raise ApiError(ErrorCode.NOT_COORDINATOR)
        hosted.timers = ShardTimers(
            clock=self._clock,
            wheel=self._wheel,
            run=lambda key, operation: self._run_timer(number, key, operation),
        )
        hosted.shard = self._make_shard(number, hosted.timers)
        hosted.loader = LogLoader(
            partition.log,
            codec=self._codec,
            shard=hosted.shard,
            now_us=self._clock.monotonic_us,
            cold_reads=self._cold_reads,
        )
        self._hosted[number] = hosted
        self._loading.append(hosted)
        self._load_later()
        return hosted

    def _unload(self, number: int) -> None:
        hosted = self._hosted.pop(number)
        if hosted in self._loading:
            self._loading.remove(hosted)
        try:
            hosted.close()
        except Exception:
            # A fault of ours; the other partitions go on, or are unloaded, all the same.
            _log.exception("%s could not end as it should", hosted)

    def _load_later(self) -> None:
        if not self._loading:
            return
        if not self._is_load_begun:
            self._is_load_begun = True
            self._load_began_us = self._load_told_us = self._clock.monotonic_us()
        if not self._is_load_due:
            self._is_load_due = True
            self._call_soon(self._load_turn)

    def _load_turn(self) -> None:
        self._is_load_due = False
        until_us = self._clock.monotonic_us() + self.config.load_slice_ms * 1000
        while self._loading and self._load_first(until_us):
            pass
        self._tell_progress()
        self._load_later()
        if self.on_loaded is not None and not self.is_loading:
            self.on_loaded()

    def _load_first(self, until_us: int) -> bool:
        """Load the first shard that waits for it; return whether there is time for another."""
        hosted = self._loading[0]
        try:
            progress = hosted.loader.load(until_us)
        except Exception as error:
            if isinstance(error, ApiError):
                _log.error("%s cannot be loaded, its groups have no coordinator: %s", hosted, error)
            else:
                _log.exception("%s cannot be loaded, its groups have no coordinator", hosted)
            self._loading.popleft()
            hosted.become(ShardState.FAILED)
            return True
        if progress is not LoadProgress.DONE and hosted.state is ShardState.INITIAL:
            hosted.become(ShardState.LOADING)
        if progress is LoadProgress.TIME_UP:
            return False
        self._loading.popleft()
        if progress is LoadProgress.COLD:
            hosted.loader.bring_in(lambda: self._go_on_loading(hosted))
            return True
        hosted.become(ShardState.ACTIVE)
        self._note_loaded(hosted)
        try:
            hosted.shard.loaded(self._clock.wall_ms())
        except Exception:
            # A fault of ours; some deadlines are not armed, but what is committed can still be read.
            _log.exception("%s could not begin as it should", hosted)
        return self._clock.monotonic_us() < until_us

    def _go_on_loading(self, hosted: HostedShard[ShardT]) -> None:
        if hosted.state is ShardState.LOADING:
            self._loading.appendleft(hosted)
            self._load_later()

    def _note_loaded(self, hosted: HostedShard[ShardT]) -> None:
        loader = hosted.loader
        took_us = self._clock.monotonic_us() - loader.started_us
        self._loads += 1
        self._load_us += took_us
        _log.debug(
            "%s: %d records, %d bytes, loaded in %d ms",
            hosted,
            loader.record_count,
            loader.bytes_read,
            took_us // 1000,
        )

    def _tell_progress(self) -> None:
        """Tell in the log how far a long load is, and when it is done."""
        now_us = self._clock.monotonic_us()
        is_done = not self.is_loading
        if is_done:
            self._is_load_begun = False
        if now_us - self._load_began_us < TELL_LOAD_FROM_US or (
            not is_done and now_us - self._load_told_us < TELL_LOAD_FROM_US
        ):
            return
        self._load_told_us = now_us
        active = [hosted for hosted in self._hosted.values() if hosted.state is ShardState.ACTIVE]
        _log.info(
            "%s: %d of %d partitions are loaded, %d records so far, after %d ms",
            self.config.topic,
            len(active),
            len(self._hosted),
            sum(hosted.loader.record_count for hosted in self._hosted.values()),
            (now_us - self._load_began_us) // 1000,
        )


def _ignore(_response: object) -> None:
    """Nobody waits for the answer."""
