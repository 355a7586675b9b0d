"""The logs that both brokers serve: written by Apache Kafka itself, then started on by either.

Transactions, several leader epochs, compaction and a moved log start are only there when a broker that has
all of them wrote the directory. Writing it anew in each broker was rejected: what Barnabas cannot write yet
could not be read, and a difference in writing would pass for one in reading.

    plain       0: six batches of 1 to 6 records; 1: three; 2: two of 4,000 bytes; 3: none
    second      0, 1: one batch each
    third       0: one batch
    wide        0..7: one batch each
    big         0: a batch of 6,000 bytes, then three small ones
    segments    0: four segments of five batches
    stamped     0: times of the broker's own
    squeezed    0: a batch of every codec
    zstd        0: a topic stored as zstd
    compacted   0: rewritten by the cleaner: offsets are missing, a tombstone is left
    trimmed     0: log start inside a batch; 1: at a batch's first record; 2: at the end
    epochs      0: batches of three leader epochs; 1: of the last alone; 2: none
    txn         0: committed, aborted and plain batches mixed; 1: aborted ones over many index entries
    open        0: a transaction that is never ended, others around it; 1: nothing else
"""

import tarfile
import time
from collections.abc import Iterable
from pathlib import Path

from barnabas.protocol import messages as m
from barnabas.protocol.compression import Codec
from tests.interop.first_slice.asker import Asker
from tests.interop.first_slice.requests import TIMESTAMP_MS, batch, produce
from tests.oracle.kafka import KafkaBroker

ARCHIVE = Path(__file__).parents[2] / "golden" / "fetch_logs.tar.gz"

NODE_ID = 1
NOW_EPOCH = 6
"""Leader epoch of every partition of the first start once a broker has started on the logs."""
HOUR_MS = 3_600_000
FOREVER = str(2**63 - 1)
KEEP = {"retention_ms": "-1", "segment_ms": FOREVER}
CLEANING_TIMEOUT_S = 60

WRITER_OVERRIDES = {
    "log.cleaner.backoff.ms": "200",
    "transaction.partition.verification.enable": "false",
}
"""Markers are written here without a coordinator, whose timer would end what is to stay open."""


def write_logs(directory: Path, archive: Path = ARCHIVE) -> None:
    """Let a fresh Apache Kafka write all logs over three starts, and pack its directory."""
    broker = KafkaBroker(directory, overrides=WRITER_OVERRIDES)
    for write in (_first_start, _second_start, _third_start):
        with broker:
            asker = Asker(broker.port)
            for name, partitions in () if write is _first_start else (("epochs", 3),):
                asker.wait_for_leaders(name, partitions)
            write(Writer(asker))
            asker.close()
            if write is _first_start:
                _wait_for_cleaner(broker.data_dir)
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(broker.data_dir, arcname="data")


def unpack_logs(directory: Path, archive: Path = ARCHIVE) -> Path:
    """Return a data directory of one's own that holds the logs."""
    with tarfile.open(archive) as tar:
        tar.extractall(directory, filter="data")
    return directory / "data"


class Writer:
    """Appends by the topic's name."""

    def __init__(self, asker: Asker) -> None:
        self.asker = asker

    def topic(self, name: str, partitions: int = 1, **configs: str) -> None:
        self.asker.make_topic(name, partitions, **KEEP | configs)

    def append(self, topic: str, partition: int, *batches: bytes) -> None:
        """Append each batch with a request of its own."""
        for data in batches:
            # Version 12 would add the partition to a transaction that no coordinator knows of.
            request = produce(11, topic, b"", (partition, data))
            request.transactional_id = "any"
            answer = self.asker.exchange(11, request)
            assert isinstance(answer, m.ProduceResponse)
            assert answer.responses[0].partition_responses[0].error_code == 0, answer

    def end(self, topic: str, partition: int, producer_id: int, *, commit: bool) -> None:
        """Append a transaction's marker, as its coordinator would."""
        marker = m.WriteTxnMarkersRequestWritableTxnMarker(
            producer_id=producer_id,
            producer_epoch=0,
            transaction_result=commit,
            topics=[
                m.WriteTxnMarkersRequestWritableTxnMarkerTopic(name=topic, partition_indexes=[partition])
            ],
            coordinator_epoch=0,
        )
        answer = self.asker.exchange(1, m.WriteTxnMarkersRequest(markers=[marker]))
        assert isinstance(answer, m.WriteTxnMarkersResponse)
        assert answer.markers[0].topics[0].partitions[0].error_code == 0, answer

    def delete_before(self, topic: str, partition: int, offset: int) -> None:
        part = m.DeleteRecordsRequestDeleteRecordsPartition(partition_index=partition, offset=offset)
        asked = m.DeleteRecordsRequestDeleteRecordsTopic(name=topic, partitions=[part])
        answer = self.asker.exchange(2, m.DeleteRecordsRequest(topics=[asked], timeout_ms=10_000))
        assert isinstance(answer, m.DeleteRecordsResponse)
        assert answer.topics[0].partitions[0].error_code == 0, answer


def _values(count: int, size: int = 10) -> Iterable[bytes]:
    return (bytes([97 + number % 26]) * size for number in range(count))


class Transactions:
    """Batches of transactional producers with the right sequences."""

    def __init__(self, writer: Writer, topic: str, partition: int) -> None:
        self.writer, self.topic, self.partition = writer, topic, partition
        self.sequences: dict[int, int] = {}

    def write(self, producer_id: int, count: int = 2, size: int = 10) -> None:
        """Append one batch to the producer's transaction."""
        sequence = self.sequences.get(producer_id, 0)
        self.sequences[producer_id] = sequence + count
        data = batch(
            _values(count, size),
            producer_id=producer_id,
            producer_epoch=0,
            base_sequence=sequence,
            is_transactional=True,
        )
        self.writer.append(self.topic, self.partition, data)

    def plain(self, count: int = 1) -> None:
        """Append a batch of no transaction."""
        self.writer.append(self.topic, self.partition, batch(_values(count)))

    def commit(self, producer_id: int) -> None:
        self.writer.end(self.topic, self.partition, producer_id, commit=True)

    def abort(self, producer_id: int) -> None:
        self.writer.end(self.topic, self.partition, producer_id, commit=False)


def _first_start(writer: Writer) -> None:
    writer.topic("plain", 4)
    writer.append("plain", 0, *(batch(_values(count)) for count in range(1, 7)))
    writer.append("plain", 1, *(batch(_values(count, 30)) for count in (1, 2, 3)))
    writer.append("plain", 2, *(batch(_values(2, 2000)) for _ in range(2)))
    writer.topic("second", 2)
    writer.append("second", 0, batch(_values(3)))
    writer.append("second", 1, batch(_values(4)))
    writer.topic("third")
    writer.append("third", 0, batch(_values(5)))
    writer.topic("wide", 8)
    for partition in range(8):
        writer.append("wide", partition, batch(_values(2, 100)))
    writer.topic("big", index_interval_bytes="0")
    writer.append("big", 0, batch(_values(3, 2000)), *(batch(_values(2)) for _ in range(3)))
    writer.topic("segments", segment_ms=str(HOUR_MS), index_interval_bytes="200")
    for hour in range(0, 8, 2):
        hours = (batch(_values(2), timestamp=TIMESTAMP_MS + hour * HOUR_MS + n) for n in range(5))
        writer.append("segments", 0, *hours)
    writer.topic("stamped", message_timestamp_type="LogAppendTime")
    writer.append("stamped", 0, batch(_values(2)), batch(_values(1)))
    writer.topic("squeezed")
    writer.append("squeezed", 0, *(batch(_values(20, 50), codec=codec) for codec in Codec))
    writer.topic("zstd", compression_type="zstd")
    writer.append("zstd", 0, batch(_values(20, 50)))
    writer.topic("epochs", 3)
    writer.append("epochs", 0, *(batch(_values(2)) for _ in range(3)))
    _write_compacted(writer)
    _write_trimmed(writer)
    _write_transactions(writer)


def _write_compacted(writer: Writer) -> None:
    writer.topic(
        "compacted",
        cleanup_policy="compact",
        segment_ms=str(HOUR_MS),
        min_cleanable_dirty_ratio="0.01",
        delete_retention_ms=FOREVER,
    )
    hours = iter(range(0, 40, 2))
    for keys in ("abc", "ab", "dad", "aab", "eee", "f"):
        at = TIMESTAMP_MS + next(hours) * HOUR_MS
        for key in keys:
            data = batch(_values(2), key=key.encode(), timestamp=at)
            writer.append("compacted", 0, data)
    tombstone = batch([None], key=b"c", timestamp=TIMESTAMP_MS + next(hours) * HOUR_MS)
    last = batch(_values(1), key=b"g", timestamp=TIMESTAMP_MS + next(hours) * HOUR_MS)
    writer.append("compacted", 0, tombstone, last)


def _write_trimmed(writer: Writer) -> None:
    writer.topic("trimmed", 3)
    for partition in range(3):
        writer.append("trimmed", partition, *(batch(_values(3)) for _ in range(3)))
    writer.delete_before("trimmed", 0, 4)
    writer.delete_before("trimmed", 1, 6)
    writer.delete_before("trimmed", 2, 9)


def _write_transactions(writer: Writer) -> None:
    writer.topic("txn", 2, index_interval_bytes="300")
    mixed = Transactions(writer, "txn", 0)
    mixed.plain()
    mixed.write(9001)
    mixed.abort(9001)
    mixed.write(9002)
    mixed.write(9001)
    mixed.plain(2)
    mixed.commit(9002)
    mixed.abort(9001)
    mixed.write(9003, 1)
    mixed.write(9003, 3)
    mixed.commit(9003)
    mixed.plain()
    many = Transactions(writer, "txn", 1)
    for number in range(12):
        many.write(9010 + number % 3, 2, 40)
        many.write(9010 + number % 3, 1, 40)
        many.abort(9010 + number % 3)
    writer.topic("open", 2)
    opened = Transactions(writer, "open", 0)
    opened.plain(2)
    opened.write(9020)
    opened.abort(9020)
    opened.write(9021)
    opened.write(9022)
    opened.abort(9022)
    opened.plain(3)
    Transactions(writer, "open", 1).write(9023, 3)


def _second_start(writer: Writer) -> None:
    writer.append("epochs", 0, *(batch(_values(3)) for _ in range(2)))


def _third_start(writer: Writer) -> None:
    writer.append("epochs", 0, batch(_values(4)))
    writer.append("epochs", 1, batch(_values(4)))


def _wait_for_cleaner(data_dir: Path) -> None:
    """Return when all but the active segment are cleaned: the checkpoint says up to where."""
    segments = sorted((data_dir / "compacted-0").glob("*.log"))
    wanted = int(segments[-1].stem)
    deadline = time.monotonic() + CLEANING_TIMEOUT_S
    while f"compacted 0 {wanted}" not in (data_dir / "cleaner-offset-checkpoint").read_text():
        assert time.monotonic() < deadline, "the cleaner does not get there"
        time.sleep(0.1)
