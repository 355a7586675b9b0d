"""Fetch, ListOffsets, OffsetForLeaderEpoch and DeleteRecords over the same small logs."""

# ruff: noqa: B023 - the short ways to ask are used up within their turn of the loop

from barnabas.protocol import messages as m
from barnabas.protocol.compression import Codec
from tests.interop.first_slice.asker import UNKNOWN_ID, Asker
from tests.interop.first_slice.requests import (
    TIMESTAMP_MS,
    batch,
    fetch,
    list_offsets,
    part,
    produce,
    versions,
)

INT64_MAX = 2**63 - 1
RECORDS = 6


def fetches(asker: Asker) -> None:
    """Offsets, epochs, limits, sessions, topics that are not there."""
    name = "fetched"
    topic_id = asker.make_topic(name, 4)
    _fill(asker, name, topic_id, range(3))
    other = asker.make_topic("fetched-too", 1)
    for version in versions(1):

        def get(situation: str, *parts: m.FetchRequestFetchPartition, **fields: int) -> None:
            asker.ask(situation, version, fetch(version, (name, topic_id, list(parts)), **fields))

        for offset in (0, 1, 2, RECORDS - 1, RECORDS, RECORDS + 1, 10**12, INT64_MAX, -1, -2, -7):
            get(f"offset {offset}", part(0, offset))
        get("empty partition", part(3, 0))
        get("empty partition, waiting", part(3, 0), max_wait_ms=30)
        get("at the end, waiting", part(0, RECORDS), max_wait_ms=30)
        get("negative wait", part(0, RECORDS), max_wait_ms=-1)
        get("min bytes 0", part(0, RECORDS), max_wait_ms=1000, min_bytes=0)
        get("min bytes -1", part(0, RECORDS), max_wait_ms=1000, min_bytes=-1)
        get("min bytes above all", part(0, 0), max_wait_ms=30, min_bytes=1 << 20)
        get("min bytes above max bytes", part(0, 0), max_wait_ms=5000, min_bytes=1000, max_bytes=100)
        get("no such partition", part(9, 0))
        get("negative partition", part(-1, 0))
        get("no partition", max_wait_ms=1000)
        asker.ask("no topic", version, fetch(version, max_wait_ms=1000))
        get("committed", part(0, 0), isolation_level=1)
        get("isolation 7", part(0, 0), isolation_level=7)
        for limit in (-1, 0, 1, 60, 85, 150, 170, 100_000):
            get(f"partition limit {limit}", part(0, 0, limit), part(1, 0, limit), part(2, 0, limit))
            get(f"request limit {limit}", part(0, 0), part(1, 0), part(2, 0), max_bytes=limit)
        get("limit spent by the first", part(2, 0), part(0, 0), part(1, 0), max_bytes=90)
        get("empty first", part(3, 0), part(1, 0), part(0, 0), max_bytes=1)
        get("an error among them", part(0, 0), part(9, 0), part(1, 99), part(2, 0))
        get("partition twice", part(0, 0), part(0, 2))
        get("partition twice, the same", part(0, 0), part(0, 0))
        mixed = fetch(
            version,
            (name, topic_id, [part(0, 0)]),
            ("fetched-too", other, [part(0, 0)]),
            (name, topic_id, [part(1, 0)]),
        )
        asker.ask("topics alternate", version, mixed)
        asker.ask("unknown topic", version, fetch(version, ("nowhere", UNKNOWN_ID, [part(0, 0), part(1, 0)])))
        among = fetch(
            version, (name, topic_id, [part(0, 0)]), ("nowhere", UNKNOWN_ID, [part(0, 0)]),
            ("fetched-too", other, [part(0, 0)]),
        )  # fmt: skip
        asker.ask("unknown topic among others", version, among)
        if version >= 13:
            asker.ask("id 0", version, fetch(version, ("", bytes(16), [part(0, 0)])))
        if version >= 5:
            get("log start offset", part(0, 0, log_start_offset=5))
        if version >= 9:
            for epoch in (0, 1, 9, -2):
                get(f"current epoch {epoch}", part(0, 0, current_leader_epoch=epoch))
                get(f"current epoch {epoch}, bad offset", part(0, 99, current_leader_epoch=epoch))
        if version >= 12:
            for last in (0, 1, 5, -2):
                get(f"last epoch {last}", part(0, 3, last_fetched_epoch=last))
                get(f"last epoch {last}, beyond", part(0, 99, last_fetched_epoch=last))
                get(f"last epoch {last}, waiting", part(0, RECORDS, last_fetched_epoch=last), max_wait_ms=30)


def sessions(asker: Asker) -> None:
    """Sessions that are not there, closed, or not wanted."""
    topic_id = asker.make_topic("sessions")
    _fill(asker, "sessions", topic_id, range(1))
    for version in versions(1)[3:]:
        for session_id, epoch in ((0, -1), (77, -1), (77, 1), (77, 0), (-5, 3), (0, -2)):
            request = fetch(
                version, ("sessions", topic_id, [part(0, 0)]), session_id=session_id, session_epoch=epoch
            )
            asker.ask(f"session {session_id} epoch {epoch}", version, request)
        asker.ask("session 77 without topics", version, fetch(version, session_id=77, session_epoch=2))
        asker.ask("close without topics", version, fetch(version, session_id=77, session_epoch=-1))


def offsets(asker: Asker) -> None:
    """ListOffsets by every constant and by times, in compressed batches too."""
    name = "listed"
    topic_id = asker.make_topic(name, 4)
    for partition, codec in enumerate((Codec.NONE, Codec.GZIP, Codec.LZ4)):
        for start in (0, 1000, 500):
            data = batch(codec=codec, timestamp=TIMESTAMP_MS + start, step_ms=10)
            asker.exchange(12, produce(12, name, topic_id, (partition, data)))
    for version in versions(2):

        def get(situation: str, *parts: tuple[int, ...], **fields: int) -> None:
            asker.ask(situation, version, list_offsets(name, *parts, **fields))  # type: ignore[arg-type]

        for timestamp in (-1, -2, -3, -4, -5, -6, -7, -100):
            for partition in (0, 1, 3):
                get(f"timestamp {timestamp} of {partition}", (partition, timestamp))
        for since in (-TIMESTAMP_MS, -1, 0, 1, 10, 11, 20, 21, 500, 510, 521, 1000, 1010, 1011, 1020, 1021):
            get(f"from {since} ms", *((partition, TIMESTAMP_MS + since) for partition in range(4)))
        get("largest timestamp", (0, INT64_MAX))
        get("no such partition", (9, -1))
        get("negative partition", (-1, -1))
        get("no partition")
        get("partition twice", (0, -1), (0, -2), (1, -1))
        get("debugging replica", (0, -1), replica_id=-2)
        get("follower", (0, -1), replica_id=1)
        get("another follower", (0, -1), replica_id=5)
        get("replica -3", (0, -1), replica_id=-3)
        asker.ask("unknown topic", version, list_offsets("nowhere", (0, -1), (1, -2)))
        asker.ask("bad name", version, list_offsets("no/slash", (0, -1)))
        asker.ask("no topic", version, m.ListOffsetsRequest(replica_id=-1, topics=[]))
        if version >= 2:
            get("committed", (0, -1), (1, -2), isolation_level=1)
            get("isolation 5", (0, -1), isolation_level=5)
        if version >= 4:
            for epoch in (0, 1, 9, -2):
                get(f"current epoch {epoch}", (0, -1, epoch), (1, TIMESTAMP_MS, epoch))


def epochs(asker: Asker) -> None:
    """OffsetForLeaderEpoch."""
    name = "epochs"
    topic_id = asker.make_topic(name, 2)
    _fill(asker, name, topic_id, range(1))
    for version in versions(23):
        for partition, epoch, current in (
            *((0, e, -1) for e in (0, 1, 5, -1, -2)),
            *((1, e, -1) for e in (0, 1, -1)),
            *((0, 0, c) for c in (0, 1, 9, -2)),
            (7, 0, -1),
            (-1, 0, -1),
        ):
            for replica in (-1, -2, 1) if version >= 3 else (-1,):
                request = _epoch_of(name, partition, epoch, current)
                if version >= 3:
                    request.replica_id = replica
                situation = f"{partition} epoch {epoch} current {current} replica {replica}"
                asker.ask(situation, version, request)
        asker.ask("unknown topic", version, _epoch_of("nowhere", 0, 0, -1))
        asker.ask("no topic", version, m.OffsetForLeaderEpochRequest(topics=[]))


def deletions(asker: Asker) -> None:
    """DeleteRecords, and what a fetch and ListOffsets say afterwards."""
    for version in versions(21):
        name = f"shortened-{version}"
        topic_id = asker.make_topic(name, 2)
        _fill(asker, name, topic_id, range(1))
        compacted = f"compacted-only-{version}"
        asker.make_topic(compacted, cleanup_policy="compact")
        asker.make_topic(f"both-{version}", cleanup_policy="compact,delete")
        for topic, *parts in (
            (name, (0, 0)), (name, (0, 1)), (name, (0, 4)), (name, (0, 2)), (name, (0, 99)),
            (name, (0, -2)), (name, (5, 1)), (name, (-1, 1)), (name, (1, 0)), (name, (1, -1)),
            (name, (0, 5), (1, 9), (8, 1)), (name, (0, 5), (0, 6)), (name,), ("nowhere", (0, 1)),
            (compacted, (0, -1)), (f"both-{version}", (0, -1)),
        ):  # fmt: skip
            asker.ask(f"{topic} {parts}", version, _delete(topic, *parts))
            for offset in (0, 4):
                after = fetch(12, (name, topic_id, [part(0, offset)]))
                asker.ask(f"{offset} after {topic} {parts}", 12, after)
            asker.ask(f"offsets after {topic} {parts}", 7, list_offsets(name, (0, -2)))
        asker.ask("to the end", version, _delete(name, (0, -1)))
        asker.ask("offsets at the end", 7, list_offsets(name, (0, -2), (1, -2)))
        asker.ask("time at the end", 7, list_offsets(name, (0, TIMESTAMP_MS), (1, -3)))
        asker.ask("largest time at the end", 7, list_offsets(name, (0, -3)))
        asker.ask("append after", 12, produce(12, name, topic_id, (0, batch())))
        asker.ask("fetch after append", 12, fetch(12, (name, topic_id, [part(0, 6)])))
        asker.ask("no topic", version, m.DeleteRecordsRequest(topics=[], timeout_ms=1000))


def _fill(asker: Asker, name: str, topic_id: bytes, partitions: range) -> None:
    for partition in partitions:
        for _ in range(2):
            asker.exchange(12, produce(12, name, topic_id, (partition, batch())))


def _epoch_of(name: str, partition: int, epoch: int, current: int) -> m.OffsetForLeaderEpochRequest:
    one = m.OffsetForLeaderEpochRequestOffsetForLeaderPartition(
        partition=partition, leader_epoch=epoch, current_leader_epoch=current
    )
    topic = m.OffsetForLeaderEpochRequestOffsetForLeaderTopic(topic=name, partitions=[one])
    return m.OffsetForLeaderEpochRequest(topics=[topic])


def _delete(name: str, *parts: tuple[int, int]) -> m.DeleteRecordsRequest:
    asked = [m.DeleteRecordsRequestDeleteRecordsPartition(partition_index=p, offset=o) for p, o in parts]
    return m.DeleteRecordsRequest(
        topics=[m.DeleteRecordsRequestDeleteRecordsTopic(name=name, partitions=asked)], timeout_ms=3000
    )


SITUATIONS = (fetches, sessions, offsets, epochs, deletions)
