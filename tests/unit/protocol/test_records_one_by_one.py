"""Facts of records, and their offset deltas made anew."""

from barnabas.protocol.records import decode_records, encode_record
from barnabas.protocol.records_one_by_one import iter_record_facts, renumber_records


def test_facts_and_renumbering() -> None:
    parts = [
        encode_record(i * 3, i * 1000, b"k" if i % 2 else None, b"v" * i, [("h", b"")]) for i in range(100)
    ]
    section = b"".join(parts)
    facts = list(iter_record_facts(section, 100))
    assert facts == [(i, i * 3, bool(i % 2)) for i in range(100)]
    renumbered = renumber_records(memoryview(section), 100)
    before = decode_records(section, records_count=100, base_offset=0, base_timestamp=0)
    after = decode_records(renumbered, records_count=100, base_offset=0, base_timestamp=0)
    assert [record.offset for record in after] == list(range(100))
    for old, new in zip(before, after, strict=True):
        new.offset = old.offset
        assert new == old
