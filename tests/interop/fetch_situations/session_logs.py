"""Fetch sessions over logs and topics that change."""

from tests.interop.fetch_situations.session_versions import SessionSituations
from tests.interop.fetch_situations.talk import Talk, all_of, p

_situations = SessionSituations()


# Logs that change --------------------------------------------------------------------------------


@_situations.in_all
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


@_situations.in_all
def appended_beyond_the_limit(talk: Talk, version: int) -> None:
    topic = talk.own_topic(f"appended-beyond-{version}", 3, batches=2)
    talk.open(version, *all_of(topic, range(3), 2))
    for partition in range(3):
        talk.append(topic, partition)
    for _ in range(4):
        talk.more(version, max_bytes=1)


@_situations.in_all
def appended_while_at_an_old_offset(talk: Talk, version: int) -> None:
    topic = talk.own_topic(f"appended-old-{version}", 2, batches=2)
    talk.open(version, *all_of(topic, range(2), 0), max_bytes=1)
    talk.append(topic, 0)
    talk.append(topic, 1)
    talk.more(version, max_bytes=1)
    talk.more(version, max_bytes=0)


@_situations.in_all
def the_log_start_moves(talk: Talk, version: int) -> None:
    topic = talk.own_topic(f"log-start-{version}", 2, batches=4)
    talk.open(version, *all_of(topic, range(2), 4))
    talk.delete_before(topic, 0, 2)
    talk.more(version)
    talk.more(version)
    talk.delete_before(topic, 0, 4)
    talk.more(version)


@_situations.in_all
def the_log_start_passes_the_offset(talk: Talk, version: int) -> None:
    topic = talk.own_topic(f"log-start-passes-{version}", 2, batches=4)
    talk.open(version, p(topic, 0, 1), p(topic, 1, 4))
    talk.delete_before(topic, 0, 3)
    talk.more(version)
    talk.more(version)
    talk.more(version, p(topic, 0, 3))
    talk.more(version, p(topic, 0, 4))


@_situations.in_all
def the_client_tells_its_log_start(talk: Talk, version: int) -> None:
    talk.open(version, p("trimmed", 0, 9, log_start_offset=0))
    talk.more(version, p("trimmed", 0, 9, log_start_offset=4))
    talk.more(version)


@_situations.in_all
def a_missing_partition_is_made(talk: Talk, version: int) -> None:
    topic = talk.own_topic(f"missing-partition-{version}", 1, batches=1)
    talk.open(version, p(topic, 1), p(topic, 0, 1))
    talk.more(version)
    talk.add_partitions(topic, 2)
    talk.more(version)
    talk.append(topic, 1)
    talk.more(version)


@_situations.in_versions(7, 12)
def a_missing_topic_is_made(talk: Talk, version: int) -> None:
    topic = f"missing-topic-{version}"
    talk.open(version, p(topic, 0), p("plain", 0, 21))
    talk.more(version)
    talk.own_topic(topic, 1, batches=1)
    talk.more(version)
    talk.more(version)


@_situations.in_all
def the_topic_is_deleted(talk: Talk, version: int) -> None:
    topic = talk.own_topic(f"deleted-{version}", 2, batches=1)
    talk.open(version, *all_of(topic, range(2)), p("plain", 0, 21))
    talk.delete_topic(topic)
    talk.more(version)
    talk.more(version)
    talk.more(version, forget=[(topic, [0, 1])])
    talk.more(version)


@_situations.in_all
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


@_situations.in_all
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


@_situations.in_versions(13, 18)
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


@_situations.in_all
def old_epochs_after_records(talk: Talk, version: int) -> None:
    """A client that lost an answer asks again with the epoch before."""
    talk.open(version, p("plain", 0, 15), p("plain", 1))
    talk.more(version, p("plain", 0, 21))
    talk.fetch(version, p("plain", 0, 21), session_id=talk.session_id, session_epoch=1)
    talk.open(version, p("plain", 0, 15), p("plain", 1), session_id=talk.session_id)
    talk.more(version)


SITUATIONS = _situations.by_name
