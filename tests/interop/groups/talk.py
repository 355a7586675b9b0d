"""How a member's program talks to the test: settings from its arguments, commands by stdin, events to stdout.

The programs in other languages (go/member.go, java/GroupMember.java, node/kafkajs-member.js) speak the same.

Settings are `name=value` words: bootstrap, group, topic, session_ms, heartbeat_ms, max_poll_ms, instance
(group.instance.id, may be empty), protocol (classic or consumer), strategy (may be empty: the client's own).

Commands, a line each: `commit`, `pause SECONDS` (does not poll meanwhile), `close`.

An event is a line of JSON with its name and its moment (seconds since the epoch): started, assigned, revoked
and lost (partitions), record (partition, offset, value), committed and commit-failed (offsets: the next one
of each partition), commit-sent (the same, where the library does not tell how a commit ended), paused,
resumed, closing, closed, failed (message). A member commits what it got after each batch, before it polls
again. `revoked` is said before the client answers the broker, `assigned` after it has the answer, so that
the moments of two members can be compared.
"""

import json
import os
import queue
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

POLL_MS = 100


class Settings(NamedTuple):
    """What a member is told."""

    bootstrap: str
    group: str
    topic: str
    session_ms: int
    heartbeat_ms: int
    max_poll_ms: int
    instance: str | None
    protocol: str
    strategy: str | None


def settings_of(arguments: Sequence[str]) -> Settings:
    """Return the settings of `name=value` words."""
    given = dict(word.split("=", 1) for word in arguments)
    return Settings(
        bootstrap=given["bootstrap"],
        group=given["group"],
        topic=given["topic"],
        session_ms=int(given["session_ms"]),
        heartbeat_ms=int(given["heartbeat_ms"]),
        max_poll_ms=int(given["max_poll_ms"]),
        instance=given["instance"] or None,
        protocol=given["protocol"],
        strategy=given["strategy"] or None,
    )


def say(event: str, **fields: object) -> None:
    """Tell an event."""
    sys.stdout.write(json.dumps({"event": event, "at": time.time(), **fields}) + "\n")
    sys.stdout.flush()


def say_committed(offsets: Mapping[int, int], error: object = None) -> None:
    """Tell how a commit ended."""
    told = {str(partition): offset for partition, offset in offsets.items()}
    if error is None:
        say("committed", offsets=told)
    else:
        say("commit-failed", offsets=told, error=str(error))


class Commands:
    """Reads standard input in a thread; without it, when the test has died, the process ends itself."""

    def __init__(self) -> None:
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in sys.stdin:
            self._lines.put(line.strip())
        os._exit(3)

    def next(self) -> list[str]:
        """Return the words of the next command, none when there is none."""
        try:
            return self._lines.get_nowait().split()
        except queue.Empty:
            return []
