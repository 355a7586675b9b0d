"""Topics that come and go and logs that change between fetches without a session."""

from collections.abc import Callable

from tests.interop.fetch_situations.reading import IDS_FROM, NAMES_ONLY, Situation
from tests.interop.fetch_situations.talk import VERSIONS, Talk, p

_SITUATIONS: list[Situation] = []


def _situation(play: Situation) -> Situation:
    _SITUATIONS.append(play)
    return play


def _id_variants(topic_id: bytes) -> Callable[[Talk, int], None]:
    def ask(talk: Talk, version: int) -> None:
        request = talk.request(version, [p("plain", 0), p("second", 0), p("plain", 1)])
        request.topics[1].topic_id = topic_id
        talk.send(version, request)
        request = talk.request(version, [p("plain", 0)])
        request.topics[0].topic_id = topic_id
        talk.send(version, request)

    return ask


@_situation
def topic_id_zero(talk: Talk) -> None:
    for version in range(IDS_FROM, 19):
        _id_variants(bytes(16))(talk, version)


@_situation
def topic_id_of_the_metadata_log(talk: Talk) -> None:
    for version in range(IDS_FROM, 19):
        _id_variants(bytes(15) + b"\1")(talk, version)


@_situation
def odd_topic_names(talk: Talk) -> None:
    for version in range(4, NAMES_ONLY + 1):
        for name in ("", "a/b", "x" * 250, "..", "__cluster_metadata", "PLAIN", "pl\u00e4in"):
            request = talk.request(version, [p("plain", 0)])
            request.topics[0].topic = name
            talk.send(version, request)


@_situation
def a_topic_without_partitions(talk: Talk) -> None:
    for version in VERSIONS:
        request = talk.request(version, [p("plain", 0), p("second", 0)])
        request.topics[0].partitions = []
        talk.send(version, request)
        request.topics[1].partitions = []
        request.max_wait_ms = 2000
        talk.send(version, request)


@_situation
def a_topic_named_twice_in_a_row(talk: Talk) -> None:
    for version in VERSIONS:
        request = talk.request(version, [p("plain", 0), p("second", 0), p("plain", 1)])
        del request.topics[1]
        talk.send(version, request)


@_situation
def a_deleted_topic(talk: Talk) -> None:
    topic = talk.own_topic("deleted", 2, batches=1)
    talk.delete_topic(topic)
    for version in VERSIONS:
        talk.fetch(version, p(topic, 0), p("plain", 0, 20), p(topic, 1))


@_situation
def a_topic_made_again(talk: Talk) -> None:
    topic = talk.own_topic("made-again", 1, batches=3)
    old = talk.topic_ids[topic]
    talk.delete_topic(topic)
    talk.own_topic(topic, 1, batches=2)
    talk.call_id(old, "the old id")
    for version in VERSIONS:
        for offset in (0, 2, 3):
            talk.fetch(version, p(topic, 0, offset))
        if version >= IDS_FROM:
            request = talk.request(version, [p(topic, 0), p("plain", 0, 20)])
            request.topics[0].topic_id = old
            talk.send(version, request)


@_situation
def a_partition_is_added(talk: Talk) -> None:
    topic = talk.own_topic("grown", 1, batches=1)
    talk.fetch(18, p(topic, 0), p(topic, 1))
    talk.add_partitions(topic, 2)
    for version in VERSIONS:
        talk.fetch(version, p(topic, 0), p(topic, 1), p(topic, 2))


@_situation
def the_log_start_moves(talk: Talk) -> None:
    topic = talk.own_topic("log-start", 1, batches=6)
    for start in (0, 1, 4, 6):
        talk.delete_before(topic, 0, start)
        for offset in range(8):
            talk.fetch(18, p(topic, 0, offset))
    talk.append(topic, 0)
    for version in VERSIONS:
        talk.fetch(version, p(topic, 0, 6))
        talk.fetch(version, p(topic, 0, 5))


@_situation
def appended_between_two_fetches(talk: Talk) -> None:
    topic = talk.own_topic("between")
    for version in VERSIONS:
        offset = version - 4
        talk.fetch(version, p(topic, 0, offset))
        talk.append(topic, 0, b"version %d" % version)
        talk.fetch(version, p(topic, 0, offset))
        talk.fetch(version, p(topic, 0, offset + 1))


@_situation
def a_new_topic_without_records(talk: Talk) -> None:
    topic = talk.own_topic("fresh", 2)
    for version in VERSIONS:
        talk.fetch(version, p(topic, 0, 0), p(topic, 1, 1))
        if version >= 12:
            talk.fetch(version, p(topic, 0, 0, epoch=0, last=0), p(topic, 1, 0, epoch=1))


@_situation
def an_index_entry_for_each_batch(talk: Talk) -> None:
    topic = talk.own_topic("dense", index_interval_bytes="0")
    for number in range(20):
        talk.append(topic, 0, bytes(50), b"%d" % number)
    for offset in range(41):
        talk.fetch(18, p(topic, 0, offset, 400))
        talk.fetch(12, p(topic, 0, offset, 1))


SITUATIONS: dict[str, Situation] = {
    "changing: " + play.__name__.replace("_", " "): play for play in _SITUATIONS
}
