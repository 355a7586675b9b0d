"""A client that goes about its business while others misbehave, and notices when it cannot."""

import struct
import threading
import time
from types import TracebackType
from typing import Any

from barnabas.protocol.record_batch import iter_batches, parse_header, parse_records
from barnabas.protocol.record_batch_builder import BatchBuilder
from tests.net.wire import Wire

PAUSE_S = 0.005
READ_BYTES = 1 << 20
_NUMBER = struct.Struct(">q")


class CalmClient:
    """Produces numbered records with acks=-1 and reads each back at once, in a thread of its own.

    As a context: leaving it stops the thread and raises what went wrong in it.

    Attributes:
        slowest_s: the longest that a record took from its produce to its fetch.
    """

    def __init__(self, port: int, topic: str) -> None:
        self.topic = topic
        self.acknowledged: list[int] = []
        self.slowest_s = 0.0
        self._port = port
        self._failure: BaseException | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="calm", daemon=True)

    def __enter__(self) -> "CalmClient":
        with Wire(self._port) as wire:
            wire.make_topic(self.topic)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        self._thread.join(60)
        if error is not None:
            return
        if self._failure is not None:
            raise AssertionError("the calm client was disturbed") from self._failure
        assert not self._thread.is_alive(), "the calm client hangs"
        assert self.acknowledged, "the calm client never got a turn"
        with Wire(self._port) as wire:
            found = read_numbers(wire, self.topic, len(self.acknowledged))
        assert found == list(range(len(found))), "records are missing, double or out of order"
        assert self.acknowledged == list(range(len(self.acknowledged))), "acknowledged elsewhere"

    def _run(self) -> None:
        try:
            with Wire(self._port) as wire:
                while not self._stopping.is_set():
                    self._one(wire, len(self.acknowledged))
                    time.sleep(PAUSE_S)
        except BaseException as error:
            self._failure = error

    def _one(self, wire: Wire, number: int) -> None:
        began = time.monotonic()
        batch = BatchBuilder()
        batch.append(timestamp=1, key=None, value=_NUMBER.pack(number))
        answer = wire.produce(self.topic, batch.build())
        assert answer.error_code == 0, answer
        self.acknowledged.append(answer.base_offset)
        data = wire.fetch(self.topic, answer.base_offset)
        assert data.error_code == 0, data
        assert _numbers(data.records) == [number], f"read {data} for {number}"
        self.slowest_s = max(self.slowest_s, time.monotonic() - began)


def read_numbers(wire: Wire, topic: str, count: int) -> list[int]:
    """Return the numbers in a topic from its start."""
    found: list[int] = []
    while len(found) < count:
        numbers = _numbers(wire.fetch(topic, len(found), max_bytes=READ_BYTES).records)
        assert numbers, f"{len(found)} of {count} records are there"
        found += numbers
    return found


def _numbers(records: Any) -> list[int]:
    return [
        _NUMBER.unpack_from(record.value)[0]
        for position, _ in iter_batches(records, 0, len(records), allow_partial_tail=True)
        for record in parse_records(records, position, parse_header(records, position))
    ]
