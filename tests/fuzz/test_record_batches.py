"""Hostile batches, and the same batches through the parsers of kafka-python and aiokafka."""

import random
import tracemalloc

import pytest
from aiokafka.record.default_records import DefaultRecordBatch as AiokafkaBatch
from kafka.record.default_records import DefaultRecordBatch as KafkaPythonBatch

from barnabas.base.errors import ApiError, DecodeError
from barnabas.protocol.checksum import crc32c
from barnabas.protocol.compression import Codec
from barnabas.protocol.record_batch import crc_matches, iter_batches, parse_header, parse_records
from barnabas.storage.batch_validation import ValidationRules, validate_produced_records
from tests.batch_records import build, golden_records, random_records

SEED = 20261130
ROUNDS = 300
BOUND = 1 << 20
RULES = ValidationRules(is_compacted=True)


def with_right_crc(batch: bytearray) -> bytes:
    batch[17:21] = crc32c(memoryview(batch)[21:], 0).to_bytes(4, "big")
    return bytes(batch)


@pytest.mark.parametrize("codec", list(Codec))
def test_mutated_batches_give_a_declared_error_or_records(codec: Codec) -> None:
    draw = random.Random(SEED)
    original = build(random_records(SEED, 40, header_count=1), codec)
    accepted = 0
    tracemalloc.start()
    try:
        for _ in range(ROUNDS):
            batch = bytearray(original)
            for _ in range(draw.randint(1, 3)):
                batch[draw.randrange(12, len(batch))] = draw.randrange(256)
            mutated = with_right_crc(batch)
            try:
                parse_records(mutated, 0, parse_header(mutated), decompressed_bytes_max=BOUND)
            except DecodeError:
                readable = False
            else:
                readable = True
            try:
                validate_produced_records(
                    mutated, RULES, api_version=9, now_ms=1 << 45, decompressed_bytes_max=BOUND
                )
            except ApiError:
                continue
            assert readable, f"validated, but not readable: {mutated.hex()} (seed {SEED})"
            accepted += 1
        # The bound on what a stream unpacks to, and the objects of one batch.
        assert tracemalloc.get_traced_memory()[1] < 2 * BOUND
    finally:
        tracemalloc.stop()
    assert accepted < ROUNDS


def test_random_bytes_give_a_declared_error() -> None:
    draw = random.Random(SEED)
    for _ in range(ROUNDS):
        data = draw.randbytes(draw.randrange(200))
        with pytest.raises(DecodeError):
            list(iter_batches(data + bytes(8)))
        with pytest.raises(ApiError):
            validate_produced_records(data, RULES, api_version=9, now_ms=0)


@pytest.mark.parametrize("foreign", [KafkaPythonBatch, AiokafkaBatch])
@pytest.mark.parametrize("codec", list(Codec))
def test_other_parsers_read_ours_and_see_the_same(codec: Codec, foreign: type) -> None:
    for records in (golden_records(), random_records(SEED, 300), random_records(SEED, 300, header_count=2)):
        batch = foreign(build(records, codec, producer_id=9, producer_epoch=2, base_sequence=3))
        assert batch.validate_crc()
        seen = [(r.offset, r.timestamp, r.key, r.value, list(r.headers)) for r in batch]
        assert seen == [(r.offset, r.timestamp, r.key, r.value, list(r.headers)) for r in records]


@pytest.mark.parametrize("codec", list(Codec))
def test_we_read_theirs(codec: Codec) -> None:
    from aiokafka.record.default_records import DefaultRecordBatchBuilder as AiokafkaBuilder
    from kafka.record.default_records import DefaultRecordBatchBuilder as KafkaPythonBuilder

    records = golden_records()
    for builder_type in (AiokafkaBuilder, KafkaPythonBuilder):
        builder = builder_type(
            magic=2,
            compression_type=int(codec),
            is_transactional=0,
            producer_id=-1,
            producer_epoch=-1,
            base_sequence=-1,
            batch_size=1 << 20,
        )
        for r in records:
            builder.append(r.offset, r.timestamp, r.key, r.value, [(k, v) for k, v in r.headers])
        batch = bytes(builder.build())
        header = parse_header(batch)
        assert crc_matches(batch, 0, header)
        assert parse_records(batch, 0, header) == records
        if codec is Codec.NONE:
            assert batch[21:] == build(records)[21:]
