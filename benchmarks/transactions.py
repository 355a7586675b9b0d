"""How soon a parked read_committed fetch hears of the end of a transaction, and that nothing else wakes it.

    python benchmarks/transactions.py [--rounds 300] [--kafka]

In each round a producer writes within a transaction, a consumer's read_committed fetch is parked at the last
stable offset, others write behind it, which must not wake the fetch, and EndTxn is sent. Told is the time
from sending EndTxn to having the fetch's answer: a pass of loopback each way and this client's own work
included. With --kafka the same is done with Apache Kafka, in turns of a third of the rounds.
"""

import argparse
import select
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from barnabas.protocol import messages as m
from barnabas.protocol.record_batch_builder import BatchBuilder
from tests.broker import BarnabasBroker
from tests.net.wire import Wire, frame_of, produce_request
from tests.oracle.kafka import KafkaBroker

TOPIC = "ended"
INIT_VERSION, PRODUCE_VERSION, FETCH_VERSION, END_VERSION = 5, 12, 12, 5
READ_COMMITTED = 1
TRANSACTION = 1
FETCH_MAX_WAIT_MS = 30_000
OTHERS = 5
UNSETTLED = frozenset((14, 15, 16, 51))
"""A coordinator that loads or is not there yet, and a transaction that is still being ended."""
TURNS = 3


class Producer:
    """A transactional producer that speaks the newest protocol."""

    def __init__(self, port: int) -> None:
        self._wire = Wire(port)
        # It is this question that has the coordinator's topic made.
        asked = m.FindCoordinatorRequest(key_type=TRANSACTION, coordinator_keys=["bench"])
        while self._wire.ask(asked, 4).coordinators[0].error_code:
            time.sleep(0.05)
        while True:
            answer = self._wire.ask(
                m.InitProducerIdRequest(transactional_id="bench", transaction_timeout_ms=60_000), INIT_VERSION
            )
            if answer.error_code not in UNSETTLED:
                break
            time.sleep(0.05)
        assert answer.error_code == 0, answer
        self._id, self._epoch, self._sequence = answer.producer_id, answer.producer_epoch, 0

    def write(self) -> None:
        """Write one record, which begins a transaction."""
        builder = BatchBuilder(
            producer_id=self._id,
            producer_epoch=self._epoch,
            base_sequence=self._sequence,
            is_transactional=True,
        )
        builder.append(timestamp=int(time.time() * 1000), key=None, value=b"v" * 100)
        self._sequence += 1
        request = produce_request(TOPIC, bytes(builder.build()))
        request.transactional_id = "bench"
        while True:
            answer = self._wire.ask(request, PRODUCE_VERSION).responses[0].partition_responses[0]
            if answer.error_code not in UNSETTLED:
                break
            time.sleep(0.001)
        assert answer.error_code == 0, answer

    def end(self) -> float:
        """Commit; return the time when that was asked for."""
        asked = m.EndTxnRequest(
            transactional_id="bench", producer_id=self._id, producer_epoch=self._epoch, committed=True
        )
        began = time.perf_counter()
        answer = self._wire.ask(asked, END_VERSION)
        assert answer.error_code == 0, answer
        if answer.producer_epoch != self._epoch:
            self._sequence = 0
        self._id, self._epoch = answer.producer_id, answer.producer_epoch
        return began


class Parked:
    """A consumer whose fetch waits at the last stable offset."""

    def __init__(self, port: int) -> None:
        self._wire = Wire(port)

    def ask(self, offset: int) -> None:
        """Send the fetch."""
        part = m.FetchRequestFetchPartition(fetch_offset=offset, partition_max_bytes=1 << 20)
        self._wire.sock.sendall(
            frame_of(
                m.FetchRequest(
                    max_wait_ms=FETCH_MAX_WAIT_MS,
                    min_bytes=1,
                    max_bytes=1 << 20,
                    isolation_level=READ_COMMITTED,
                    topics=[m.FetchRequestFetchTopic(topic=TOPIC, partitions=[part])],
                ),
                FETCH_VERSION,
            )
        )

    def is_answered(self, within_s: float) -> bool:
        """Whether the answer is there."""
        return bool(select.select([self._wire.sock], [], [], within_s)[0])

    def receive(self) -> None:
        """Take the answer."""
        self._wire.receive_frame()


class Run:
    """Rounds with one broker."""

    def __init__(self, name: str, port: int) -> None:
        self.name = name
        self.waits_ms: list[float] = []
        self.early = 0
        self._control = Wire(port)
        self._control.make_topic(TOPIC)
        self._others = Wire(port)
        builder = BatchBuilder()
        builder.append(timestamp=int(time.time() * 1000), key=None, value=b"v" * 100)
        self._plain = bytes(builder.build())
        while self._others.produce(TOPIC, self._plain).error_code:
            time.sleep(0.05)
        self._producer = Producer(port)
        self._parked = Parked(port)

    def round(self) -> None:
        """One transaction."""
        offset = self._control.end_offset(TOPIC)
        self._producer.write()
        self._parked.ask(offset)
        for _ in range(OTHERS):
            assert self._others.produce(TOPIC, self._plain).error_code == 0
        if self._parked.is_answered(0.002):
            self.early += 1
        began = self._producer.end()
        self._parked.receive()
        self.waits_ms.append(1000 * (time.perf_counter() - began))

    def tell(self) -> None:
        """Print what was found."""
        ascending = sorted(self.waits_ms)
        p50, p99 = (ascending[min(len(ascending) - 1, int(len(ascending) * share))] for share in (0.5, 0.99))
        print(
            f"{self.name:13} {len(ascending)} rounds: answered after p50 {p50:.2f} ms, p99 {p99:.2f} ms,"
            f" max {ascending[-1]:.2f} ms; {self.early} answered before the end",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--kafka", action="store_true", help="Apache Kafka as well")
    options = parser.parse_args()
    overrides = {
        "transaction.state.log.num.partitions": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
    }
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="barnabas-bench-")))
        ours = stack.enter_context(BarnabasBroker(folder / "ours", overrides=overrides))
        runs = [Run("Barnabas", ours.port)]
        if options.kafka:
            theirs = stack.enter_context(KafkaBroker(folder / "theirs", overrides=overrides))
            runs.append(Run("Apache Kafka", int(theirs.bootstrap.rpartition(":")[2])))
        for _ in range(TURNS):
            for run in runs:
                for _ in range(options.rounds // TURNS):
                    run.round()
        for run in runs:
            run.tell()


if __name__ == "__main__":
    main()
