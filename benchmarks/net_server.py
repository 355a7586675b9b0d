"""A server on our reactor that answers every request alike: what net alone costs.

    python benchmarks/net_server.py '{"answer_bytes": 60}'
    python benchmarks/net_server.py '{"answer_bytes": 1048576, "file": PATH, "fetch_mode": "auto"}'

It prints "listening PORT", serves until its standard input closes, then prints its CPU seconds and the
loop's statistics. With "profile", a cProfile table goes to standard error.
"""

import json
import os
import resource
import sys
import threading
from typing import Any

from barnabas.base.dataclass import fields
from barnabas.base.disk import OsDisk
from barnabas.base.region import FileSlice, LeasedFile
from barnabas.net.connection import Connection
from barnabas.net.listener_config import FetchMode, ListenerConfig
from barnabas.net.reactor import Reactor
from barnabas.timing.timer_wheel import TimerWheel


def as_dict(data: Any) -> dict[str, Any]:
    return {item.name: getattr(data, item.name) for item in fields(data)}


class FixedAnswers:
    """Answers with the same bytes, or with the same slice of a file between two small parts."""

    def __init__(self, answer_bytes: int, path: str | None) -> None:
        self._answer = [bytes(answer_bytes)]
        self._length = answer_bytes
        self._file = LeasedFile(OsDisk().open_readonly(path)) if path else None

    def connection_opened(self, connection: Connection) -> None: ...

    def connection_closed(self, connection: Connection) -> None: ...

    def request_waiting(self, connection: Connection, _frame: memoryview) -> None: ...

    def request_received(self, connection: Connection, _frame: memoryview) -> None:
        if self._file is None:
            connection.respond(self._answer)
        else:
            connection.respond([b"head", FileSlice(self._file, 0, self._length), b"tail"])


def main(options: dict[str, Any]) -> None:
    reactor = Reactor(timers=TimerWheel(0))
    own = {"answer_bytes", "file", "fetch_mode", "profile"}
    listener_options = {key: value for key, value in options.items() if key not in own}
    listener = reactor.listen(
        ListenerConfig(
            host="127.0.0.1",
            port=0,
            socket_listen_backlog_size=1024,
            fetch_mode=FetchMode(options.get("fetch_mode", "auto")),
            **listener_options,
        ),
        FixedAnswers(options["answer_bytes"], options.get("file")),
    )
    print(f"listening {listener.port}", flush=True)

    def wait_for_end() -> None:
        sys.stdin.read()
        reactor.stop()

    threading.Thread(target=wait_for_end, daemon=True).start()
    if options.get("profile"):
        import cProfile
        import pstats

        profile = cProfile.Profile()
        profile.runcall(reactor.run)
        pstats.Stats(profile, stream=sys.stderr).sort_stats("tottime").print_stats(25)
    else:
        reactor.run()
    use = resource.getrusage(resource.RUSAGE_SELF)
    print(f"cpu {use.ru_utime + use.ru_stime:.3f}")
    told = as_dict(reactor.statistics()) | {"state": None}
    print(json.dumps(told, default=as_dict), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
