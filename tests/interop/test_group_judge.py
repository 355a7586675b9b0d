"""The judge of groups sees what it is there to see, and nothing else."""

import pytest

from tests.interop.groups.judge import judge, owners
from tests.interop.groups.member import Event


def life(*lines: str) -> list[Event]:
    """Events from `MOMENT MEMBER EVENT ARGUMENTS`; arguments are partitions, or PARTITION@OFFSET."""
    events = []
    for line in lines:
        moment, member, event, *words = line.split()
        pairs = [tuple(map(int, word.split("@"))) for word in words if "@" in word]
        events.append(
            Event(
                member=member,
                event=event,
                at=float(moment),
                partitions=tuple(int(word) for word in words if "@" not in word),
                partition=pairs[0][0] if pairs else -1,
                offset=pairs[0][1] if pairs else -1,
                value=words[0] if event == "record" else "",
                offsets=dict(pairs) if event.startswith("commit") else {},
            )
        )
    return events


def faults(*lines: str) -> list[str]:
    return judge(life(*lines), session_s=6, heartbeat_s=0.5, max_poll_s=8).faults


def test_a_sound_life_has_no_faults() -> None:
    assert not faults(
        "1 a assigned 0 1", "2 a record 0@0", "2.1 a committed 0@1", "3 a revoked 0 1", "3.1 a assigned 0",
        "3.2 b assigned 1", "3.3 b record 1@0", "3.4 a record 0@1", "3.5 a committed 0@2", "4 a closing",
        "4.1 b revoked 1", "4.2 b assigned 0 1", "4.3 b record 0@2", "4.4 b record 1@0",
    )  # fmt: skip


def test_the_dead_and_the_sleeping_own_until_their_sessions_may_have_ended() -> None:
    assert faults("1 a assigned 0", "2 a killed", "6.9 b assigned 0") == ["[0] are a's and b's at 6.900"]
    assert not faults("1 a assigned 0", "2 a killed", "7.1 b assigned 0")
    assert faults("1 a assigned 0", "2 a stopped", "6.9 b assigned 0")
    assert not faults(
        "1 a assigned 0", "2 a stopped", "7.1 b assigned 0", "9 a continued", "9.1 a record 0@0"
    )
    assert faults("1 a assigned 0", "2 a paused", "8.9 b assigned 0")
    assert not faults("1 a assigned 0", "2 a paused", "9.1 b assigned 0", "12 a resumed", "12.1 a lost 0")


def test_a_commit_under_way_is_not_held_against_who_was_stopped() -> None:
    began = ("1 a assigned 0", "1.5 a record 0@0", "2 a stopped", "8 b assigned 0", "9 a continued")
    assert not faults(*began, "9.1 a committed 0@1")
    assert faults(*began, "9.1 a record 0@1", "9.2 a committed 0@2") == [
        "a could commit 0@2, which is not its, at 9.200"
    ]


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        (["1 a assigned 0", "2 b assigned 0"], "[0] are a's and b's at 2.000"),
        (["1 a assigned 0", "2 a record 1@0"], "a got 1@0 without owning 1"),
        (["1 a assigned 0", "2 a revoked 0", "3 a record 0@0"], "a got 0@0 without owning 0"),
        (["1 a assigned 0", "2 a record 0@0", "3 a record 0@2"], "a got 0@2 after 0"),
        (["1 a assigned 0", "2 a record 0@1"], "a began 0 at 1: committed was 0, delivered up to -1"),
        (
            [
                "1 a assigned 0",
                "2 a record 0@0",
                "3 a committed 0@1",
                "4 a closing",
                "5 b assigned 0",
                "6 b record 0@0",
            ],
            "b began 0 at 0: committed was 1, delivered up to 0",
        ),
        (
            ["1 a assigned 0", "2 a committed 0@5", "3 a committed 0@4"],
            "a committed 0@4, back",
        ),
    ],
)
def test_a_fault_is_found(lines: list[str], fault: str) -> None:
    assert faults(*lines) == [fault]


def test_owners_are_who_can_answer() -> None:
    assert owners(life("1 a assigned 0 1", "2 b assigned 2", "3 a revoked 0", "4 b killed")) == {"a": {1}}
