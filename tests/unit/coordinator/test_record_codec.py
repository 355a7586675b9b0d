"""Coordinator records as bytes: what comes in, what is refused, and the short way for offset commits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.base.errors import DecodeError
from barnabas.coordinator.groups.record_codec import GroupRecordCodec
from barnabas.coordinator.runtime.outcome import CoordinatorRecord
from barnabas.coordinator.runtime.record_codec import RecordCodec, UnknownRecordError
from barnabas.protocol import messages

GENERATED = RecordCodec("group_records")
SHORT = GroupRecordCodec()

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
int64s = st.integers(-(2**63), 2**63 - 1)
int32s = st.integers(-(2**31), 2**31 - 1)


@given(
    group=texts,
    topic=texts,
    partition=int32s,
    offset=int64s,
    leader_epoch=int32s,
    metadata=st.one_of(texts, st.text("x", min_size=120, max_size=400)),
    timestamp=int64s,
    topic_id=st.one_of(st.just(bytes(16)), st.binary(min_size=16, max_size=16)),
)
def test_the_short_way_writes_what_the_generated_encoders_write(
    group: str, topic: str, partition: int, offset: int, leader_epoch: int, metadata: str, timestamp: int,
    topic_id: bytes,
) -> None:  # fmt: skip
    value = messages.OffsetCommitValue(
        offset=offset,
        leader_epoch=leader_epoch,
        metadata=metadata,
        commit_timestamp=timestamp,
        topic_id=topic_id,
    )
    key = messages.OffsetCommitKey(group=group, topic=topic, partition=partition)
    record = CoordinatorRecord(key, value, 4)
    encoded = SHORT.encode(record)
    assert encoded == GENERATED.encode(record)
    assert SHORT.decode(*encoded) == record
    assert GENERATED.decode(*encoded) == record


@given(st.data())
def test_the_short_way_reads_what_the_generated_decoders_read(data: st.DataObject) -> None:
    key = messages.OffsetCommitKey(group="group", topic="topic", partition=3)
    value = messages.OffsetCommitValue(
        offset=1, leader_epoch=2, metadata="metadata", commit_timestamp=4, topic_id=bytes(range(16))
    )
    both = [bytearray(part or b"") for part in GENERATED.encode(CoordinatorRecord(key, value, 4))]
    changed = data.draw(st.sampled_from(both))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(changed) - 1))
        if data.draw(st.booleans()):
            changed[place] = data.draw(st.integers(0, 255))
        else:
            changed[place:place] = data.draw(st.binary(max_size=3))
    told: list[object] = []
    for codec in (GENERATED, SHORT):
        try:
            told.append(codec.decode(bytes(both[0]), bytes(both[1])))
        except DecodeError as error:
            told.append((type(error), str(error)))
    assert told[0] == told[1]


def test_what_does_not_fit_is_refused() -> None:
    key = messages.OffsetCommitKey(group="g" * 40_000, topic="t", partition=0)
    value = messages.OffsetCommitValue(offset=1, metadata="", commit_timestamp=1)
    with pytest.raises(ValueError, match=r".*"):
        SHORT.encode(CoordinatorRecord(key, value, 4))


def test_a_tombstone_has_no_value() -> None:
    key = messages.GroupMetadataKey(group="g")
    assert SHORT.encode(CoordinatorRecord(key, None)) == (b"\x00\x02\x00\x01g", None)
    assert SHORT.decode(b"\x00\x02\x00\x01g", None) == CoordinatorRecord(key, None)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"\x00\x63\x00\x01g", b"\x00\x00"),
        (b"\xff\xff", None),
        (b"\x00\x02\x00\x01g", b"\x00\x05rest"),
        (b"\x00\x02\x00\x01g", b"\xff\xff"),
    ],
)
def test_records_of_other_brokers_are_unknown(key: bytes, value: bytes | None) -> None:
    with pytest.raises(UnknownRecordError):
        SHORT.decode(key, value)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, b"\x00\x00"),
        (b"", None),
        (b"\x00", None),
        (b"\x00\x02\x00\x05g", None),
        (b"\x00\x02\x00\x01g", b"\x00"),
        (b"\x00\x02\x00\x01g", b"\x00\x03\x00"),
        (b"\x00\x02\x00\x01g", b"\x00\x03\x00\x00" + b"\x7f" * 40),
    ],
)
def test_damaged_records_are_told_from_unknown_ones(key: bytes | None, value: bytes | None) -> None:
    with pytest.raises(DecodeError) as caught:
        SHORT.decode(key, value)
    assert not isinstance(caught.value, UnknownRecordError)
