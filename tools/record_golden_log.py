"""Write tests/golden/log anew with a real Apache Kafka: `python -m tools.record_golden_log` (needs Java).

Produces a mixed sequence of batches to one partition with small segments and a dense index: plain and
idempotent producers, timestamps that jump back and ahead, transactions committed and aborted, batches larger
than the index interval. Stops the broker cleanly and keeps the partition's directory as it lies there.
`tests/golden/test_log.py` appends the same batches to our log and compares every file.
"""

import random
import shutil
import socket
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from barnabas.protocol import messages  # noqa: E402
from barnabas.protocol.frames import decode_response_header, encode_request_header  # noqa: E402
from barnabas.protocol.record_batch_builder import BatchBuilder  # noqa: E402
from tests.oracle.kafka import KafkaBroker, running  # noqa: E402
from tests.oracle.kafka_tools import TOPICS, run_tool  # noqa: E402

TOPIC = "golden"
CONFIGS = {
    "internal.segment.bytes": "4096",
    "index.interval.bytes": "300",
    "segment.ms": "600000",
    "retention.ms": "-1",
    "file.delete.delay.ms": "60000",
}
FIRST_TIMESTAMP = 1_700_000_000_000


class Connection:
    """Sends the versions it is told to: newer versions of Produce begin transactions themselves."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=30)

    def call(self, request: Any, api_key: int, version: int) -> Any:
        frame = encode_request_header(api_key, version, 1, "golden") + request.encode(version)
        self._socket.sendall(len(frame).to_bytes(4, "big") + frame)
        length = int.from_bytes(self._receive(4), "big")
        answer = memoryview(self._receive(length))
        _, body = decode_response_header(answer, api_key, version)
        return messages.BY_KEY[api_key].response.decode(answer[body:], version)

    def _receive(self, length: int) -> bytes:
        got = b""
        while len(got) < length:
            piece = self._socket.recv(length - len(got))
            assert piece, "the broker closed the connection"
            got += piece
        return got


def produce(connection: Connection, batch: bytes, transactional_id: str | None = None) -> None:
    partition = messages.ProduceRequestPartitionProduceData(index=0, records=batch)
    topic = messages.ProduceRequestTopicProduceData(name=TOPIC, partition_data=[partition])
    request = messages.ProduceRequest(
        transactional_id=transactional_id, acks=-1, timeout_ms=10_000, topic_data=[topic]
    )
    answer = connection.call(request, 0, 9)
    code = answer.responses[0].partition_responses[0].error_code
    assert code == 0, f"produce was refused with {code}"


def end_transaction(connection: Connection, producer_id: int, commit: bool) -> None:
    topic = messages.WriteTxnMarkersRequestWritableTxnMarkerTopic(name=TOPIC, partition_indexes=[0])
    marker = messages.WriteTxnMarkersRequestWritableTxnMarker(
        producer_id=producer_id,
        producer_epoch=0,
        transaction_result=commit,
        topics=[topic],
        coordinator_epoch=3,
    )
    answer = connection.call(messages.WriteTxnMarkersRequest(markers=[marker]), 27, 1)
    code = answer.markers[0].topics[0].partitions[0].error_code
    assert code == 0, f"the marker was refused with {code}"


def send_everything(connection: Connection) -> None:
    random_source = random.Random(20)
    sequences = {7: 0, 9: 0, 11: 0, 13: 0}
    timestamp = FIRST_TIMESTAMP
    for number in range(120):
        timestamp += random_source.choice((-50, 0, 1, 40, 40, 900))
        if number == 70:
            timestamp += 700_000  # older than segment.ms: rolls by record time
        producer_id = random_source.choice((-1, -1, 7, 9, 11, 13))
        transactional = producer_id in (11, 13)
        options = {}
        if producer_id >= 0:
            options = {
                "producer_id": producer_id,
                "producer_epoch": 0,
                "base_sequence": sequences[producer_id],
                "is_transactional": transactional,
            }
        builder = BatchBuilder(**options)
        records = random_source.randrange(1, 4)
        for record in range(records):
            value = bytes(random_source.randrange(60))
            builder.append(timestamp=timestamp + record % 2, key=b"k%d" % number, value=value)
        if number % 29 == 28:
            builder.append(timestamp=timestamp, key=None, value=bytes(800))
            records += 1
        if producer_id >= 0:
            sequences[producer_id] += records
        produce(connection, builder.build(), f"transaction-{producer_id}" if transactional else None)
        if transactional and random_source.randrange(3) == 0:
            end_transaction(connection, producer_id, commit=random_source.randrange(2) == 0)


def main() -> None:
    target = ROOT / "tests" / "golden" / "log"
    with tempfile.TemporaryDirectory() as folder:
        overrides = {"transaction.partition.verification.enable": "false"}
        with running(Path(folder) / "kafka", overrides=overrides) as broker:
            create_topic(broker)
            send_everything(Connection(broker.port))
            time.sleep(1)
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(broker.data_dir / f"{TOPIC}-0", target)
    for path in sorted(target.iterdir()):
        print(f"{path.stat().st_size:7} {path.name}")


def create_topic(broker: KafkaBroker) -> None:
    configs = [argument for name, value in CONFIGS.items() for argument in ("--config", f"{name}={value}")]
    done = run_tool(TOPICS, "--bootstrap-server", broker.bootstrap, "--create", "--topic", TOPIC, *configs)
    assert done.returncode == 0, done.stdout + done.stderr


if __name__ == "__main__":
    main()
