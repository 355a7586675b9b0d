"""Records of `__consumer_offsets` with bytes changed, cut and made up.

Each is decoded or refused with a DecodeError, never anything else. A log that holds them loads all the same,
and what was whole in it is there.
"""

import random
from pathlib import Path

import pytest

from barnabas.base.errors import DecodeError
from barnabas.coordinator.groups.record_codec import GroupRecordCodec
from barnabas.coordinator.runtime.outcome import CoordinatorRecord
from barnabas.protocol import messages
from barnabas.protocol.record_batch import iter_batches, parse_records
from barnabas.protocol.record_batch_builder import BatchBuilder
from tests.coordinator_setup import Groups

SEED = 20_261_130
ROUNDS = 60
ROUNDS_SLOW = 3000
LOGS = sorted((Path(__file__).parent.parent / "golden/group_log").glob("*.log"))

Pair = tuple[bytes, bytes | None]


def recorded() -> list[Pair]:
    pairs: list[Pair] = []
    for path in LOGS:
        data = path.read_bytes()
        for position, header in iter_batches(data):
            if not header.is_control:
                pairs += [(r.key or b"", r.value) for r in parse_records(data, position, header)]
    return pairs


def mutated(data: bytes, rng: random.Random) -> bytes:
    made = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4))):
        position = rng.randrange(len(made) + 1)
        match rng.randrange(4):
            case 0 if made:
                made[position % len(made)] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
            case 1:
                made[position : position + 4] = b"\x7f\xff\xff\xff"
            case 2:
                del made[position:]
            case _:
                made[position:position] = rng.randbytes(rng.randrange(1, 9))
    return bytes(made)


def damaged(pair: Pair, rng: random.Random) -> Pair:
    key, value = pair
    if value is None or rng.random() < 0.5:
        return mutated(key, rng), value
    return key, mutated(value, rng)


def test_any_bytes_are_a_record_or_refused(slow: bool) -> None:
    rng = random.Random(SEED)
    codec = GroupRecordCodec()
    pairs = recorded()
    for _ in range((ROUNDS_SLOW if slow else ROUNDS) * 10):
        key, value = damaged(rng.choice(pairs), rng)
        try:
            codec.decode(key, value)
        except DecodeError:
            continue


@pytest.mark.parametrize("seed", range(5))
def test_a_log_with_damaged_records_loads_and_what_is_whole_is_there(seed: int, slow: bool) -> None:
    rng = random.Random(SEED + seed)
    codec = GroupRecordCodec()
    pairs = recorded()
    batches = []
    offset = 0
    for number in range(ROUNDS_SLOW // 10 if slow else ROUNDS):
        builder = BatchBuilder(base_offset=offset, partition_leader_epoch=0)
        for _ in range(rng.randrange(4)):
            key, value = damaged(rng.choice(pairs), rng)
            builder.append(timestamp=1_700_000_000_000, key=key, value=value)
        whole = messages.OffsetCommitKey(group="whole", topic="t", partition=number)
        commit = messages.OffsetCommitValue(offset=number, metadata="", commit_timestamp=1)
        encoded_key, encoded_value = codec.encode(CoordinatorRecord(whole, commit, 4))
        builder.append(timestamp=1_700_000_000_000, key=encoded_key, value=encoded_value)
        offset = builder.next_offset
        batches.append(builder.build())
    groups = Groups(logs=[b"".join(batches)])
    groups.coordinator.load_all()
    groups.broker.settle()
    shard = groups.shard("whole")
    found = shard.offsets.committed.by_group["whole"]["t"]
    assert {number: one.committed_offset for number, one in found.items()} == {
        number: number for number in range(len(batches))
    }
