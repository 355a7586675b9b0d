"""Partitions of a fetch session: added, changed, forgotten; which are answered, and in which order."""

from tests.interop.fetch_situations.logs import NOW_EPOCH
from tests.interop.fetch_situations.reading import COMMITTED
from tests.interop.fetch_situations.session_versions import SessionSituations
from tests.interop.fetch_situations.talk import Talk, all_of, p

_situations = SessionSituations()


# Partitions added, changed, forgotten ------------------------------------------------------------


@_situations.in_all
def a_partition_added(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 21))
    talk.more(version, p("plain", 1, 0))
    talk.more(version)


@_situations.in_all
def a_partition_added_at_its_end(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 21))
    talk.more(version, p("plain", 1, 6))
    talk.more(version)


@_situations.in_all
def topics_added_in_between(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 10), p("plain", 1, 3))
    talk.more(version, p("second", 1), p("third", 0))
    talk.more(version, p("plain", 2))
    talk.more(version)


@_situations.in_all
def a_partition_added_twice(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 21))
    talk.more(version, p("plain", 1, 0), p("plain", 1, 3))
    talk.more(version)


@_situations.in_all
def an_unknown_partition_added(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 15))
    talk.more(version, p("plain", 9))
    talk.more(version)
    talk.more(version, p("nowhere", 3))
    talk.more(version)


@_situations.in_all
def limits_changed(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 0, 1), p("plain", 1, 0, 1))
    talk.more(version, p("plain", 0, 0, 200))
    talk.more(version, p("plain", 0, 0, 0), max_bytes=0)
    talk.more(version, max_bytes=1)
    talk.more(version)


@_situations.in_all
def a_partition_forgotten(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 15), p("plain", 1), p("second", 0))
    talk.more(version, forget=[("plain", [0])])
    talk.more(version)
    talk.more(version, p("plain", 0, 20))


@_situations.in_all
def all_partitions_forgotten(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 15), p("second", 0))
    talk.more(version, forget=[("plain", [0]), ("second", [0])])
    talk.more(version)
    talk.close_session(version)


@_situations.in_all
def all_forgotten_and_another_added(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 15))
    talk.more(version, p("second", 0), forget=[("plain", [0])])
    talk.more(version)


@_situations.in_all
def the_same_added_and_forgotten(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 15))
    talk.more(version, p("plain", 1), forget=[("plain", [1])])
    talk.more(version, p("plain", 0, 20), forget=[("plain", [0])])
    talk.more(version)


@_situations.in_all
def unknown_partitions_forgotten(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 15))
    talk.more(version, forget=[("plain", [7, 1]), ("nowhere", [0]), ("second", [])])
    talk.more(version)


@_situations.in_all
def a_partition_forgotten_twice(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 15), p("plain", 1))
    talk.more(version, forget=[("plain", [0, 0])])
    talk.more(version, forget=[("plain", [0]), ("plain", [1])])
    talk.more(version)


@_situations.in_all
def an_error_forgotten(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 9), p("nowhere", 0), p("plain", 1, 6))
    talk.more(version, forget=[("nowhere", [0])])
    talk.more(version, forget=[("plain", [9])])
    talk.more(version)


@_situations.in_all
def forgotten_and_added_again(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 15), p("plain", 1), p("plain", 2))
    talk.more(version, forget=[("plain", [0])])
    talk.more(version, p("plain", 0, 15))
    talk.more(version)


@_situations.in_all
def forgotten_with_a_wrong_epoch(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 15), p("plain", 1))
    talk.fetch(version, session_id=talk.session_id, session_epoch=8, forget=[("plain", [0])])
    talk.more(version)


# Which partitions are answered, in which order ---------------------------------------------------


@_situations.in_all
def every_partition_gets_its_turn(talk: Talk, version: int) -> None:
    talk.open(version, *all_of("wide", range(8)), max_bytes=1)
    for _ in range(10):
        talk.more(version, max_bytes=1)


@_situations.in_all
def every_two_partitions_get_their_turn(talk: Talk, version: int) -> None:
    talk.open(version, *all_of("wide", range(8)), max_bytes=600)
    for _ in range(6):
        talk.more(version, max_bytes=600)


@_situations.in_all
def turns_while_reading_on(talk: Talk, version: int) -> None:
    talk.open(version, *all_of("wide", range(4)), p("plain", 0), max_bytes=1)
    talk.more(version, p("wide", 0, 2), max_bytes=1)
    talk.more(version, p("wide", 1, 2), max_bytes=1)
    talk.more(version, p("wide", 5, 0), max_bytes=1)
    for _ in range(5):
        talk.more(version, max_bytes=1)


@_situations.in_all
def turns_among_topics(talk: Talk, version: int) -> None:
    talk.open(version, p("wide", 0), p("plain", 0), p("wide", 1), p("second", 0), p("wide", 2), max_bytes=1)
    for _ in range(6):
        talk.more(version, max_bytes=1)
    talk.more(version)


@_situations.in_all
def turns_with_an_error_and_an_end(talk: Talk, version: int) -> None:
    talk.open(version, p("wide", 0), p("wide", 99), p("wide", 1), p("wide", 2, 2), max_bytes=1)
    for _ in range(4):
        talk.more(version, max_bytes=1)


@_situations.in_all
def turns_after_a_partition_was_forgotten(talk: Talk, version: int) -> None:
    talk.open(version, *all_of("wide", range(5)), max_bytes=1)
    talk.more(version, max_bytes=1)
    talk.more(version, max_bytes=1, forget=[("wide", [2])])
    for _ in range(4):
        talk.more(version, max_bytes=1)


@_situations.in_all
def a_big_batch_in_its_turn(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 1), p("big", 0), max_bytes=500)
    for _ in range(3):
        talk.more(version, max_bytes=500)


@_situations.in_all
def an_offset_out_of_range_until_mended(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 99), p("plain", 1, 6))
    talk.more(version)
    talk.more(version)
    talk.more(version, p("plain", 0, 21))
    talk.more(version)


@_situations.in_all
def an_error_cleared_by_records(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, -1), p("plain", 1, 6))
    talk.more(version, p("plain", 0, 15))
    talk.more(version, p("plain", 0, 21))


@_situations.in_versions(12, 13, 18)
def leader_epochs_until_mended(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 21, epoch=1), p("plain", 1, 6, epoch=9), p("second", 0, 3))
    talk.more(version)
    talk.more(version, p("plain", 0, 21, epoch=NOW_EPOCH), p("plain", 1, 6))
    talk.more(version)
    talk.more(version, p("plain", 0, 21, epoch=NOW_EPOCH + 1))


@_situations.in_versions(12, 13, 18)
def diverging_until_mended(talk: Talk, version: int) -> None:
    talk.open(version, p("epochs", 0, 16, last=3), p("plain", 0, 21))
    talk.more(version)
    talk.more(version, p("epochs", 0, 12, last=2))
    talk.more(version, p("epochs", 0, 16, last=4))
    talk.more(version)


@_situations.in_all
def isolation_changes_from_fetch_to_fetch(talk: Talk, version: int) -> None:
    talk.open(version, p("open", 0, 2), p("open", 1), p("txn", 0), isolation_level=COMMITTED)
    talk.more(version, isolation_level=COMMITTED)
    talk.more(version)
    talk.more(version, isolation_level=COMMITTED)
    talk.more(version, isolation_level=2)
    talk.more(version, isolation_level=COMMITTED)


@_situations.in_all
def a_wrong_isolation_opens(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0), isolation_level=9)
    talk.fetch(version, p("plain", 0), session_id=0, session_epoch=-1)


@_situations.in_all
def negative_limits(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 15), p("plain", 1), max_bytes=-1)
    talk.more(version)


@_situations.in_all
def zstd_in_a_session(talk: Talk, version: int) -> None:
    talk.open(version, p("zstd", 0), p("plain", 0, 21))
    talk.more(version)
    talk.more(version, p("zstd", 0, 20))


SITUATIONS = _situations.by_name
