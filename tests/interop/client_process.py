"""A client in a process of its own that serves all steps: one program for each other language.

The program reads a command a line and answers a line ("ok ..." or "error ..."); records travel in files, in
the layout of `_encode` and `_decode_consumed`. The commands are listed at the top of java/InteropClient.java.
"""

import struct
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.interop.client import DEADLINE_S, ProduceSettings
from tests.interop.records import PARTITIONS, Consumed, Record

_LOG_TAIL_CHARS = 3000


class ProcessClient:
    """The process starts with the first step.

    Args:
        name: as the matrix prints it.
        command: what to run.
    """

    def __init__(self, name: str, command: Sequence[str]) -> None:
        self.name = name
        self._command = command
        self._scratch = tempfile.TemporaryDirectory(prefix="barnabas-client-")
        self._folder = Path(self._scratch.name)
        self._process: subprocess.Popen[str] | None = None

    def sendable(self, record: Record) -> Record:
        return record

    def seen(self, record: Record) -> Record:
        return record

    def produce_options(self, settings: ProduceSettings) -> Mapping[str, object]:
        """Return the settings as the program knows them."""
        return {
            "codec": settings.codec,
            "acks": settings.acks,
            "idempotent": str(settings.idempotent).lower(),
        }

    def produce(
        self, bootstrap: str, topic: str, records: Sequence[Record], settings: ProduceSettings
    ) -> list[int]:
        source, target = self._folder / "records", self._folder / "offsets"
        source.write_bytes(b"".join(map(_encode, records)))
        options = self.produce_options(settings)
        self.ask("produce", bootstrap, topic, source, target, *_words(options))
        offsets = target.read_bytes()
        return list(struct.unpack(f">{len(offsets) // 8}q", offsets))

    def consume(
        self,
        bootstrap: str,
        topic: str,
        count: int,
        start: Mapping[int, int],
        settings: Mapping[str, object] | None = None,
    ) -> list[Consumed]:
        target = self._folder / "consumed"
        begin = ",".join(f"{partition}:{offset}" for partition, offset in start.items())
        self.ask("consume", bootstrap, topic, count, begin, target, *_words(settings or {}))
        return _decode_consumed(target.read_bytes())

    def offsets_for_time(self, bootstrap: str, topic: str, timestamp_ms: int) -> dict[int, int | None]:
        said = self.ask("offsets-for-time", bootstrap, topic, PARTITIONS, timestamp_ms)
        found = (map(int, word.split(":")) for word in said.split())
        return {partition: None if offset < 0 else offset for partition, offset in found}

    def offset_range(self, bootstrap: str, topic: str) -> dict[int, tuple[int, int]]:
        said = self.ask("offset-range", bootstrap, topic, PARTITIONS)
        found = (map(int, word.split(":")) for word in said.split())
        return {partition: (first, end) for partition, first, end in found}

    def ask(self, *words: object) -> str:
        """Give one command and return its answer without the "ok".

        Raises:
            AssertionError: the command failed, or there was no answer in time.
        """
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(" ".join(map(str, words)) + "\n")
        process.stdin.flush()
        # A process that hangs is killed, and the read below ends.
        watchdog = threading.Timer(2 * DEADLINE_S, process.kill)
        watchdog.start()
        try:
            answer = process.stdout.readline().rstrip("\n")
        finally:
            watchdog.cancel()
        verdict, _, rest = answer.partition(" ")
        assert verdict == "ok", f"{self.name}, {words[0]}: {rest or 'no answer'}\n{self._log_tail()}"
        return rest

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None or self._process.poll() is not None:
            with (self._folder / "client.log").open("a") as log:
                self._process = subprocess.Popen(
                    self._command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    text=True,
                )
        return self._process

    def _log_tail(self) -> str:
        return (self._folder / "client.log").read_text(errors="replace")[-_LOG_TAIL_CHARS:]

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None
        self._scratch.cleanup()


def _words(settings: Mapping[str, object]) -> list[str]:
    return [f"{name}={value}" for name, value in settings.items()]


def _encode(record: Record) -> bytes:
    parts = [struct.pack(">iq", record.partition, record.timestamp_ms)]
    parts += (_encode_bytes(record.key), _encode_bytes(record.value))
    parts.append(struct.pack(">i", len(record.headers)))
    for key, value in record.headers:
        parts += (_encode_bytes(key.encode()), _encode_bytes(value))
    return b"".join(parts)


def _encode_bytes(data: bytes | None) -> bytes:
    return struct.pack(">i", -1) if data is None else struct.pack(">i", len(data)) + data


def _decode_consumed(data: bytes) -> list[Consumed]:
    consumed = []
    position = 0

    def take_bytes() -> bytes | None:
        nonlocal position
        (length,) = struct.unpack_from(">i", data, position)
        position += 4
        if length < 0:
            return None
        position += length
        return data[position - length : position]

    while position < len(data):
        offset, partition, timestamp_ms = struct.unpack_from(">qiq", data, position)
        position += 20
        key, value = take_bytes(), take_bytes()
        (headers_left,) = struct.unpack_from(">i", data, position)
        position += 4
        headers = []
        for _ in range(headers_left):
            header_key = take_bytes()
            assert header_key is not None
            headers.append((header_key.decode(), take_bytes()))
        consumed.append(Consumed(offset, Record(partition, timestamp_ms, key, value, tuple(headers))))
    return consumed
