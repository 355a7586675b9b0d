"""Fetch sessions: opened, continued, changed, emptied, closed, and asked for wrongly.

Each situation is played in four versions: the first with sessions, the last with names, the first with ids
and the last. A function is a situation; its name says which.
"""

from collections.abc import Callable

from tests.interop.fetch_situations.logs import NOW_EPOCH
from tests.interop.fetch_situations.reading import COMMITTED, IDS_FROM, INT32_MAX, Situation
from tests.interop.fetch_situations.talk import Talk, all_of, p

VERSIONS = (7, 12, 13, 18)
LAST_EPOCHS_FROM = 12

_SITUATIONS: list[tuple[Callable[[Talk, int], None], tuple[int, ...]]] = []


def _in_versions(*versions: int) -> Callable[[Callable[[Talk, int], None]], Callable[[Talk, int], None]]:
    def add(situation: Callable[[Talk, int], None]) -> Callable[[Talk, int], None]:
        _SITUATIONS.append((situation, versions))
        return situation

    return add


_in_all = _in_versions(*VERSIONS)


# Opening, continuing, closing --------------------------------------------------------------------


@_in_all
def nothing_new(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 21))
    for _ in range(3):
        talk.more(version)


@_in_all
def the_same_records_again(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 15))
    talk.more(version)
    talk.more(version)


@_in_all
def reading_on(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 0, 1))
    for offset in (1, 3, 6, 10, 15, 21):
        talk.more(version, p("plain", 0, offset, 1))
    talk.more(version)


@_in_all
def only_what_is_new_is_answered(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 21), p("plain", 1, 3), p("second", 0, 3), p("third", 0, 0))
    talk.more(version, p("third", 0, 5))
    talk.more(version)
    talk.more(version, p("second", 0, 0))


@_in_all
def opened_without_partitions(talk: Talk, version: int) -> None:
    talk.open(version)
    talk.fetch(version, session_id=0, session_epoch=1)
    talk.fetch(version, p("plain", 0), session_id=0, session_epoch=1)


@_in_all
def opened_with_errors_only(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 9), p("nowhere", 0), p("plain", 0, 99))
    talk.more(version)
    talk.more(version)


@_in_all
def opened_with_a_partition_twice(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 3), p("plain", 1, 3), p("plain", 0, 10))
    talk.more(version)
    talk.more(version, p("plain", 0, 21), p("plain", 1, 0), p("plain", 1, 1))


@_in_all
def opened_with_forgotten_partitions(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0), p("plain", 1), forget=[("plain", [0])])
    talk.more(version)


@_in_all
def opened_by_a_follower(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0), p("second", 0), replica=5)
    talk.more(version, replica=5)
    talk.more(version)


@_in_all
def errors_told_to_a_follower(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 9), p("nowhere", 0), p("plain", 0), p("second", 7), replica=5)
    talk.more(version, p("nowhere", 1), replica=5)
    talk.more(version, replica=5)


@_in_all
def opened_by_the_debugging_client(talk: Talk, version: int) -> None:
    talk.open(version, p("open", 0, 5), replica=-2)
    talk.more(version, replica=-2, isolation_level=COMMITTED)
    talk.more(version, isolation_level=COMMITTED)


@_in_all
def without_a_session(talk: Talk, version: int) -> None:
    talk.fetch(version, p("plain", 0), session_id=0, session_epoch=-1)
    talk.fetch(version, session_id=0, session_epoch=-1)


@_in_all
def a_full_fetch_beside_a_session(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 15))
    talk.fetch(version, p("plain", 1, 0))
    talk.more(version)


@_in_all
def closed(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 15))
    talk.close_session(version)
    talk.more(version)
    talk.close_session(version)


@_in_all
def closed_with_a_last_fetch(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 15))
    talk.close_session(version, p("plain", 1, 0), p("plain", 9))
    talk.more(version)


@_in_all
def closed_at_once_after_an_error(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 9))
    talk.fetch(version, session_id=talk.session_id, session_epoch=7)
    talk.close_session(version)
    talk.fetch(version, session_id=talk.session_id, session_epoch=1)


@_in_all
def replaced(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 15))
    first = talk.session_id
    talk.open(version, p("plain", 1, 0), session_id=first)
    talk.more(version)
    talk.fetch(version, session_id=first, session_epoch=1)


@_in_all
def replaced_by_nothing(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 15))
    first = talk.session_id
    talk.open(version, session_id=first)
    talk.fetch(version, session_id=first, session_epoch=1)


@_in_all
def opened_with_an_unknown_id(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 15), session_id=77)
    talk.more(version)


@_in_all
def two_at_once(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 15))
    first = talk.session_id
    talk.open(version, p("plain", 1, 0))
    talk.more(version)
    talk.fetch(version, session_id=first, session_epoch=1)
    talk.close_session(version)
    talk.fetch(version, session_id=first, session_epoch=2)


@_in_all
def continued_on_a_new_connection(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 15))
    talk.close()
    talk.more(version)
    talk.close()
    talk.more(version, p("plain", 0, 21))


# Ids and epochs that are wrong -------------------------------------------------------------------


@_in_all
def unknown_ids(talk: Talk, version: int) -> None:
    for session_id in (77, -1, INT32_MAX, -(2**31)):
        for epoch in (1, 0, -1, -2, INT32_MAX):
            talk.fetch(version, p("plain", 0, 15), session_id=session_id, session_epoch=epoch)


@_in_all
def epochs_without_an_id(talk: Talk, version: int) -> None:
    for epoch in (1, 2, INT32_MAX, -2, -(2**31)):
        talk.fetch(version, p("plain", 0, 15), session_id=0, session_epoch=epoch)


@_in_all
def an_epoch_again(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 15))
    talk.more(version)
    talk.fetch(version, session_id=talk.session_id, session_epoch=1)
    talk.more(version)


@_in_all
def an_epoch_skipped(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 15))
    talk.fetch(version, p("plain", 1), session_id=talk.session_id, session_epoch=2)
    talk.more(version)


@_in_all
def odd_epochs(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 15))
    for epoch in (INT32_MAX, -2, -(2**31)):
        talk.fetch(version, session_id=talk.session_id, session_epoch=epoch)
    talk.more(version)


@_in_all
def a_wrong_epoch_waits_for_nothing(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 21))
    session = {"session_id": talk.session_id, "session_epoch": 5}
    talk.fetch(version, **session, max_wait_ms=2000, timed=True)
    talk.fetch(version, session_id=77, session_epoch=5, max_wait_ms=2000, timed=True)


@_in_versions(7, 12)
def names_continued_with_ids(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 15), p("second", 0))
    talk.more(IDS_FROM)
    talk.more(IDS_FROM, p("plain", 1, 0))
    talk.more(version)


@_in_versions(13, 18)
def ids_continued_with_names(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 15), p("second", 0))
    talk.more(12)
    talk.more(12, p("plain", 1, 0))
    talk.more(version)


@_in_versions(7, 12)
def names_and_ids_after_a_wrong_epoch(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 15))
    talk.fetch(IDS_FROM, p("plain", 1), session_id=talk.session_id, session_epoch=9)
    talk.more(IDS_FROM, forget=[("plain", [0])])
    talk.fetch(version, session_id=talk.session_id, session_epoch=1)
    talk.fetch(version, session_id=talk.session_id, session_epoch=2)


@_in_all
def other_versions_of_the_same_kind(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 15))
    for other in range(13, 19) if version >= IDS_FROM else range(7, 13):
        talk.more(other)


@_in_versions(7)
def continued_below_version_7(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 15))
    talk.fetch(6, p("plain", 1))
    talk.more(version)


# Partitions added, changed, forgotten ------------------------------------------------------------


@_in_all
def a_partition_added(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 21))
    talk.more(version, p("plain", 1, 0))
    talk.more(version)


@_in_all
def a_partition_added_at_its_end(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 21))
    talk.more(version, p("plain", 1, 6))
    talk.more(version)


@_in_all
def topics_added_in_between(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 10), p("plain", 1, 3))
    talk.more(version, p("second", 1), p("third", 0))
    talk.more(version, p("plain", 2))
    talk.more(version)


@_in_all
def a_partition_added_twice(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 21))
    talk.more(version, p("plain", 1, 0), p("plain", 1, 3))
    talk.more(version)


@_in_all
def an_unknown_partition_added(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 15))
    talk.more(version, p("plain", 9))
    talk.more(version)
    talk.more(version, p("nowhere", 3))
    talk.more(version)


@_in_all
def limits_changed(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 0, 1), p("plain", 1, 0, 1))
    talk.more(version, p("plain", 0, 0, 200))
    talk.more(version, p("plain", 0, 0, 0), max_bytes=0)
    talk.more(version, max_bytes=1)
    talk.more(version)


@_in_all
def a_partition_forgotten(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 15), p("plain", 1), p("second", 0))
    talk.more(version, forget=[("plain", [0])])
    talk.more(version)
    talk.more(version, p("plain", 0, 20))


@_in_all
def all_partitions_forgotten(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 15), p("second", 0))
    talk.more(version, forget=[("plain", [0]), ("second", [0])])
    talk.more(version)
    talk.close_session(version)


@_in_all
def all_forgotten_and_another_added(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 15))
    talk.more(version, p("second", 0), forget=[("plain", [0])])
    talk.more(version)


@_in_all
def the_same_added_and_forgotten(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 15))
    talk.more(version, p("plain", 1), forget=[("plain", [1])])
    talk.more(version, p("plain", 0, 20), forget=[("plain", [0])])
    talk.more(version)


@_in_all
def unknown_partitions_forgotten(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 15))
    talk.more(version, forget=[("plain", [7, 1]), ("nowhere", [0]), ("second", [])])
    talk.more(version)


@_in_all
def a_partition_forgotten_twice(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 15), p("plain", 1))
    talk.more(version, forget=[("plain", [0, 0])])
    talk.more(version, forget=[("plain", [0]), ("plain", [1])])
    talk.more(version)


@_in_all
def an_error_forgotten(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 9), p("nowhere", 0), p("plain", 1, 6))
    talk.more(version, forget=[("nowhere", [0])])
    talk.more(version, forget=[("plain", [9])])
    talk.more(version)


@_in_all
def forgotten_and_added_again(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 15), p("plain", 1), p("plain", 2))
    talk.more(version, forget=[("plain", [0])])
    talk.more(version, p("plain", 0, 15))
    talk.more(version)


@_in_all
def forgotten_with_a_wrong_epoch(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 15), p("plain", 1))
    talk.fetch(version, session_id=talk.session_id, session_epoch=8, forget=[("plain", [0])])
    talk.more(version)


# Which partitions are answered, in which order ---------------------------------------------------


@_in_all
def every_partition_gets_its_turn(talk: Talk, version: int) -> None:
    talk.open(version, *all_of("wide", range(8)), max_bytes=1)
    for _ in range(10):
        talk.more(version, max_bytes=1)


@_in_all
def every_two_partitions_get_their_turn(talk: Talk, version: int) -> None:
    talk.open(version, *all_of("wide", range(8)), max_bytes=600)
    for _ in range(6):
        talk.more(version, max_bytes=600)


@_in_all
def turns_while_reading_on(talk: Talk, version: int) -> None:
    talk.open(version, *all_of("wide", range(4)), p("plain", 0), max_bytes=1)
    talk.more(version, p("wide", 0, 2), max_bytes=1)
    talk.more(version, p("wide", 1, 2), max_bytes=1)
    talk.more(version, p("wide", 5, 0), max_bytes=1)
    for _ in range(5):
        talk.more(version, max_bytes=1)


@_in_all
def turns_among_topics(talk: Talk, version: int) -> None:
    talk.open(version, p("wide", 0), p("plain", 0), p("wide", 1), p("second", 0), p("wide", 2), max_bytes=1)
    for _ in range(6):
        talk.more(version, max_bytes=1)
    talk.more(version)


@_in_all
def turns_with_an_error_and_an_end(talk: Talk, version: int) -> None:
    talk.open(version, p("wide", 0), p("wide", 99), p("wide", 1), p("wide", 2, 2), max_bytes=1)
    for _ in range(4):
        talk.more(version, max_bytes=1)


@_in_all
def turns_after_a_partition_was_forgotten(talk: Talk, version: int) -> None:
    talk.open(version, *all_of("wide", range(5)), max_bytes=1)
    talk.more(version, max_bytes=1)
    talk.more(version, max_bytes=1, forget=[("wide", [2])])
    for _ in range(4):
        talk.more(version, max_bytes=1)


@_in_all
def a_big_batch_in_its_turn(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 1), p("big", 0), max_bytes=500)
    for _ in range(3):
        talk.more(version, max_bytes=500)


@_in_all
def an_offset_out_of_range_until_mended(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 99), p("plain", 1, 6))
    talk.more(version)
    talk.more(version)
    talk.more(version, p("plain", 0, 21))
    talk.more(version)


@_in_all
def an_error_cleared_by_records(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, -1), p("plain", 1, 6))
    talk.more(version, p("plain", 0, 15))
    talk.more(version, p("plain", 0, 21))


@_in_versions(12, 13, 18)
def leader_epochs_until_mended(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 21, epoch=1), p("plain", 1, 6, epoch=9), p("second", 0, 3))
    talk.more(version)
    talk.more(version, p("plain", 0, 21, epoch=NOW_EPOCH), p("plain", 1, 6))
    talk.more(version)
    talk.more(version, p("plain", 0, 21, epoch=NOW_EPOCH + 1))


@_in_versions(12, 13, 18)
def diverging_until_mended(talk: Talk, version: int) -> None:
    talk.open(version, p("epochs", 0, 16, last=3), p("plain", 0, 21))
    talk.more(version)
    talk.more(version, p("epochs", 0, 12, last=2))
    talk.more(version, p("epochs", 0, 16, last=4))
    talk.more(version)


@_in_all
def isolation_changes_from_fetch_to_fetch(talk: Talk, version: int) -> None:
    talk.open(version, p("open", 0, 2), p("open", 1), p("txn", 0), isolation_level=COMMITTED)
    talk.more(version, isolation_level=COMMITTED)
    talk.more(version)
    talk.more(version, isolation_level=COMMITTED)
    talk.more(version, isolation_level=2)
    talk.more(version, isolation_level=COMMITTED)


@_in_all
def a_wrong_isolation_opens(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0), isolation_level=9)
    talk.fetch(version, p("plain", 0), session_id=0, session_epoch=-1)


@_in_all
def negative_limits(talk: Talk, version: int) -> None:
    talk.open(version, p("plain", 0, 15), p("plain", 1), max_bytes=-1)
    talk.more(version)


@_in_all
def zstd_in_a_session(talk: Talk, version: int) -> None:
    talk.open(version, p("zstd", 0), p("plain", 0, 21))
    talk.more(version)
    talk.more(version, p("zstd", 0, 20))


# Logs that change --------------------------------------------------------------------------------


@_in_all
def appended(talk: Talk, version: int) -> None:
    topic = talk.own_topic(f"appended-{version}", 3, batches=2)
    talk.open(version, *all_of(topic, range(3), 2))
    talk.append(topic, 1)
    talk.more(version)
    talk.more(version, p(topic, 1, 3))
    talk.append(topic, 0)
    talk.append(topic, 2)
    talk.more(version)
    talk.more(version)


@_in_all
def appended_beyond_the_limit(talk: Talk, version: int) -> None:
    topic = talk.own_topic(f"appended-beyond-{version}", 3, batches=2)
    talk.open(version, *all_of(topic, range(3), 2))
    for partition in range(3):
        talk.append(topic, partition)
    for _ in range(4):
        talk.more(version, max_bytes=1)


@_in_all
def appended_while_at_an_old_offset(talk: Talk, version: int) -> None:
    topic = talk.own_topic(f"appended-old-{version}", 2, batches=2)
    talk.open(version, *all_of(topic, range(2), 0), max_bytes=1)
    talk.append(topic, 0)
    talk.append(topic, 1)
    talk.more(version, max_bytes=1)
    talk.more(version, max_bytes=0)


@_in_all
def the_log_start_moves(talk: Talk, version: int) -> None:
    topic = talk.own_topic(f"log-start-{version}", 2, batches=4)
    talk.open(version, *all_of(topic, range(2), 4))
    talk.delete_before(topic, 0, 2)
    talk.more(version)
    talk.more(version)
    talk.delete_before(topic, 0, 4)
    talk.more(version)


@_in_all
def the_log_start_passes_the_offset(talk: Talk, version: int) -> None:
    topic = talk.own_topic(f"log-start-passes-{version}", 2, batches=4)
    talk.open(version, p(topic, 0, 1), p(topic, 1, 4))
    talk.delete_before(topic, 0, 3)
    talk.more(version)
    talk.more(version)
    talk.more(version, p(topic, 0, 3))
    talk.more(version, p(topic, 0, 4))


@_in_all
def the_client_tells_its_log_start(talk: Talk, version: int) -> None:
    talk.open(version, p("trimmed", 0, 9, log_start_offset=0))
    talk.more(version, p("trimmed", 0, 9, log_start_offset=4))
    talk.more(version)


@_in_all
def a_missing_partition_is_made(talk: Talk, version: int) -> None:
    topic = talk.own_topic(f"missing-partition-{version}", 1, batches=1)
    talk.open(version, p(topic, 1), p(topic, 0, 1))
    talk.more(version)
    talk.add_partitions(topic, 2)
    talk.more(version)
    talk.append(topic, 1)
    talk.more(version)


@_in_versions(7, 12)
def a_missing_topic_is_made(talk: Talk, version: int) -> None:
    topic = f"missing-topic-{version}"
    talk.open(version, p(topic, 0), p("plain", 0, 21))
    talk.more(version)
    talk.own_topic(topic, 1, batches=1)
    talk.more(version)
    talk.more(version)


@_in_all
def the_topic_is_deleted(talk: Talk, version: int) -> None:
    topic = talk.own_topic(f"deleted-{version}", 2, batches=1)
    talk.open(version, *all_of(topic, range(2)), p("plain", 0, 21))
    talk.delete_topic(topic)
    talk.more(version)
    talk.more(version)
    talk.more(version, forget=[(topic, [0, 1])])
    talk.more(version)


@_in_all
def the_topic_is_made_again(talk: Talk, version: int) -> None:
    topic = talk.own_topic(f"made-again-{version}", 1, batches=3)
    talk.open(version, p(topic, 0, 1), p("plain", 0, 21))
    old = talk.topic_ids[topic]
    talk.delete_topic(topic)
    talk.own_topic(topic, 1, batches=2)
    talk.call_id(old, "the old id")
    talk.more(version)
    talk.more(version)
    talk.more(version, p(topic, 0, 0))
    talk.more(version)


@_in_all
def the_topic_is_made_again_shorter(talk: Talk, version: int) -> None:
    topic = talk.own_topic(f"made-again-shorter-{version}", 1, batches=3)
    talk.open(version, p(topic, 0, 3))
    old = talk.topic_ids[topic]
    talk.delete_topic(topic)
    talk.more(version)
    talk.own_topic(topic, 1, batches=1)
    talk.call_id(old, "the old id")
    talk.more(version)
    talk.more(version, p(topic, 0, 1))


@_in_versions(13, 18)
def the_old_id_is_forgotten(talk: Talk, version: int) -> None:
    topic = talk.own_topic(f"old-id-forgotten-{version}", 1, batches=2)
    talk.open(version, p(topic, 0, 1))
    old = talk.topic_ids[topic]
    talk.delete_topic(topic)
    talk.own_topic(topic, 1, batches=2)
    talk.call_id(old, "the old id")
    request = talk.request(
        version, [p(topic, 0)], session_id=talk.session_id, session_epoch=1, forget=[(topic, [0])]
    )
    request.forgotten_topics_data[0].topic_id = old
    talk.send(version, request)
    talk.fetch(version, session_id=talk.session_id, session_epoch=2)


@_in_all
def old_epochs_after_records(talk: Talk, version: int) -> None:
    """A client that lost an answer asks again with the epoch before."""
    talk.open(version, p("plain", 0, 15), p("plain", 1))
    talk.more(version, p("plain", 0, 21))
    talk.fetch(version, p("plain", 0, 21), session_id=talk.session_id, session_epoch=1)
    talk.open(version, p("plain", 0, 15), p("plain", 1), session_id=talk.session_id)
    talk.more(version)


def _situation(play: Callable[[Talk, int], None], versions: tuple[int, ...]) -> Situation:
    def ask(talk: Talk) -> None:
        for version in versions:
            play(talk, version)

    return ask


SITUATIONS: dict[str, Situation] = {
    "session: " + play.__name__.replace("_", " "): _situation(play, versions)
    for play, versions in _SITUATIONS
}
