"""What an idle connection costs this process: open many from a child, compare resident memory.

    python benchmarks/net_memory.py [CONNECTIONS]

Kernel memory of the sockets is not counted; it is the same for every server.
"""

import resource
import subprocess
import sys
from pathlib import Path

from barnabas.net.connection import Connection
from barnabas.net.listener_config import ListenerConfig
from barnabas.net.reactor import Reactor
from barnabas.timing.timer_wheel import TimerWheel

CLIENT = """
import socket, sys
held = [socket.create_connection(("127.0.0.1", int(sys.argv[1]))) for _ in range(int(sys.argv[2]))]
for one in held:
    one.sendall(b"\\0\\0\\0\\4ping")
for one in held:
    one.recv(100)
print("ready", flush=True)
sys.stdin.read()
"""


class Echo:
    def connection_opened(self, connection: Connection) -> None: ...

    def connection_closed(self, connection: Connection) -> None: ...

    def request_waiting(self, connection: Connection, _frame: memoryview) -> None: ...

    def request_received(self, connection: Connection, frame: memoryview) -> None:
        connection.respond([frame])


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def main(count: int) -> None:
    reactor = Reactor(timers=TimerWheel(0))
    listener = reactor.listen(
        ListenerConfig(host="127.0.0.1", port=0, socket_listen_backlog_size=1024), Echo()
    )
    before = resident_bytes()
    arguments = [sys.executable, "-c", CLIENT, str(listener.port), str(count)]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        while reactor.statistics().listeners[0].bytes_sent < count * 8:
            reactor.run_turn()
        assert child.stdout is not None
        child.stdout.readline()
        print(f"{(resident_bytes() - before) / count:.0f} bytes per idle connection ({count} connections)")
        child.communicate()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5000)
