"""Fetch sessions: opened, continued, closed, and asked for wrongly."""

from tests.interop.fetch_situations.reading import COMMITTED, IDS_FROM, INT32_MAX
from tests.interop.fetch_situations.session_versions import SessionSituations
from tests.interop.fetch_situations.talk import Talk, p

_situations = SessionSituations()


# Opening, continuing, closing --------------------------------------------------------------------


@_situations.in_all
def nothing_new(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 21))
    for _ in range(3):
        talk.more(version)


@_situations.in_all
def the_same_records_again(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 15))
    talk.more(version)
    talk.more(version)


@_situations.in_all
def reading_on(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 0, 1))
    for offset in (1, 3, 6, 10, 15, 21):
        talk.more(version, p("plain", 0, offset, 1))
    talk.more(version)


@_situations.in_all
def only_what_is_new_is_answered(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 21), p("plain", 1, 3), p("second", 0, 3), p("third", 0, 0))
    talk.more(version, p("third", 0, 5))
    talk.more(version)
    talk.more(version, p("second", 0, 0))


@_situations.in_all
def opened_without_partitions(talk: Talk, version: int) -> None:
    talk.open(version)
    talk.fetch(version, session_id=0, session_epoch=1)
    talk.fetch(version, p("plain", 0), session_id=0, session_epoch=1)


@_situations.in_all
def opened_with_errors_only(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 9), p("nowhere", 0), p("plain", 0, 99))
    talk.more(version)
    talk.more(version)


@_situations.in_all
def opened_with_a_partition_twice(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 3), p("plain", 1, 3), p("plain", 0, 10))
    talk.more(version)
    talk.more(version, p("plain", 0, 21), p("plain", 1, 0), p("plain", 1, 1))


@_situations.in_all
def opened_with_forgotten_partitions(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0), p("plain", 1), forget=[("plain", [0])])
    talk.more(version)


@_situations.in_all
def opened_by_a_follower(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0), p("second", 0), replica=5)
    talk.more(version, replica=5)
    talk.more(version)


@_situations.in_all
def errors_told_to_a_follower(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 9), p("nowhere", 0), p("plain", 0), p("second", 7), replica=5)
    talk.more(version, p("nowhere", 1), replica=5)
    talk.more(version, replica=5)


@_situations.in_all
def opened_by_the_debugging_client(talk: Talk, version: int) -> None:
    talk.open(version, p("open", 0, 5), replica=-2)
    talk.more(version, replica=-2, isolation_level=COMMITTED)
    talk.more(version, isolation_level=COMMITTED)


@_situations.in_all
def without_a_session(talk: Talk, version: int) -> None:
    talk.fetch(version, p("plain", 0), session_id=0, session_epoch=-1)
    talk.fetch(version, session_id=0, session_epoch=-1)


@_situations.in_all
def a_full_fetch_beside_a_session(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 15))
    talk.fetch(version, p("plain", 1, 0))
    talk.more(version)


@_situations.in_all
def closed(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 15))
    talk.close_session(version)
    talk.more(version)
    talk.close_session(version)


@_situations.in_all
def closed_with_a_last_fetch(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 15))
    talk.close_session(version, p("plain", 1, 0), p("plain", 9))
    talk.more(version)


@_situations.in_all
def closed_at_once_after_an_error(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 9))
    talk.fetch(version, session_id=talk.session_id, session_epoch=7)
    talk.close_session(version)
    talk.fetch(version, session_id=talk.session_id, session_epoch=1)


@_situations.in_all
def replaced(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 15))
    first = talk.session_id
    talk.open(version, p("plain", 1, 0), session_id=first)
    talk.more(version)
    talk.fetch(version, session_id=first, session_epoch=1)


@_situations.in_all
def replaced_by_nothing(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 15))
    first = talk.session_id
    talk.open(version, session_id=first)
    talk.fetch(version, session_id=first, session_epoch=1)


@_situations.in_all
def opened_with_an_unknown_id(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 15), session_id=77)
    talk.more(version)


@_situations.in_all
def two_at_once(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 15))
    first = talk.session_id
    talk.open(version, p("plain", 1, 0))
    talk.more(version)
    talk.fetch(version, session_id=first, session_epoch=1)
    talk.close_session(version)
    talk.fetch(version, session_id=first, session_epoch=2)


@_situations.in_all
def continued_on_a_new_connection(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 15))
    talk.close()
    talk.more(version)
    talk.close()
    talk.more(version, p("plain", 0, 21))


# Ids and epochs that are wrong -------------------------------------------------------------------


@_situations.in_all
def unknown_ids(talk: Talk, version: int) -> None:
    for session_id in (77, -1, INT32_MAX, -(2**31)):
        for epoch in (1, 0, -1, -2, INT32_MAX):
            talk.fetch(version, p("plain", 0, 15), session_id=session_id, session_epoch=epoch)


@_situations.in_all
def epochs_without_an_id(talk: Talk, version: int) -> None:
    for epoch in (1, 2, INT32_MAX, -2, -(2**31)):
        talk.fetch(version, p("plain", 0, 15), session_id=0, session_epoch=epoch)


@_situations.in_all
def an_epoch_again(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 15))
    talk.more(version)
    talk.fetch(version, session_id=talk.session_id, session_epoch=1)
    talk.more(version)


@_situations.in_all
def an_epoch_skipped(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 15))
    talk.fetch(version, p("plain", 1), session_id=talk.session_id, session_epoch=2)
    talk.more(version)


@_situations.in_all
def odd_epochs(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 15))
    for epoch in (INT32_MAX, -2, -(2**31)):
        talk.fetch(version, session_id=talk.session_id, session_epoch=epoch)
    talk.more(version)


@_situations.in_all
def a_wrong_epoch_waits_for_nothing(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 21))
    talk.fetch(version, session_id=talk.session_id, session_epoch=5, max_wait_ms=2000, timed=True)
    talk.fetch(version, session_id=77, session_epoch=5, max_wait_ms=2000, timed=True)


@_situations.in_versions(7, 12)
def names_continued_with_ids(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 15), p("second", 0))
    talk.more(IDS_FROM)
    talk.more(IDS_FROM, p("plain", 1, 0))
    talk.more(version)


@_situations.in_versions(13, 18)
def ids_continued_with_names(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 15), p("second", 0))
    talk.more(12)
    talk.more(12, p("plain", 1, 0))
    talk.more(version)


@_situations.in_versions(7, 12)
def names_and_ids_after_a_wrong_epoch(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 15))
    talk.fetch(IDS_FROM, p("plain", 1), session_id=talk.session_id, session_epoch=9)
    talk.more(IDS_FROM, forget=[("plain", [0])])
    talk.fetch(version, session_id=talk.session_id, session_epoch=1)
    talk.fetch(version, session_id=talk.session_id, session_epoch=2)


@_situations.in_all
def other_versions_of_the_same_kind(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 15))
    for other in range(13, 19) if version >= IDS_FROM else range(7, 13):
        talk.more(other)


@_situations.in_versions(7)
def continued_below_version_7(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 15))
    talk.fetch(6, p("plain", 1))
    talk.more(version)


SITUATIONS = _situations.by_name
