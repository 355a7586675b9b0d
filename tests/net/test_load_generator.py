"""The open loop of benchmarks/load/load.c: a stall is felt by all that it delays, at the end of a run too."""

import json
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator

import pytest

from benchmarks.programs import program

SECONDS = 0.4
PER_S = 100
STALL_S = 0.5
REQUEST_BYTES = 10

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")


def serve_and_stall(listener: socket.socket, stall_after: int, answers_max: int) -> None:
    """Answer each request with four bytes; stand still once before the one of that number."""
    peer, _ = listener.accept()
    with peer, peer.makefile("rb") as stream:
        for number in range(answers_max):
            if len(stream.read(4 + REQUEST_BYTES)) < 4 + REQUEST_BYTES:
                return
            if number == stall_after:
                time.sleep(STALL_S)
            peer.sendall(b"\0\0\0\4good")
        stream.read()  # until the generator leaves


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as made:
        made.settimeout(20)
        yield made


def load(listener: socket.socket, stall_after: int, answers_max: int) -> dict[str, float]:
    thread = threading.Thread(target=serve_and_stall, args=(listener, stall_after, answers_max), daemon=True)
    thread.start()
    port = listener.getsockname()[1]
    line = [program("load"), "-r", PER_S, "127.0.0.1", port, 1, 1, SECONDS, REQUEST_BYTES]
    done = subprocess.run(list(map(str, line)), capture_output=True, text=True, check=True, timeout=30)
    thread.join(20)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def test_a_stall_that_outlives_the_run_is_felt(listener: socket.socket) -> None:
    found = load(listener, stall_after=int(SECONDS * PER_S) - 10, answers_max=1_000_000)
    assert (found["answers"], found["unanswered"]) == (SECONDS * PER_S, 0)
    assert found["max_us"] >= STALL_S * 1e6 * 0.9


def test_what_is_never_answered_is_told(listener: socket.socket) -> None:
    found = load(listener, stall_after=-1, answers_max=int(SECONDS * PER_S) - 10)
    assert found["unanswered"] == 10
