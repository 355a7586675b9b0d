"""Records taken one after the other: which of them are wrong, and new offset deltas for all.

For batches that `record_walk.summarize_records` has found something in; all others never come here.
"""

from collections.abc import Iterator

from barnabas.base.disk import Buffer
from barnabas.protocol.record_walk import read_record
from barnabas.protocol.varint import decode_varint, decode_varlong, encode_varint


def iter_record_facts(section: Buffer, records_count: int) -> Iterator[tuple[int, int, bool]]:
    """Yield (index, timestamp delta, has a key) of each record, for naming the wrong ones.

    Nothing is kept of a record once it was yielded, so that a batch of millions of tiny records cannot
    be turned into millions of objects.

    Args:
        section: has passed `summarize_records` with the same count.
    """
    end = len(section)
    position = 0
    for index in range(records_count):
        position, delta, _, has_key = read_record(section, position, end)
        yield index, delta, has_key


def renumber_records(section: Buffer, records_count: int) -> bytes:
    """Return the records with offset deltas 0, 1, 2, ...

    Args:
        section: has passed `summarize_records` with the same count.
    """
    view = memoryview(section)
    end = len(section)
    renumbered = bytearray()
    position = 0
    for index in range(records_count):
        size, start = decode_varint(section, position, end)
        record_end = start + size
        _, offset_start = decode_varlong(section, start + 1, record_end)
        _, key_start = decode_varint(section, offset_start, record_end)
        offset_delta = encode_varint(index)
        renumbered += encode_varint(size - (key_start - offset_start) + len(offset_delta))
        renumbered += view[start:offset_start]
        renumbered += offset_delta
        renumbered += view[key_start:record_end]
        position = record_end
    return bytes(renumbered)
