"""Asking a running broker about itself, by the socket in its data directory.

A blocking client for tools and the metrics process. One question is one frame of JSON, {"command": name,
"arguments": {...}}; the answer is {"result": ...} or {"error": text}.
"""

import json
import os
import socket
import struct
import time

from barnabas.base.hints import Any
from barnabas.net.local_listener import SOCKET_FILE, reachable

ANSWER_BYTES_MAX = 256 * 1024 * 1024
"""Longer answers are no answers of a broker: one of 100,000 partitions takes 10 MB."""

_CROWDED_PAUSE_S = 0.01
_LENGTH = struct.Struct(">i")


class NoBrokerError(Exception):
    """Nobody answers there; the text says why."""


class CommandError(Exception):
    """The broker could not do what was asked; the text is its own."""


def socket_path(data_dir: str) -> str:
    """Return where a broker that has a data directory open can be asked.

    Args:
        data_dir: the first of `log.dirs`.
    """
    return os.path.join(os.path.abspath(data_dir), SOCKET_FILE)


def ask(path: str, command: str, arguments: dict[str, Any] | None = None, *, timeout_s: float = 5.0) -> Any:
    """Ask one question on a connection of its own and return the result.

    Args:
        path: see `socket_path`.
        timeout_s: how long each step may take: connecting, and each part of the answer.
    Raises:
        NoBrokerError: no broker has the directory open, it is another user's, or it does not answer in time.
        CommandError: there is no such command, or it failed.
    """
    question = json.dumps({"command": command, "arguments": arguments or {}}).encode()
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(timeout_s)
            with reachable(path) as short:
                _connect(connection, short, timeout_s)
            connection.sendall(_LENGTH.pack(len(question)) + question)
            (length,) = _LENGTH.unpack(_receive(connection, _LENGTH.size))
            if not 0 <= length <= ANSWER_BYTES_MAX:
                raise NoBrokerError(f"{path}: an answer of {length} bytes")
            answer = json.loads(_receive(connection, length))
    except TimeoutError:
        raise NoBrokerError(f"{path}: no answer within {timeout_s:g} s") from None
    except (FileNotFoundError, ConnectionRefusedError):
        raise NoBrokerError(f"{path}: no broker runs on this directory") from None
    except OSError as error:
        raise NoBrokerError(f"{path}: {error.strerror or error}") from error
    except ValueError as error:
        raise NoBrokerError(f"{path}: the answer is not JSON: {error}") from error
    if not isinstance(answer, dict) or ("result" in answer) is ("error" in answer):
        raise NoBrokerError(f"{path}: the answer is none of a broker")
    if "error" in answer:
        raise CommandError(str(answer["error"]))
    return answer["result"]


def _connect(connection: socket.socket, path: str, timeout_s: float) -> None:
    """Connect; where others wait to be taken already, the kernel refuses at once instead of waiting."""
    deadline_s = time.monotonic() + timeout_s
    while True:
        try:
            connection.connect(path)
        except BlockingIOError:
            if time.monotonic() >= deadline_s:
                raise TimeoutError from None
            time.sleep(_CROWDED_PAUSE_S)
        else:
            return


def _receive(connection: socket.socket, count: int) -> bytearray:
    data = bytearray()
    while len(data) < count:
        piece = connection.recv(min(count - len(data), 1 << 20))
        if not piece:
            raise NoBrokerError("the broker closed the connection")
        data += piece
    return data
