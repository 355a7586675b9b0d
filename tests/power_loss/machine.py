"""A machine that loses power, and a broker on it that needs no sockets.

The broker is `server.Broker` as it is, with its handlers, coordinators, chores and its clean stop; only the
event loop and the helper thread are replaced by ones that the simulation steps. Frames go in at the
dispatcher and come out at a connection, as bytes. What the helper thread does is put off and done
at a seeded moment, and within it the loop goes on between any two operations on the disk, as it does while
a real thread waits for a sync.

Power goes before the n-th operation that changes the disk. PowerLossError is no Exception, so that nobody
can catch it and live on.
"""

from __future__ import annotations

import itertools
import random
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import SimpleNamespace
from typing import Any

from barnabas.base import worker_pool
from barnabas.base.dataclass import replace
from barnabas.base.region import FileSlice
from barnabas.protocol import frames, messages
from barnabas.server import broker as broker_module
from barnabas.server import component_configs, helper_threads
from barnabas.server.broker import Broker
from barnabas.server.settings import Settings
from barnabas.sim.clock import ManualClock
from barnabas.sim.disk import MemoryDisk
from barnabas.storage.log_config import LogConfig
from barnabas.storage.log_manager import LogManager
from tests.seeded_entropy import SeededEntropy

ROOT = "/data/log"
NEVER = 1 << 60

_CHANGES_NOTHING = frozenset(("read", "stall", "refuse", "bring_in"))
_TURNS_MAX = 10_000


class PowerLossError(BaseException):
    """The machine is without power: nothing that ran goes on."""


class SimulatedLoop:
    """Stands where the reactor is: calls, timers and the ends of turns, and no connections of its own."""

    def __init__(self, *, timers: Any, clock: Any, limits: Any = None, on_slice_error: Any = None) -> None:
        self._timers = timers
        self._clock = clock
        self._calls: deque[Callable[[], object]] = deque()
        self._at_turn_end: list[Callable[[], object]] = []
        self._stopping_hooks: list[Callable[[], object]] = []
        self.cold_reads: Any = None
        self.listeners: tuple[Any, ...] = ()
        self.is_stopping = False

    def listen(self, config: Any, handler: Any) -> Any:
        """Bind nothing."""
        return SimpleNamespace(port=9092, traffic=SimpleNamespace(tls=None), handler=handler)

    def limit_connections(self, limits: Any) -> None:
        """There are none."""

    def limit_listener(self, listener: Any, max_connections: int, creation_rate: int = 0) -> None:
        """There is none."""

    def call_soon(self, callback: Callable[[], object]) -> None:
        """Call in the next turn."""
        self._calls.append(callback)

    call_soon_threadsafe = call_soon

    def call_later(self, delay_ms: int, callback: Callable[[], None]) -> Any:
        """Call after at least `delay_ms`."""
        return self._timers.add(self._clock.monotonic_ms() + delay_ms, callback)

    def call_at_turn_end(self, callback: Callable[[], object]) -> None:
        """Call when this turn's requests are handled."""
        self._at_turn_end.append(callback)

    def add_stopping_hook(self, callback: Callable[[], object]) -> None:
        """Call when a stop begins."""
        self._stopping_hooks.append(callback)

    def close(self) -> None:
        """Nothing is open."""

    @property
    def is_idle(self) -> bool:
        """Whether a turn would do nothing before time passes."""
        return not self._calls and not self._at_turn_end

    def run_turn(self) -> None:
        """Run what is due. An exception in a call fails the simulation, where a reactor would log it."""
        for _ in range(len(self._calls)):
            self._calls.popleft()()
        deadline_ms = self._timers.next_deadline_ms()
        now_ms = self._clock.monotonic_ms()
        if deadline_ms is not None and deadline_ms <= now_ms:
            self._timers.advance(now_ms, 256)
        calls, self._at_turn_end = self._at_turn_end, []
        for call in calls:
            call()

    def begin_stopping(self) -> None:
        """As the reactor does when it is told to stop."""
        self.is_stopping = True
        for hook in self._stopping_hooks:
            hook()


class SimulatedThreads:
    """Stands where a helper thread is, or a pool of them: does what it was given when it is told to.

    Args:
        deliver: brings a call to the loop.
        is_ordered: one thread; else any work may be done first, as by several threads.
    """

    def __init__(
        self, machine: Machine, deliver: Callable[[Callable[[], None]], None], is_ordered: bool
    ) -> None:
        self._machine = machine
        self._deliver = deliver
        self._is_ordered = is_ordered
        self._queue: list[tuple[Callable[[], None], Callable[[OSError | None], None]]] = []
        machine.threads.append(self)

    def __len__(self) -> int:
        return len(self._queue)

    def run(self, work: Callable[[], None], done: Callable[[OSError | None], None]) -> None:
        """Take work."""
        self._queue.append((work, done))

    def step(self) -> None:
        """Do some work; what follows it is brought to the loop."""
        machine = self._machine
        number = 0 if self._is_ordered else machine.random.randrange(len(self._queue))
        work, done = self._queue.pop(number)
        error: OSError | None = None
        machine.is_off_loop = True
        try:
            work()
        except OSError as raised:
            error = raised
        finally:
            machine.is_off_loop = False
        self._deliver(partial(done, error))

    def close(self) -> None:
        """One thread finishes what it was given; of several only what was begun is done."""
        while self._queue:
            if self._is_ordered or self._machine.random.randrange(2):
                self.step()
            else:
                self._queue.clear()


class SimulatedConnection:
    """A client's connection; an answer goes to whoever asked.

    Attributes:
        closed: why the broker closed it.
    """

    def __init__(self, name: str) -> None:
        self.id = name
        self.listener_name = "PLAINTEXT"
        self.peer_host = "10.0.0.1"
        self.request_in_hand = False
        self.context: Any = None
        self.closed: str | None = None
        self._asked: tuple[int, int] = (-1, -1)
        self._answered: Callable[[Any], None] = lambda _: None

    def ask(
        self,
        dispatcher: Any,
        request: Any,
        version: int,
        correlation_id: int,
        answered: Callable[[Any], None],
    ) -> None:
        """Send a request; `answered` gets the response, None for acks=0, at once or later."""
        assert not self.request_in_hand
        key = request.api_key
        self._asked, self._answered = (key, version), answered
        header = frames.encode_request_header(key, version, correlation_id, self.id)
        self.request_in_hand = True
        dispatcher.request_received(self, memoryview(bytearray(header + request.encode(version))))

    def respond(self, parts: list[Any], when_sent: Callable[[], None]) -> None:
        """Decode an answer, hand it on."""
        raw = b""
        for part in parts:
            if isinstance(part, FileSlice):
                raw += part.read()
                part.release()
            else:
                raw += bytes(part)
        self.request_in_hand = False
        key, version = self._asked
        _, body = frames.decode_response_header(memoryview(raw), key, version)
        self._answered(messages.BY_KEY[key].response.decode(raw, version, body))
        when_sent()

    def complete_without_response(self) -> None:
        """An acks=0 request is done."""
        self.request_in_hand = False
        self._answered(None)

    def close(self, reason: str) -> None:
        """Remember why; whoever waits for an answer gets none."""
        self.closed = reason
        if self.request_in_hand:
            self.request_in_hand = False
            self._answered(None)


@contextmanager
def simulated_parts(machine: Machine) -> Iterator[None]:
    """Put the simulation's loop and threads where a broker's modules find the real ones."""
    threads = partial(SimulatedThreads, machine)

    def one_thread(deliver: Any) -> SimulatedThreads:
        return threads(deliver, is_ordered=True)

    def pool(deliver: Any, **_: Any) -> SimulatedThreads:
        return threads(deliver, is_ordered=False)

    replaced = (
        (broker_module, "Reactor", SimulatedLoop),
        (helper_threads, "Worker", one_thread),
        (helper_threads, "WorkerPool", pool),
        (worker_pool, "WorkerPool", pool),
    )
    kept = [getattr(module, name) for module, name, _ in replaced]
    try:
        for module, name, part in replaced:
            setattr(module, name, part)
        yield
    finally:
        for (module, name, _), part in zip(replaced, kept, strict=True):
            setattr(module, name, part)


class SimulatedBroker(Broker):
    """The broker itself, on a loop and threads that are stepped, with logs of tiny segments."""

    loop: SimulatedLoop

    def __init__(self, settings: Settings, machine: Machine) -> None:
        self._machine = machine
        self._shrunk: dict[int, tuple[LogConfig, LogConfig]] = {}
        machine.threads.clear()
        super().__init__(settings, clock=machine.clock, disk=machine.disk, entropy=machine.entropy)
        self.loop = self._reactor  # type: ignore[assignment]

    def _log_config(self, topic: str) -> LogConfig:
        config = super()._log_config(topic)
        known = self._shrunk.get(id(config))
        if known is None:
            small = replace(
                config,
                segment_bytes=min(config.segment_bytes, self._machine.segment_bytes),
                index_interval_bytes=self._machine.index_interval_bytes,
            )
            known = self._shrunk[id(config)] = (config, small)
        return known[1]

    def _make_controller(self, *args: Any, **options: Any) -> Any:
        make = component_configs.metadata_log_config
        shrunk = {
            "segment_bytes": self._machine.metadata_segment_bytes,
            "max_record_bytes_between_snapshots": self._machine.metadata_snapshot_bytes,
            "max_retention_bytes": self._machine.metadata_snapshot_bytes * 3,
            "clean_stop_snapshot_bytes": self._machine.metadata_snapshot_bytes,
        }
        try:
            component_configs.metadata_log_config = lambda settings: replace(make(settings), **shrunk)
            return super()._make_controller(*args, **options)
        finally:
            component_configs.metadata_log_config = make

    @property
    def logs(self) -> LogManager:
        """The log manager."""
        return self._logs

    @property
    def replicas(self) -> Any:
        """The replica manager."""
        return self._replicas

    @property
    def controller(self) -> Any:
        """The controller."""
        return self._controller

    @property
    def dispatcher(self) -> Any:
        """Where frames go in."""
        return self._dispatcher

    def settle(self) -> None:
        """Let everything happen that needs no time."""
        for _ in range(_TURNS_MAX):
            if self._machine.step_threads():
                continue
            # Timers may be due even when nothing else is.
            self.loop.run_turn()
            if self.loop.is_idle and not any(self._machine.threads):
                return
        raise AssertionError("the broker never comes to rest")

    def stop_cleanly(self) -> bool:
        """What SIGTERM does, with requests in hand answered first; return whether all was flushed."""
        self.loop.begin_stopping()
        self.settle()
        return self._shut_down()

    def stop_at_once(self) -> bool:
        """The same before the loop has made its first turn."""
        self.loop.begin_stopping()
        return self._shut_down()


class Machine:
    """Disk, clock and entropy of one machine, and the moment at which its power goes.

    Attributes:
        operations: that changed the disk, so far.
        crash_at: power goes before this one.
        preempt: called between operations of helper threads; the loop may go on within.
        on_gone: called before a segment's file loses its name.
        threads: of the broker that runs.
        is_off_loop: one of them is at work.
    """

    def __init__(self, source: random.Random) -> None:
        self.random = source
        self.clock = ManualClock()
        self.disk = MemoryDisk(self.clock)
        self.disk.on_operation = self._operation
        self.entropy = SeededEntropy(random.Random(source.getrandbits(32)))
        self.segment_bytes = source.choice((600, 900, 2000))
        self.index_interval_bytes = source.choice((0, 150, 400))
        self.metadata_segment_bytes = source.choice((1500, 5000))
        self.metadata_snapshot_bytes = source.choice((1000, 4000))
        self.operations = 0
        self.crash_at = NEVER
        self.preempt: Callable[[], None] | None = None
        self.on_gone: Callable[[str], None] | None = None
        self.threads: list[SimulatedThreads] = []
        self.is_off_loop = False
        self.broker: SimulatedBroker | None = None
        self.correlation_ids = itertools.count(1)

    def _operation(self, what: str, path: str) -> None:
        if what in _CHANGES_NOTHING:
            return
        self.operations += 1
        if self.operations >= self.crash_at:
            raise PowerLossError(f"power is gone before {what} {path}")
        if self.on_gone is not None and what in ("rename", "unlink") and path.endswith(".log"):
            self.on_gone(path)
        if (
            self.preempt is not None
            and self.is_off_loop
            # A checkpoint is written under a lock, which the loop may ask for.
            and path.startswith(ROOT + "/")
            and "/" in path[len(ROOT) + 1 :]
        ):
            self.is_off_loop = False
            try:
                self.preempt()
            finally:
                self.is_off_loop = True

    def step_threads(self) -> bool:
        """Let one of the helper threads do some work; False when none has any."""
        busy = [threads for threads in self.threads if threads]
        if busy:
            self.random.choice(busy).step()
        return bool(busy)

    def lose_power(self, *, keep_all: bool) -> None:
        """Nothing runs any more, and the disk keeps what it keeps; with `keep_all` only the process dies."""
        self.crash_at = NEVER
        self.kill(keep_all=keep_all)

    def kill(self, *, keep_all: bool = True) -> None:
        """As `lose_power`, but the power may still go when it was about to."""
        self.broker = None
        self.disk.crash(self.random, keep_all=keep_all)
