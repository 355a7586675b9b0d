"""Produce, right and wrong; each version has a topic of its own so that one difference stays one."""

# ruff: noqa: B023 - the short ways to ask are used up within their turn of the loop

from barnabas.protocol import messages as m
from barnabas.protocol.compression import Codec
from tests.interop.first_slice.asker import UNKNOWN_ID, Asker
from tests.interop.first_slice.requests import (
    batch,
    codec_versions,
    fetch,
    part,
    produce,
    sealed,
    sequenced,
    versions,
)

FAR_MS = 1 << 50
INT32_MAX = 2**31 - 1


def records_right_and_wrong(asker: Asker) -> None:
    """What a partition takes and what it refuses; read back at the end."""
    for version in versions(0):
        name = f"produce-{version}"
        topic_id = asker.make_topic(name, 2)

        def put(situation: str, *parts: tuple[int, bytes | None], acks: int = -1) -> None:
            asker.ask(situation, version, produce(version, name, topic_id, *parts, acks=acks))

        for codec in codec_versions(version):
            put(codec.name.lower(), (0, batch(codec=codec)))
        if version < 7:
            put("zstd too early", (0, batch(codec=Codec.ZSTD)))
        put("acks 1", (0, batch()), acks=1)
        put("acks 2", (0, batch()), acks=2)
        put("acks -2", (0, batch()), acks=-2)
        put("two partitions", (0, batch()), (1, batch()))
        put("one of two fails", (0, batch()), (9, batch()))
        put("no such partition", (9, batch()))
        put("negative partition", (-1, batch()))
        put("empty records", (0, b""))
        put("few bytes", (0, b"\0" * 5))
        put("cut header", (0, batch()[:40]))
        put("cut batch", (0, batch()[:-1]))
        put("two batches", (0, batch() + batch()))
        put("a batch and a cut one", (0, batch() + batch()[:-3]))
        put("a batch and few bytes", (0, batch() + b"\0\0\0"))
        damaged = bytearray(batch())
        damaged[-1] ^= 1
        put("wrong checksum", (0, bytes(damaged)))
        put("magic 3", (0, _with_magic(batch(), 3)))
        put("magic 1", (0, _with_magic(batch(), 1)))
        put("magic 0", (0, _with_magic(batch(), 0)))
        put("negative magic", (0, _with_magic(batch(), 255)))
        put("batch length 0", (0, batch()[:8] + bytes(4) + batch()[12:]))
        put("negative batch length", (0, batch()[:8] + b"\xff\xff\xff\xff" + batch()[12:]))
        put("batch length 20", (0, batch()[:8] + (20).to_bytes(4, "big") + batch()[12:]))
        put("base offset 5", (0, sealed(batch(), base_offset=5)))
        put("wrong last offset delta", (0, sealed(batch(), last_offset_delta=7)))
        put("negative last offset delta", (0, sealed(batch(), last_offset_delta=-1)))
        put("count 0", (0, sealed(batch(), records_count=0)))
        put("count -1", (0, sealed(batch(), records_count=-1)))
        put("one more than there are", (0, sealed(batch(), records_count=4, last_offset_delta=3)))
        put("one less than there are", (0, sealed(batch(), records_count=2, last_offset_delta=1)))
        put("no records at all", (0, _no_records()))
        put("unknown codec", (0, sealed(batch(), attributes=5)))
        put("codec 7", (0, sealed(batch(), attributes=7)))
        for codec in (Codec.GZIP, Codec.SNAPPY, Codec.LZ4, *([Codec.ZSTD] if version >= 7 else [])):
            put(f"not {codec.name.lower()}", (0, sealed(batch(), attributes=codec)))
        put("control batch", (0, batch(is_control=True, producer_id=9, producer_epoch=0, base_sequence=0)))
        put("control batch, no producer", (0, sealed(batch(), attributes=32)))
        put("unused attribute bits", (0, sealed(batch(), attributes=0x7F80 & ~0x3F)))
        put("lying max timestamp", (0, sealed(batch(), max_timestamp=5)))
        put("far timestamp", (0, batch(timestamp=FAR_MS)))
        put("second record far", (0, batch([b"x", b"y"], step_ms=FAR_MS)))
        put("timestamp -1", (0, batch(timestamp=-1, step_ms=0)))
        put("timestamp -5", (0, batch(timestamp=-5, step_ms=0)))
        put("leader epoch set", (0, sealed(batch(), partition_leader_epoch=44)))
        put("largest batch", (0, batch([bytes(1_048_400)])))
        put("oversize batch", (0, batch([bytes(1_048_588)])))
        put("oversize when decompressed", (0, batch([bytes(3_000_000)], codec=Codec.GZIP)))
        put("no partition")
        asker.ask("no topic", version, m.ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[]))
        asker.ask("unknown topic", version, produce(version, "nowhere", UNKNOWN_ID, (0, batch())))
        if version >= 13:
            asker.ask("id 0", version, produce(version, "", bytes(16), (0, batch())))
        both = produce(version, name, topic_id, (0, batch()))
        both.topic_data += produce(version, "nowhere", UNKNOWN_ID, (0, batch()), (1, batch())).topic_data
        both.topic_data += produce(version, name, topic_id, (1, batch())).topic_data
        asker.ask("unknown topic between", version, both)
        named = produce(version, name, topic_id, (0, batch()))
        named.transactional_id = "t"
        asker.ask("transactional id, plain batch", version, named)
        asker.ask("read back", 12, fetch(12, (name, topic_id, [part(0, 0, 1 << 26)]), max_bytes=1 << 26))


def acks_0(asker: Asker) -> None:
    """No answer, and a closed connection after an error."""
    for version in versions(0):
        name = f"acks-0-{version}"
        topic_id = asker.make_topic(name)
        asker.tell("acks 0", version, produce(version, name, topic_id, (0, batch()), acks=0))
        wrong = produce(version, name, topic_id, (0, sealed(batch(), crc=1)), acks=0)
        asker.tell("acks 0, wrong checksum", version, wrong)
        asker.tell(
            "acks 0, no such partition", version, produce(version, name, topic_id, (5, batch()), acks=0)
        )
        asker.tell("acks 0, no topic", version, m.ProduceRequest(acks=0, timeout_ms=1000, topic_data=[]))
        unknown = produce(version, "nowhere", UNKNOWN_ID, (0, batch()), acks=0)
        asker.tell("acks 0, unknown topic", version, unknown)
        asker.ask("acks 0, read back", 12, fetch(12, (name, topic_id, [part(0, 0)])))


def sequences(asker: Asker) -> None:
    """What idempotence accepts, repeats and refuses (P4)."""
    for version in (3, 8, 12, 13):
        name = f"sequences-{version}"
        topic_id = asker.make_topic(name, 5)

        def put(situation: str, partition: int, *fields: int) -> None:
            request = produce(version, name, topic_id, (partition, sequenced(*fields)))
            asker.ask(situation, version, request)

        put("first", 0, 1000, 0, 0, 2)
        put("again", 0, 1000, 0, 0, 2)
        put("next", 0, 1000, 0, 2, 3)
        put("gap", 0, 1000, 0, 9)
        put("overlap", 0, 1000, 0, 1, 2)
        put("first again after a next", 0, 1000, 0, 0, 2)
        for number in range(5):
            put(f"batch {number}", 0, 1000, 0, 5 + number)
        put("older than the last five", 0, 1000, 0, 0, 2)
        put("oldest of the last five", 0, 1000, 0, 5)
        put("same start, other length", 0, 1000, 0, 9, 3)
        put("new epoch, sequence 3", 0, 1000, 1, 3)
        put("new epoch", 0, 1000, 1, 0)
        put("old epoch", 0, 1000, 0, 10)
        put("new epoch again", 0, 1000, 1, 0)
        put("unknown producer, sequence 7", 1, 2000, 0, 7)
        put("next of it", 1, 2000, 0, 8)
        put("unknown producer, epoch 5", 1, 3000, 5, 0)
        put("its older epoch", 1, 3000, 4, 0)
        put("near the end", 2, 4000, 0, INT32_MAX - 1, 2)
        put("wraps", 2, 4000, 0, 0)
        put("over the end", 3, 4001, 0, INT32_MAX - 1, 4)
        put("behind the end", 3, 4001, 0, 2)
        put("producer without sequence", 4, 5000, 0, -1)
        put("no epoch", 4, 5001, -1, 0)
        put("no producer but a sequence", 4, -1, 0, 0)
        put("producer id -2", 4, -2, 0, 0)
        asker.ask(
            "transactional batch without transaction",
            version,
            produce(version, name, topic_id, (4, sequenced(7000, 0, 0, is_transactional=True))),
        )
        beside = produce(
            version, name, topic_id, (3, batch()), (4, sequenced(7000, 0, 0, is_transactional=True))
        )
        asker.ask("transactional batch beside a plain one", version, beside)
        for partition in range(5):
            asker.ask(f"read back {partition}", 12, fetch(12, (name, topic_id, [part(partition, 0)])))


def topic_configs(asker: Asker) -> None:
    """Topics that ask more of records than others."""
    compacted = asker.make_topic("compacted", cleanup_policy="compact")
    appended = asker.make_topic("append-time", message_timestamp_type="LogAppendTime")
    bounded = asker.make_topic(
        "bounded", message_timestamp_before_max_ms="1000", message_timestamp_after_max_ms="1000"
    )
    small = asker.make_topic("small", max_message_bytes="200")
    gzip = asker.make_topic("gzip", compression_type="gzip")
    zstd = asker.make_topic("zstd", compression_type="zstd")
    plain = asker.make_topic("plain", compression_type="uncompressed")
    rolling = asker.make_topic("rolling", segment_bytes="1048576")
    for version in versions(0):

        def put(situation: str, name: str, topic_id: bytes, data: bytes) -> None:
            asker.ask(situation, version, produce(version, name, topic_id, (0, data)))

        put("compacted without key", "compacted", compacted, batch(key=None))
        put("compacted with keys", "compacted", compacted, batch())
        put("compacted without key, gzip", "compacted", compacted, batch(key=None, codec=Codec.GZIP))
        put("compacted, empty key", "compacted", compacted, batch(key=b""))
        put("append time", "append-time", appended, batch(codec=Codec.LZ4))
        put("append time, far timestamp", "append-time", appended, batch(timestamp=FAR_MS))
        put("append time, bit set", "append-time", appended, sealed(batch(), attributes=8))
        put("too old", "bounded", bounded, batch())
        put("too new", "bounded", bounded, batch(timestamp=FAR_MS))
        put("too old for max.message.bytes", "small", small, batch([bytes(200)]))
        put("compressible but small enough", "small", small, batch([bytes(300)], codec=Codec.GZIP))
        put("to gzip", "gzip", gzip, batch([bytes(300)]))
        put("to gzip from lz4", "gzip", gzip, batch([bytes(300)], codec=Codec.LZ4))
        put("to zstd", "zstd", zstd, batch([bytes(300)]))
        put("to plain", "plain", plain, batch([bytes(300)], codec=Codec.SNAPPY))
        put("large enough to roll", "rolling", rolling, batch([bytes(600_000)]))
    for version in versions(1):
        for offset in (0, 1, 10_000):
            asker.ask(f"zstd topic at {offset}", version, fetch(version, ("zstd", zstd, [part(0, offset)])))
        asker.ask("behind a roll", version, fetch(version, ("rolling", rolling, [part(0, 4, 10)])))
    asker.ask("plain again", 12, fetch(12, ("plain", plain, [part(0, 0)])))
    asker.ask("read back compacted", 12, fetch(12, ("compacted", compacted, [part(0, 0)])))


def _no_records() -> bytes:
    return sealed(batch([b"x"])[:61], records_count=0, last_offset_delta=0, batch_length=49)


def refused_by_one(asker: Asker) -> None:
    """What the two brokers do not agree on, each in a partition of its own."""
    for version in (3, 8, 13):
        name = f"disagreed-{version}"
        topic_id = asker.make_topic(name, 2)
        marked = produce(version, name, topic_id, (0, sealed(batch(), attributes=8)))
        asker.ask("log append time bit", version, marked)
        twice = produce(version, name, topic_id, (1, batch([b"first"])), (1, batch([b"second"])))
        asker.ask("partition twice", version, twice)


def _with_magic(data: bytes, magic: int) -> bytes:
    return data[:16] + bytes((magic,)) + data[17:]


SITUATIONS = (records_right_and_wrong, acks_0, sequences, topic_configs, refused_by_one)
