"""Where a group goes on from, and how assignments and durations are read."""

import pytest
from click import BadParameter

from barnabas.cli.client.groups import decode_assignment
from barnabas.cli.group_offsets import Duration, Held, TopicPartitions, new_offset
from barnabas.cli.root import CommandFailed
from barnabas.protocol import messages

HELD = Held(start=10, end=20, committed=15)
NEVER = Held(start=10, end=20, committed=None)


@pytest.mark.parametrize(
    ("strategy", "value", "held", "since", "new"),
    [
        ("to_earliest", True, HELD, -1, 10),
        ("to_latest", True, HELD, -1, 20),
        ("to_current", True, HELD, -1, 15),
        ("to_current", True, NEVER, -1, 20),
        ("to_offset", 17, HELD, -1, 17),
        ("to_offset", 3, HELD, -1, 10),
        ("to_offset", 99, HELD, -1, 20),
        ("shift_by", 2, HELD, -1, 17),
        ("shift_by", -2, HELD, -1, 13),
        ("shift_by", -9, HELD, -1, 10),
        ("shift_by", 9, HELD, -1, 20),
        ("to_datetime", 1, HELD, 12, 12),
        ("to_datetime", 1, HELD, -1, 20),
        ("by_duration", 1, HELD, 19, 19),
    ],
)
def test_a_new_offset_lies_within_the_partition(
    strategy: str, value: int, held: Held, since: int, new: int
) -> None:
    assert new_offset(strategy, value, held, since) == new


def test_what_was_never_committed_cannot_be_shifted() -> None:
    with pytest.raises(CommandFailed):
        new_offset("shift_by", 1, NEVER, -1)


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("PT1H", 3_600_000),
        ("P1D", 86_400_000),
        ("p1dt2h3m4.5s", 86_400_000 + 7_200_000 + 180_000 + 4500),
        ("PT90M", 5_400_000),
    ],
)
def test_durations(text: str, ms: int) -> None:
    assert Duration().convert(text, None, None) == ms


@pytest.mark.parametrize("text", ["", "P", "PT", "1H", "PT1", "P1Y", "-PT1H"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(BadParameter):
        Duration().convert(text, None, None)


def test_topics_with_and_without_partitions() -> None:
    assert TopicPartitions().convert("orders", None, None) == ("orders", None)
    assert TopicPartitions().convert("orders:0,12", None, None) == ("orders", (0, 12))
    for text in ("orders:", "orders:a", ":1", "orders:1,"):
        with pytest.raises(BadParameter):
            TopicPartitions().convert(text, None, None)


def _assignment(version: int, *topics: tuple[str, list[int]]) -> bytes:
    told = messages.ConsumerProtocolAssignment(
        assigned_partitions=[
            messages.ConsumerProtocolAssignmentTopicPartition(topic=name, partitions=numbers)
            for name, numbers in topics
        ]
    )
    return version.to_bytes(2, "big") + told.encode(min(version, 3))


@pytest.mark.parametrize("version", [0, 1, 3, 9])
def test_assignments_of_every_age_are_read(version: int) -> None:
    data = _assignment(version, ("b", [1, 0]), ("a", [2]))
    assert decode_assignment("consumer", data) == (("a", 2), ("b", 0), ("b", 1))


def test_other_assignments_are_left_alone() -> None:
    assert decode_assignment("consumer", b"") == ()
    assert decode_assignment("consumer", b"\x00") is None
    assert decode_assignment("consumer", b"\x00\x01\x7f\xff\xff\xff") is None
    assert decode_assignment("connect", _assignment(1, ("a", [1]))) is None
