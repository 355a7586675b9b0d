"""KRaft record frames, against records that Apache Kafka 4.4 wrote."""

from pathlib import Path

import pytest

from barnabas.metadata.records import MetadataError, decode_record, encode_record

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "metadata"
RECORDS = [bytes.fromhex(line) for line in (GOLDEN / "records.hex").read_text().split()]


def test_records_of_apache_kafka_survive_decoding_and_encoding() -> None:
    assert len({value[1] for value in RECORDS}) >= 12
    for value in RECORDS:
        assert encode_record(decode_record(value)) == value


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (b"\x02\x02\x00", "frame version 2"),
        (b"\x01\x63\x00", "unknown type 99"),
        (b"\x01\x02\x01", "TopicRecord has version 1"),
        (b"\x01\x02\x00\x05ab", "malformed"),
        (b"\x01", "ends within its frame"),
        (b"\x80\x80\x80\x80\x80\x80\x01", "longer than five bytes"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_cause(value: bytes, words: str) -> None:
    with pytest.raises(MetadataError, match=words):
        decode_record(value)


def test_bytes_left_over_are_refused() -> None:
    with pytest.raises(MetadataError, match="1 bytes too many"):
        decode_record(RECORDS[0] + b"\0")


def test_no_cut_record_is_read_as_another() -> None:
    for value in RECORDS:
        for length in range(len(value)):
            with pytest.raises(MetadataError):
                decode_record(value[:length])
