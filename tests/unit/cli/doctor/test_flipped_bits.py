"""Wherever one bit flips in a log's files, the doctor names it, and no wrong record is served.

One log has everything: codecs, transactions, several segments and leader epochs. Each case flips one bit of a
copy, chosen by seed from a class of bytes: each field of a batch's header, its records, each kind of index,
snapshots, the small files. Then
- the doctor must find something that is more than a note;
- a recovery that checks everything must cut or mend what the CRC covers: what is left is what was written;
- what a fetch gives with fetch.verify.crc on must be what was written, or an error.
"""

import random
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.cli.doctor.findings import Fix, Severity
from barnabas.cli.doctor.partition import PartitionQuestion, examine_partition
from barnabas.protocol.compression import Codec
from barnabas.protocol.record_batch import iter_batches, parse_records
from barnabas.replica.fetch import FetchIsolation, FetchParams, FetchPartition, FetchPartitionResult
from barnabas.replica.fetch_verifier import FetchVerifier
from barnabas.sim.clock import ManualClock
from barnabas.sim.disk import MemoryDisk
from barnabas.storage.loading.segment_check import UnsupportedLogError
from barnabas.storage.log import Log
from barnabas.storage.log_config import LogConfig
from barnabas.storage.producer_state.states import AppendOrigin
from tests.storage_setup import FIRST_TIMESTAMP, TOPIC_ID, LogHarness, batch, marker

FIELDS = {
    "base offset": (0, 8),
    "length": (8, 12),
    "leader epoch": (12, 16),
    "magic": (16, 17),
    "crc": (17, 21),
    "attributes": (21, 23),
    "last offset delta": (23, 27),
    "base timestamp": (27, 35),
    "max timestamp": (35, 43),
    "producer id": (43, 51),
    "producer epoch": (51, 53),
    "base sequence": (53, 57),
    "records count": (57, 61),
    "records": (61, None),
}
NOT_COVERED = ("base offset", "leader epoch")
"""A recovery cannot always tell: the doctor, who looks at what follows, can."""
FILES = (".index", ".timeindex", ".txnindex", ".snapshot", "leader-epoch-checkpoint", "partition.metadata")
CLASSES = (*FIELDS, *FILES)
CONFIG = LogConfig(segment_bytes=6000, index_interval_bytes=300, retention_ms=-1)
CASES = 120
CASES_SLOW = 2000
SEED = 20_261_130

Files = dict[str, bytes]
Records = dict[int, tuple[int, bytes | None, bytes | None]]


def make_log() -> tuple[Files, Records, int]:
    """Return the files of a cleanly closed log, its records by offset, and its end."""
    harness = LogHarness(config=CONFIG)
    source = random.Random(7)
    log = harness.open(topic_id=TOPIC_ID)
    sequences = {5: 0, 6: 0}
    for number in range(130):
        count = source.randrange(1, 5)
        options: dict[str, Any] = {"codec": source.choice(list(Codec))}
        if number % 3 == 0:
            producer = source.choice((5, 6))
            options |= {
                "producer_id": producer,
                "producer_epoch": 0,
                "base_sequence": sequences[producer],
                "is_transactional": True,
            }
            sequences[producer] += count
        timestamp = FIRST_TIMESTAMP + source.randrange(5000)
        made = batch(count, timestamp=timestamp, value_bytes=source.randrange(100), **options)
        log.append([made], leader_epoch=number // 50)
        if number % 9 == 0:
            commit = bool(number % 2)
            log.append([marker(5, commit=commit)], leader_epoch=number // 50, origin=AppendOrigin.COORDINATOR)
    log.close()
    files = {name: harness.content(name) for name in harness.names()}
    records = read_all(harness.open(clean=True), verified=False)
    assert max(records) == log.log_end_offset - 1
    return files, records, log.log_end_offset


def disk_with(files: Files) -> MemoryDisk:
    disk = MemoryDisk(ManualClock(FIRST_TIMESTAMP))
    disk.make_dirs("/data/t-0")
    for name, content in files.items():
        file = disk.open(f"/data/t-0/{name}", create=True)
        file.write_at(0, [content])
        file.close()
    return disk


def question(end: int) -> PartitionQuestion:
    return PartitionQuestion(
        path="/data/t-0", topic="t", partition=0, clean=True, recovery_point=end, topic_id=TOPIC_ID
    )


def read_all(log: Log, *, verified: bool, end: int = 2**62) -> Records:
    """Return what a consumer gets that asks from every offset it comes to, and steps over what is refused.

    Args:
        end: where it gives up; a flipped base offset may make a log's end whatever it likes.
    """
    verifier = FetchVerifier()
    params = FetchParams(0, 1, 2**20, FetchIsolation.LOG_END)
    partition: Any = SimpleNamespace(log=log)
    got: Records = {}
    offset = log.log_start_offset
    while offset < min(log.log_end_offset, end):
        request = FetchPartition("t", bytes(16), 0, offset, 3000)

        def read(offset: int = offset) -> FetchPartitionResult:
            data = log.read(offset, log.log_end_offset_metadata, 3000, min_one_message=True)
            return FetchPartitionResult(
                ErrorCode.NONE, offset_metadata=data.offset_metadata, records=data.records
            )

        try:
            params.checked = None
            result = read()
            if verified and result.records is not None:
                result = verifier.verified(partition, request, params, result, read)
        except ApiError as error:
            result = FetchPartitionResult(error.code)
        if result.records is None:
            offset += 1
            continue
        content = result.records.read()
        result.records.release()
        before = offset
        for position, header in iter_batches(content, allow_partial_tail=True):
            for record in parse_records(content, position, header):
                if record.offset >= before:
                    got[record.offset] = (record.timestamp, record.key, record.value)
            offset = max(offset, header.next_offset)
        if offset == before:
            offset += 1
    return got


def flips(files: Files, seed: int, cases: int) -> Iterator[tuple[str, str, int, int]]:
    """Yield (class, file, byte, bit): as many of each class, more or less."""
    source = random.Random(seed)
    logs = [name for name in files if name.endswith(".log") and files[name]]
    for number in range(cases):
        kind = CLASSES[number % len(CLASSES)]
        if kind in FIELDS:
            name = source.choice(logs)
            position, header = source.choice(list(iter_batches(files[name])))
            start, end = FIELDS[kind]
            byte = position + source.randrange(start, end or header.size_bytes)
        else:
            name = source.choice([name for name in files if name.endswith(kind) and files[name]])
            byte = source.randrange(len(files[name]))
        yield kind, name, byte, source.randrange(8)


@pytest.fixture(scope="module")
def sound() -> tuple[Files, Records, int]:
    return make_log()


def test_a_sound_log_has_no_findings(sound: tuple[Files, Records, int]) -> None:
    files, records, end = sound
    report = examine_partition(disk_with(files), question(end))
    assert report.findings == []
    assert (report.log_end_offset, report.segments) == (end, sum(name.endswith(".log") for name in files))
    assert read_all(LogHarness(disk_with(files), config=CONFIG).open(clean=True), verified=True) == records


@pytest.mark.timeout(900)
def test_every_flipped_bit_is_found_and_none_is_served(sound: tuple[Files, Records, int], slow: bool) -> None:
    files, records, end = sound
    restored = 0
    for kind, name, byte, bit in flips(files, SEED, CASES_SLOW if slow else CASES):
        content = bytearray(files[name])
        content[byte] ^= 1 << bit
        damaged = files | {name: bytes(content)}
        where = f"{kind}: bit {bit} of byte {byte} of {name}"

        report = examine_partition(disk_with(damaged), question(end))
        real = [finding for finding in report.findings if finding.severity is not Severity.NOTE]
        assert real, where
        of_batches = [finding for finding in real if finding.file.endswith(".log")]
        if kind in FIELDS:
            assert of_batches, where
            restored += all(finding.fix is Fix.RESTORE for finding in of_batches)

        try:
            log = LogHarness(disk_with(damaged), config=CONFIG).open(clean=True)
        except UnsupportedLogError:
            continue  # it is not served at all
        if kind not in NOT_COVERED:
            recovered = LogHarness(disk_with(damaged), config=CONFIG).open(recovery_point=0)
            left = read_all(recovered, verified=False)
            assert all(records.get(offset) == record for offset, record in left.items()), where

        served = read_all(log, verified=True, end=end + 3)
        wrong = {offset for offset, record in served.items() if records.get(offset) != record}
        assert not wrong, f"{where}: {sorted(wrong)}"
    assert restored, "no flipped bit of a batch could be put back"
