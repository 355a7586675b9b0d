"""A group of members of one client, and the records that are sent to it: what scenarios are written with."""

import itertools
import math
import threading
import time
from collections.abc import Callable, Collection
from pathlib import Path
from types import TracebackType

from confluent_kafka import KafkaError, Message, Producer

from tests.interop.groups.judge import Judgement, judge, owners
from tests.interop.groups.member import Event, Kind, Member

PARTITIONS = 12
SESSION_MS = 6_000
"""The shortest that a broker allows by default."""
HEARTBEAT_MS = 500
LOOK_EVERY_S = 0.05
SETTLE_TIMEOUT_S = 60
"""For any step; only a hang or a fault reaches it."""


TOO_MANY = ("record", "committed", "commit-sent")
"""Events that are left out where a failure is told."""


class Stream:
    """Sends numbered records in turn to all partitions, from a thread, until it is told to stop.

    Its producer is idempotent and retries for as long as the broker is away: every record is stored once.
    """

    def __init__(self, bootstrap: str, topic: str, pause_s: float = 0.01) -> None:
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "linger.ms": 5,
                "message.timeout.ms": 120_000,
                "reconnect.backoff.max.ms": 500,
                "log_level": 0,
            }
        )
        self._topic = topic
        self._pause_s = pause_s
        self._numbers = itertools.count()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self.stored: list[str] = []
        self.failures: list[KafkaError] = []

    def start(self) -> None:
        """Go on sending."""
        self._stopping.clear()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop and wait until all is stored.

        Raises:
            AssertionError: something could not be stored.
        """
        assert self._thread is not None
        self._stopping.set()
        self._thread.join()
        left = self._producer.flush(SETTLE_TIMEOUT_S)
        assert not self.failures, f"could not produce: {self.failures[0]}"
        assert left == 0, f"{left} records are not stored"

    def _run(self) -> None:
        while not self._stopping.wait(self._pause_s):
            self.send(1)

    def send(self, count: int) -> None:
        """Send `count` records; they are stored when stop() or flush() has returned."""
        for number in itertools.islice(self._numbers, count):
            value = str(number)
            self._producer.produce(
                self._topic,
                value=value,
                partition=number % PARTITIONS,
                on_delivery=lambda error, message, value=value: self._delivered(error, message, value),
            )
        self._producer.poll(0)

    def flush(self) -> None:
        """Wait until all is stored."""
        assert self._producer.flush(SETTLE_TIMEOUT_S) == 0

    def _delivered(self, error: KafkaError | None, _: Message, value: str) -> None:
        if error is None:
            self.stored.append(value)
        else:
            self.failures.append(error)


class Group:
    """Members of one kind; as a context it ends their processes.

    Args:
        folder: where what they write to standard error goes.
    """

    def __init__(
        self,
        name: str,
        kind: Kind,
        bootstrap: str,
        topic: str,
        folder: Path,
        *,
        session_ms: int = SESSION_MS,
        max_poll_ms: int = 300_000,
        strategy: str = "",
    ) -> None:
        self.name = name
        self.kind = kind
        self.members: dict[str, Member] = {}
        self._events: list[Event] = []
        self._folder = folder
        self._session_ms = session_ms
        self._max_poll_ms = max_poll_ms
        self._settings = [
            f"bootstrap={bootstrap}", f"group={name}", f"topic={topic}", f"session_ms={session_ms}",
            f"heartbeat_ms={HEARTBEAT_MS}", f"max_poll_ms={max_poll_ms}", f"protocol={kind.protocol}",
            f"strategy={strategy}",
        ]  # fmt: skip
        self._lock = threading.Lock()

    def __enter__(self) -> "Group":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for member in self.members.values():
            member.clean_up()
        if error is not None:
            last = "\n".join(map(str, [one for one in self.snapshot() if one.event not in TOO_MANY][-40:]))
            logs = "\n".join(f"{one.name}: {one.log_tail()}" for one in self.members.values())
            error.add_note(f"members said last:\n{last}\n{logs}")

    def _said(self, event: Event) -> None:
        with self._lock:
            self._events.append(event)

    def snapshot(self) -> list[Event]:
        """What was said until now."""
        with self._lock:
            return list(self._events)

    def add(self, *names: str, instance: str = "") -> list[Member]:
        """Start members."""
        made = []
        for name in names:
            settings = [*self._settings, f"instance={instance}"]
            log = self._folder / f"{self.name}-{name}.log"
            self.members[name] = Member(name, self.kind, settings, self._said, log)
            made.append(self.members[name])
        return made

    def wait(self, condition: Callable[[list[Event]], bool], what: str) -> None:
        """Wait until a condition of what was said is true.

        Raises:
            AssertionError: it did not become true, or a member died of itself.
        """
        deadline = time.monotonic() + SETTLE_TIMEOUT_S
        while not condition(events := self.snapshot()):
            assert time.monotonic() < deadline, f"{self.name}: not {what} in {SETTLE_TIMEOUT_S} s"
            failed = [one for one in events if one.event == "failed"]
            assert not failed, f"{self.name}: {failed}"
            time.sleep(LOOK_EVERY_S)

    def settle(self, *names: str) -> None:
        """Wait until these members, and nobody else, own all partitions in equal shares."""
        share = PARTITIONS // len(names)

        def settled(events: list[Event]) -> bool:
            owned = owners(events)
            mine = {name: owned.get(name, set()) for name in names}
            others = [name for name, some in owned.items() if some and name not in names]
            return (
                not others
                and all(len(some) == share for some in mine.values())
                and len(set().union(*mine.values())) == PARTITIONS
            )

        self.wait(settled, f"shared by {names}")

    def got(self, values: Collection[str]) -> None:
        """Wait until each of these records was delivered to somebody."""
        wanted = set(values)

        def all_there(events: list[Event]) -> bool:
            return wanted <= {one.value for one in events if one.event == "record"}

        self.wait(all_there, f"in possession of all {len(wanted)} records")

    def committed(self, ends: dict[int, int]) -> None:
        """Wait until the members have committed these offsets."""

        def all_there(events: list[Event]) -> bool:
            last: dict[int, int] = {}
            for one in events:
                if one.event in ("committed", "commit-sent"):
                    last.update(one.offsets)
            return last == ends

        self.wait(all_there, f"committed up to {ends}")

    def judge(self, until: float = math.inf) -> Judgement:
        """Return what is wrong with its life until a moment, or until now."""
        return judge(
            [one for one in self.snapshot() if one.at < until],
            session_s=self._session_ms / 1000,
            heartbeat_s=HEARTBEAT_MS / 1000,
            max_poll_s=self._max_poll_ms / 1000,
        )

    def close(self, *names: str) -> None:
        """Close members cleanly."""
        for name in names:
            self.members[name].close()

    def close_all(self) -> None:
        """Close cleanly whoever is still there."""
        self.close(*(name for name, one in self.members.items() if one.alive))
