"""Many partitions: Metadata of ten thousand, and a fetch session of a thousand with one that has records."""

import time
from dataclasses import dataclass

from barnabas.protocol import messages as m
from barnabas.protocol.api_keys import ApiKey
from benchmarks.asking import EPOCH_MARK, AnsweredError, Asker, Topic, batch, chunks, place_of
from benchmarks.brokers.server import Server
from benchmarks.generators import load
from benchmarks.watching import settle_calm
from benchmarks.workloads.workload import Case, Figures, Scale, SkipError, Turn, Workload

TOPICS = 1000
QUICK_TOPICS = 100
PARTITIONS_PER_TOPIC = 10
TOPICS_PER_REQUEST = 50
CREATE_S_MAX = 180
LEADERS_S_MAX = 30
SESSION_SIZES = (1, 1000)
VALUE_BYTES = 1024
SESSION_CASE = "session of {:,}, one hot"


def prepare(server: Server, _scale: Scale) -> None:
    """Make the topics of the sessions."""
    with Asker(server.port) as asker:
        if ApiKey.CREATE_TOPICS not in asker.versions:
            raise SkipError("no CreateTopics")
        for size in SESSION_SIZES:
            topic = asker.make_topic(f"session-{size}", partitions=size)
            asker.produce(topic, batch(VALUE_BYTES))
    settle_calm(server)


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A fetch session that was opened."""

    frame: bytes
    epoch_at: int
    answer_bytes: int


def open_session(asker: Asker, topic: Topic, size: int) -> Session:
    """Open a session of a topic's partitions, at rest but for the first; return the request that polls it.

    The request names the first partition again with its first offset, as a consumer names one that it got
    records of with the next offset: so there always is something to answer.
    """
    if not asker.names_by_id(ApiKey.FETCH, topic):
        version, by_id = asker.version(ApiKey.FETCH, 12), False
    else:
        version, by_id = asker.version(ApiKey.FETCH), True

    def asked(numbers: range, offset: int) -> list[m.FetchRequestFetchTopic]:
        named = m.FetchRequestFetchTopic(
            partitions=[
                m.FetchRequestFetchPartition(
                    partition=number, fetch_offset=offset if number == 0 else 0, partition_max_bytes=1 << 20
                )
                for number in numbers
            ]
        )
        if by_id:
            named.topic_id = topic.topic_id
        else:
            named.topic = topic.name
        return [named]

    def request(session_id: int, epoch: int, topics: list[m.FetchRequestFetchTopic]) -> m.FetchRequest:
        return m.FetchRequest(
            max_wait_ms=0,
            min_bytes=1,
            max_bytes=50 << 20,
            session_id=session_id,
            session_epoch=epoch,
            topics=topics,
        )

    deadline = time.monotonic() + LEADERS_S_MAX
    while True:
        opened = asker.ask(request(0, 0, asked(range(size), 0)), version)
        if opened.error_code or opened.session_id == 0:
            raise SkipError(f"no fetch session: error {opened.error_code}, id {opened.session_id}")
        wrong = {part.error_code for told in opened.responses for part in told.partitions} - {0}
        if not wrong:
            break
        if time.monotonic() > deadline:
            raise AnsweredError(f"a session of {size} partitions: errors {wrong}")
        time.sleep(0.1)
    polled = asker.ask(request(opened.session_id, 1, asked(range(1), 0)), version)
    if polled.error_code or len(polled.responses) != 1 or len(polled.responses[0].partitions) != 1:
        raise SkipError(f"an incremental fetch is not answered with the one partition: {polled.error_code}")
    frame = asker.frame(ApiKey.FETCH, version, request(opened.session_id, EPOCH_MARK, asked(range(1), 0)))
    at = place_of(frame, EPOCH_MARK, 4)
    frame = frame[:at] + (2).to_bytes(4, "big") + frame[at + 4 :]
    return Session(frame=frame, epoch_at=at, answer_bytes=VALUE_BYTES)


def poll_session(turn: Turn, size: int) -> Figures:
    """Poll a session of so many partitions as fast as it answers."""
    with Asker(turn.server.port) as asker:
        topic = asker.find_topic(f"session-{size}", partitions=size)
        session = open_session(asker, topic, size)
        found = load(
            port=turn.server.port,
            frame=session.frame,
            folder=turn.folder,
            connections=1,
            seconds=turn.scale.seconds,
            answer_bytes_min=session.answer_bytes,
            epoch_at=session.epoch_at,
        )
    return {name: found[name] for name in ("per_second", "p50_us", "p99_us")} | {"requests": found["answers"]}


def create_all(turn: Turn) -> Figures:
    """Make ten thousand partitions."""
    count = QUICK_TOPICS if turn.scale.is_quick else TOPICS
    made = m.CreateTopicsRequestCreatableTopic
    began = time.monotonic()
    with Asker(turn.server.port) as asker:
        for names in chunks([f"many-{number:04}" for number in range(count)], TOPICS_PER_REQUEST):
            topics = [
                made(name=name, num_partitions=PARTITIONS_PER_TOPIC, replication_factor=1) for name in names
            ]
            request = m.CreateTopicsRequest(topics=topics, timeout_ms=CREATE_S_MAX * 1000)
            answer = asker.ask(request, asker.version(ApiKey.CREATE_TOPICS))
            if errors := {one.error_code for one in answer.topics} - {0}:
                raise AnsweredError(f"CreateTopics: errors {errors}")
            if time.monotonic() > began + CREATE_S_MAX:
                raise AnsweredError(f"not made within {CREATE_S_MAX} s")
        asker.find_topic(f"many-{count - 1:04}", partitions=PARTITIONS_PER_TOPIC)
    return {"seconds": time.monotonic() - began, "made": count * PARTITIONS_PER_TOPIC}


def tell_all(turn: Turn) -> Figures:
    """Ask for Metadata of everything."""
    count = QUICK_TOPICS if turn.scale.is_quick else TOPICS
    with Asker(turn.server.port) as asker:
        version = asker.version(ApiKey.METADATA)
        frame = asker.frame(ApiKey.METADATA, version, m.MetadataRequest(topics=None))
        answer, body = asker.ask_frame(ApiKey.METADATA, version, frame)
        told = sum(len(topic.partitions) for topic in answer.topics)
        if told < count * PARTITIONS_PER_TOPIC:
            raise AnsweredError(f"Metadata tells of {told} partitions")
    found = load(
        port=turn.server.port,
        frame=frame,
        folder=turn.folder,
        connections=1,
        seconds=turn.scale.seconds,
        answer_bytes_min=len(body) // 2,
    )
    figures = {name: found[name] for name in ("per_second", "p50_us", "p99_us")}
    return figures | {"requests": found["answers"], "answer_kb": len(body) / 1000}


def cases(scale: Scale) -> list[Case]:
    """Return the cases: sessions first, while there are few partitions."""
    made = []
    for size in SESSION_SIZES:

        def go(turn: Turn, size: int = size) -> Figures:
            return poll_session(turn, size)

        made.append(
            Case(
                name=SESSION_CASE.format(size),
                run=go,
                figures=("cpu_us_per_request", "per_second", "p50_us", "p99_us"),
                seconds=scale.seconds,
            )
        )
    count = f"{(QUICK_TOPICS if scale.is_quick else TOPICS) * PARTITIONS_PER_TOPIC:,}"
    return [
        *made,
        Case(
            name=f"{count} partitions made",
            run=create_all,
            figures=("seconds", "cpu_s", "peak_mb"),
            seconds=2 if scale.is_quick else 15,
            warm_up=False,
            rounds_max=1,
        ),
        Case(
            name=f"Metadata of {count} partitions",
            run=tell_all,
            figures=("per_second", "p50_us", "p99_us", "cpu_us_per_request", "answer_kb"),
            seconds=scale.seconds,
        ),
    ]


WORKLOAD = Workload(
    name="many-partitions",
    title="Many partitions",
    method="load.c, closed loop, one connection. A session of N partitions is polled with incremental"
    " fetches that name one partition, which has a record of 1 KiB to answer; the others are at"
    " rest. Then 1,000 topics of 10 partitions are made, 50 a request, once per server, and Metadata"
    " of all asked for again and again.",
    cases=cases,
    prepare=prepare,
    prepare_s=6,
    others_rounds=1,
)
