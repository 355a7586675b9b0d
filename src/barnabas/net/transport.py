"""Plaintext: the socket's own calls, bound once, and sendfile.

The hot calls are slots that hold the socket's bound methods, so receiving and sending cost one
C call each and no Python frame. A TLS transport implements the same contract (`contracts.Transport`)
and says zero_copy = False; connection and output need no change.
"""

import os
from collections.abc import Sequence
from contextlib import suppress

from barnabas.net.bare_socket import socket

Buffer = bytes | bytearray | memoryview


class PlaintextTransport:
    """A connected, non-blocking stream socket."""

    __slots__ = ("_fd", "_socket", "receive_into", "send")

    zero_copy = True
    has_unread = False
    wants_room = False
    peer_distinguished_name = None

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._fd = connected.fileno()
        self.receive_into = connected.recv_into
        self.send = connected.send

    def fileno(self) -> int:
        return self._fd

    def send_parts(self, parts: Sequence[Buffer], more: bool) -> int:
        flags = socket.MSG_MORE if more else 0
        if len(parts) == 1:
            return self._socket.send(parts[0], flags)
        return self._socket.sendmsg(parts, (), flags)

    def send_file(self, fd: int, position: int, length: int) -> int:
        return os.sendfile(self._fd, fd, position, length)

    def cork(self, on: bool) -> None:
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, on)

    def finish_sending(self) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self._socket.close()
