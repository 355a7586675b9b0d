"""One situation: a conversation with a broker, of which every Fetch and its answer are kept as frames.

Requests name topics and sessions; their ids are the broker's own, so a session id in a request is always one
that the same broker gave before. What is to be compared is made of the frames afterwards (recorded.py).
"""

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from barnabas.protocol import messages as m
from barnabas.protocol.api_keys import ApiKey
from tests.interop.fetch_situations.logs import NOW_EPOCH
from tests.interop.first_slice.asker import UNKNOWN_ID, Asker
from tests.interop.first_slice.requests import batch, produce
from tests.interop.situations.exchange import Exchange

VERSIONS = range(4, 19)
FIRST_WITH_SESSIONS = 7
FIRST_WITH_TOPIC_IDS = 13
FIRST_WITH_REPLICA_STATE = 15

AT_ONCE, WAITED = "at once", "waited"
MEANWHILE_S = 0.3
OWN_TOPIC_CONFIGS = {"retention_ms": "-1"}


class Part(NamedTuple):
    """A partition of a request, by its topic's name."""

    topic: str
    asked: m.FetchRequestFetchPartition


def p(
    topic: str, partition: int, offset: int = 0, max_bytes: int = 1 << 20, *, epoch: int = -1, last: int = -1,
    **fields: Any,
) -> Part:  # fmt: skip
    """Ask for a partition.

    Args:
        epoch: the leader's as the client knows it; -1 none.
        last: the epoch of the last record that was fetched; -1 none.
        fields: further ones by name.
    """
    asked = m.FetchRequestFetchPartition(
        partition=partition,
        fetch_offset=offset,
        partition_max_bytes=max_bytes,
        current_leader_epoch=epoch,
        last_fetched_epoch=last,
        **fields,
    )
    return Part(topic, asked)


def all_of(topic: str, partitions: Iterable[int], offset: int = 0, max_bytes: int = 1 << 20) -> list[Part]:
    """Ask for several partitions of a topic from one offset."""
    return [p(topic, partition, offset, max_bytes) for partition in partitions]


class Talk(Asker):
    """A connection to one broker, and what was said on it.

    Attributes:
        exchanges: all that is compared, in order.
        known: `<field>:<value>` -> the name under which that value is compared.
        session_id, next_epoch: of the session that was opened last.
    """

    def __init__(self, port: int) -> None:
        super().__init__(port)
        self.exchanges: list[Exchange] = []
        self.known: dict[str, str] = {f"port:{port}": "its port"}
        self.session_id = 0
        self.next_epoch = 0
        self.learn_topic("nowhere", UNKNOWN_ID)
        listed = self.exchange(12, m.MetadataRequest(topics=None))
        assert isinstance(listed, m.MetadataResponse)
        for topic in listed.topics:
            assert topic.name is not None
            self.learn_topic(topic.name, bytes(topic.topic_id))
        plain = next(topic for topic in listed.topics if topic.name == "plain")
        assert {part.leader_epoch for part in plain.partitions} == {NOW_EPOCH}, "not as the logs were left"

    def learn_topic(self, name: str, topic_id: bytes) -> None:
        super().learn_topic(name, topic_id)
        self.known[f"topic_id:{topic_id.hex()}"] = f"id of {name}"

    def call_id(self, topic_id: bytes, name: str) -> None:
        """Compare an id under another name than its topic's, which has a new id by now."""
        self.known[f"topic_id:{topic_id.hex()}"] = name

    # Asking --------------------------------------------------------------------------------------

    def request(self, version: int, parts: Iterable[Part], **fields: Any) -> m.FetchRequest:
        """Make a request without a session; partitions of one topic in a row are one topic of it.

        Args:
            fields: of the request, by name; `replica` and `replica_epoch` go where the version has them;
                `forget` are (topic, partitions).
        """
        request = m.FetchRequest(max_wait_ms=0, min_bytes=1, max_bytes=1 << 20, topics=[])
        request.session_epoch = -1 if version >= FIRST_WITH_SESSIONS else 0
        named = ""
        for part in parts:
            if part.topic != named or not request.topics:
                named = part.topic
                topic = m.FetchRequestFetchTopic(partitions=[])
                self._name(version, topic, named)
                request.topics.append(topic)
            request.topics[-1].partitions.append(part.asked)
        self._set_replica(version, request, fields)
        forgotten = fields.pop("forget", ())
        assert isinstance(forgotten, list | tuple)
        for name, partitions in forgotten:
            gone = m.FetchRequestForgottenTopic(partitions=list(partitions))
            self._name(version, gone, name)
            request.forgotten_topics_data.append(gone)
        for field, value in fields.items():
            setattr(request, field, value)
        return request

    def _name(
        self, version: int, topic: m.FetchRequestFetchTopic | m.FetchRequestForgottenTopic, name: str
    ) -> None:
        if version >= FIRST_WITH_TOPIC_IDS:
            topic.topic_id = self.topic_ids[name]
        else:
            topic.topic = name

    @staticmethod
    def _set_replica(version: int, request: m.FetchRequest, fields: dict[str, Any]) -> None:
        replica, epoch = fields.pop("replica", -1), fields.pop("replica_epoch", -1)
        assert isinstance(replica, int)
        assert isinstance(epoch, int)
        if version >= FIRST_WITH_REPLICA_STATE:
            request.replica_state = m.FetchRequestReplicaState(replica_id=replica, replica_epoch=epoch)
        else:
            request.replica_id = replica

    def send(
        self,
        version: int,
        request: m.FetchRequest,
        asked: str = "",
        *,
        timed: bool = False,
        meanwhile: Callable[["Talk"], None] | None = None,
    ) -> m.FetchResponse | None:
        """Ask and keep the exchange; None when the broker closed the connection.

        Args:
            timed: keep, too, whether the broker waited about as long as it was allowed to.
            meanwhile: done over another connection while the broker waits.
        """
        began = time.monotonic()
        with contextlib.ExitStack() as stack:
            if meanwhile is not None:
                stack.enter_context(self._meanwhile(meanwhile))
            answer = self.exchange(version, request)
        waited_ms = (time.monotonic() - began) * 1000
        waited = ""
        if timed:
            waited = AT_ONCE if waited_ms < request.max_wait_ms / 2 else WAITED
        number = len(self.exchanges)
        self.exchanges.append(
            Exchange(f"{number} {asked}".strip(), ApiKey.FETCH, version, self.sent, self.received, waited)
        )
        assert answer is None or isinstance(answer, m.FetchResponse)
        # What is only said back, as with some errors, was not drawn by the broker.
        if answer is not None and answer.session_id not in (0, request.session_id):
            sessions = sum(name.startswith("session_id:") for name in self.known)
            self.known.setdefault(f"session_id:{answer.session_id}", f"session {sessions + 1}")
        return answer

    def fetch(
        self,
        version: int,
        *parts: Part,
        timed: bool = False,
        meanwhile: Callable[["Talk"], None] | None = None,
        **fields: Any,
    ) -> m.FetchResponse | None:
        """Fetch without a session, unless the fields name one."""
        request = self.request(version, parts, **fields)
        return self.send(version, request, timed=timed, meanwhile=meanwhile)

    @contextlib.contextmanager
    def _meanwhile(self, act: Callable[["Talk"], None]) -> Iterator[None]:
        other = Talk(self.port)
        timer = threading.Timer(MEANWHILE_S, act, (other,))
        timer.start()
        try:
            yield
        finally:
            timer.join()
            other.close()

    # Sessions ------------------------------------------------------------------------------------

    def open(self, version: int, *parts: Part, **fields: Any) -> None:
        """Fetch all of it and get a session."""
        answer = self.send(version, self.request(version, parts, **{"session_epoch": 0} | fields), "opens")
        assert answer is not None
        self.session_id, self.next_epoch = answer.session_id, 1

    def more(
        self,
        version: int,
        *parts: Part,
        timed: bool = False,
        meanwhile: Callable[["Talk"], None] | None = None,
        **fields: Any,
    ) -> m.FetchResponse | None:
        """Continue the session, with what changed in it; its epoch moves on."""
        session = {"session_id": self.session_id, "session_epoch": self.next_epoch}
        self.next_epoch += 1
        request = self.request(version, parts, **session | fields)
        return self.send(version, request, "continues", timed=timed, meanwhile=meanwhile)

    def close_session(self, version: int, *parts: Part) -> None:
        """End the session."""
        session = {"session_id": self.session_id, "session_epoch": -1}
        self.send(version, self.request(version, parts, **session), "closes")

    # What changes the logs: topics of the situation's own --------------------------------------------

    def own_topic(self, name: str, partitions: int = 1, batches: int = 0, **configs: str) -> str:
        """Make a topic that no other situation knows, with some batches of one record in each partition."""
        self.make_topic(name, partitions, **OWN_TOPIC_CONFIGS | configs)
        for partition in range(partitions):
            for _ in range(batches):
                self.append(name, partition)
        return name

    def append(self, topic: str, partition: int, *values: bytes) -> None:
        """Append one batch."""
        data = batch(values or (b"value",))
        answer = self.exchange(12, produce(12, topic, b"", (partition, data)))
        assert isinstance(answer, m.ProduceResponse)
        assert answer.responses[0].partition_responses[0].error_code == 0, answer

    def delete_before(self, topic: str, partition: int, offset: int) -> None:
        """Move the log start."""
        part = m.DeleteRecordsRequestDeleteRecordsPartition(partition_index=partition, offset=offset)
        asked = m.DeleteRecordsRequestDeleteRecordsTopic(name=topic, partitions=[part])
        answer = self.exchange(2, m.DeleteRecordsRequest(topics=[asked], timeout_ms=10_000))
        assert isinstance(answer, m.DeleteRecordsResponse)
        assert answer.topics[0].partitions[0].error_code == 0, answer

    def delete_topic(self, name: str) -> None:
        """Delete a topic and return once the broker has forgotten it."""
        answer = self.exchange(5, m.DeleteTopicsRequest(topic_names=[name], timeout_ms=10_000))
        assert isinstance(answer, m.DeleteTopicsResponse)
        assert answer.responses[0].error_code == 0, answer
        self.wait_until_gone(name)

    def add_partitions(self, name: str, count: int) -> None:
        """Raise the number of a topic's partitions."""
        asked = m.CreatePartitionsRequestCreatePartitionsTopic(name=name, count=count, assignments=None)
        answer = self.exchange(2, m.CreatePartitionsRequest(topics=[asked], timeout_ms=10_000))
        assert isinstance(answer, m.CreatePartitionsResponse)
        assert answer.results[0].error_code == 0, answer
        self.wait_for_leaders(name, count)
