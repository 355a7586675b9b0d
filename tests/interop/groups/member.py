"""One member of a group in a process of its own, for every client: start, command, kill, and what it said."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests import toolchain
from tests.oracle.jvm import java

INTEROP = Path(__file__).parents[1]

CLOSE_TIMEOUT_S = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What a member said, or what was done to it (started, killed, stopped, continued).

    Args:
        at: seconds since the epoch, by the clock that all processes share.
    """

    member: str
    event: str
    at: float
    partitions: tuple[int, ...] = ()
    partition: int = -1
    offset: int = -1
    value: str = ""
    offsets: dict[int, int] = field(default_factory=dict)
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A client as a member.

    Args:
        command: gives the command line without settings; may raise ToolchainMissingError.
        protocol: the group protocol, classic or consumer.
        cooperative: whether `assigned` names what is new instead of all there is.
        notices_pauses: whether it leaves by itself when its owner does not poll for max.poll.interval.ms.
        commits_surely: whether the library tells how a commit ended.
        is_static: whether it knows group.instance.id.
        asks_as_leader: whether a static leader that comes back may ask for a rebalance, which moves nothing.
    """

    command: Callable[[], list[str]]
    protocol: str = "classic"
    cooperative: bool = False
    notices_pauses: bool = False
    commits_surely: bool = True
    is_static: bool = False
    asks_as_leader: bool = False


def _python(name: str) -> Callable[[], list[str]]:
    return lambda: [sys.executable, "-m", f"tests.interop.groups.member_{name}"]


def _go(name: str) -> Callable[[], list[str]]:
    return lambda: [str(toolchain.built_go(INTEROP / "go")), name, "member"]


def _java() -> list[str]:
    command = java("GroupMember", classes=toolchain.compiled_java(INTEROP / "java"))
    return ["-Xmx96m" if word == "-Xmx512m" else word for word in command]


def _kafkajs() -> list[str]:
    program = toolchain.installed_node(INTEROP / "node", "kafkajs")
    return [shutil.which("node") or "node", str(program.with_name("kafkajs-member.js"))]


KINDS = {
    "librdkafka": Kind(command=_python("confluent"), notices_pauses=True, is_static=True),
    "java": Kind(command=_java, notices_pauses=True, is_static=True),
    "aiokafka": Kind(command=_python("aiokafka"), notices_pauses=True, is_static=True),
    "kafka-python": Kind(
        command=_python("kafka_python"), notices_pauses=True, is_static=True, asks_as_leader=True
    ),
    "franz-go": Kind(command=_go("franz-go"), cooperative=True, is_static=True, asks_as_leader=True),
    "sarama": Kind(command=_go("sarama"), commits_surely=False, is_static=True),
    "kafka-go": Kind(command=_go("kafka-go")),
    "kafkajs": Kind(command=_kafkajs),
    "java-848": Kind(
        command=_java, protocol="consumer", cooperative=True, notices_pauses=True, is_static=True
    ),
    "librdkafka-848": Kind(
        command=_python("confluent"),
        protocol="consumer",
        cooperative=True,
        notices_pauses=True,
        is_static=True,
    ),
}
"""Every client of the suite, and those that speak the consumer protocol (KIP-848) once more with it."""


class Member:
    """A running member.

    Args:
        settings: `name=value` words (talk.py).
        said: called with each event, from a thread of this member.
        log: where its standard error goes.
    """

    def __init__(
        self, name: str, kind: Kind, settings: Sequence[str], said: Callable[[Event], None], log: Path
    ) -> None:
        self.name = name
        self.kind = kind
        self.stopped = False
        self._said = said
        self._log = log
        self.tell("born")
        with log.open("ab") as file:
            self._process = subprocess.Popen(
                [*kind.command(), *settings],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=file,
                text=True,
                cwd=INTEROP.parents[1],
            )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def tell(self, event: str, **fields: Any) -> None:
        """Put down what is done to the member among what it says."""
        self._said(Event(member=self.name, event=event, at=time.time(), **fields))

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("{"):
                self._said(_event(self.name, json.loads(line)))

    @property
    def alive(self) -> bool:
        """Whether the process runs, stopped or not."""
        return self._process.poll() is None

    def command(self, line: str) -> None:
        """Give a command."""
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def kill(self) -> None:
        """End it without a goodbye."""
        self._process.kill()
        self._process.wait()
        self.tell("killed")

    def stop(self) -> None:
        """Let it stand still, as a machine that sleeps."""
        os.kill(self._process.pid, signal.SIGSTOP)
        self.stopped = True
        self.tell("stopped")

    def resume(self) -> None:
        """Let it run again after stop()."""
        self.tell("continued")
        self.stopped = False
        os.kill(self._process.pid, signal.SIGCONT)

    def close(self) -> None:
        """Close its consumer and wait for the end of the process.

        Raises:
            AssertionError: it did not end in time, or with an error.
        """
        self.command("close")
        try:
            status = self._process.wait(CLOSE_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"{self.name} did not close:\n{self.log_tail()}") from None
        assert status == 0, f"{self.name} ended with {status}:\n{self.log_tail()}"
        self._reader.join(CLOSE_TIMEOUT_S)

    def clean_up(self) -> None:
        """End the process whatever it does."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        with contextlib.suppress(BrokenPipeError):
            self._process.communicate()

    def log_tail(self) -> str:
        """The end of what it wrote to standard error."""
        return self._log.read_text(errors="replace")[-2000:]


def _event(member: str, told: dict[str, Any]) -> Event:
    return Event(
        member=member,
        event=told["event"],
        at=told["at"],
        partitions=tuple(told.get("partitions", ())),
        partition=told.get("partition", -1),
        offset=told.get("offset", -1),
        value=told.get("value", ""),
        offsets={int(partition): offset for partition, offset in told.get("offsets", {}).items()},
        message=told.get("error", told.get("message", "")),
    )
