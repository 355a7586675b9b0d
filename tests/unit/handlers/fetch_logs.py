"""Logs as a fetch handler sees them: bounds and bytes of partitions that a test moves by hand.

Stands in for ReplicaManager, so that what a session tells can be tested without a log. A byte is a record and
an offset; reads keep Apache Kafka's shared limit and its exception for the first partition with data.
"""

from typing import Any

from barnabas.base.errors import ErrorCode
from barnabas.protocol import messages
from barnabas.replica.fetch import FetchOutcome, FetchPartitionResult, FetchReason
from tests.unit.handlers.conftest import Peer, replay


class Log:
    """One partition's log.

    Attributes:
        error: what reading it gives instead of records.
        preferred: the replica it sends consumers to, -1 for none.
        diverging: what it tells of the reader's history, None for nothing.
    """

    def __init__(self) -> None:
        self.high_watermark = 0
        self.log_start_offset = 0
        self.error = ErrorCode.NONE
        self.preferred = -1
        self.diverging: tuple[int, int] | None = None


class Slice(bytes):
    """Stands for a file slice."""

    released = False

    @property
    def length(self) -> int:
        return len(self)

    def release(self) -> None:
        self.released = True

    def read(self) -> bytes:
        return bytes(self)


class FakeLogs:
    """Answers fetches from its logs, at once or when `answer_parked` is called.

    Attributes:
        parks: whether fetches wait for `answer_parked`.
        asked: of each fetch, the (topic, partition) in the order they were to be read.
    """

    selects_replicas = False

    def __init__(self) -> None:
        self.logs: dict[tuple[str, int], Log] = {}
        self.ids: dict[str, bytes] = {}
        self.parks = False
        self.parked: list[tuple[Any, Any, Any]] = []
        self.asked: list[list[tuple[str, int]]] = []
        self.slices: list[Slice] = []

    def fetch(self, params: Any, partitions: Any, respond: Any, owner: Any) -> None:
        self.asked.append([(part.topic, part.partition) for part in partitions])
        if self.parks:
            self.parked.append((params, partitions, respond))
        else:
            respond(self._outcome(params, partitions))

    def answer_parked(self) -> None:
        """Answer the longest parked fetch with what is there now."""
        params, partitions, respond = self.parked.pop(0)
        respond(self._outcome(params, partitions))

    def settle(self, session: Any, outcome: FetchOutcome) -> None:
        """These logs change without a word, so that everything is read each time."""

    def compression_type(self, topic: str, partition: int) -> str:
        return "producer"

    def _outcome(self, params: Any, partitions: Any) -> FetchOutcome:
        asked = list(partitions)
        left, results, found = params.max_bytes, [], 0
        for part in asked:
            result = self._read(part, min(part.max_bytes, left), first=found == 0)
            if result.records is not None:
                found += result.records.length
                left = max(0, left - result.records.length)
            results.append(result)
        return FetchOutcome(asked, results, FetchReason.ENOUGH_BYTES, found)

    def _read(self, part: Any, max_bytes: int, *, first: bool) -> FetchPartitionResult:
        log = self.logs[part.topic, part.partition]
        error = log.error
        if part.topic_id not in (self.ids[part.topic], bytes(16)):
            error = ErrorCode.INCONSISTENT_TOPIC_ID
        elif error == ErrorCode.NONE and not log.log_start_offset <= part.fetch_offset <= log.high_watermark:
            error = ErrorCode.OFFSET_OUT_OF_RANGE
        if error != ErrorCode.NONE:
            return FetchPartitionResult(error)
        count = min(log.high_watermark - part.fetch_offset, max(max_bytes, 1 if first else 0))
        result = FetchPartitionResult(
            ErrorCode.NONE, log.high_watermark, log.high_watermark, log.log_start_offset
        )
        result.preferred_read_replica = log.preferred
        result.diverging_epoch = log.diverging
        if count and log.preferred < 0 and log.diverging is None:
            result.records = Slice(b"r" * count)  # type: ignore[assignment]
            self.slices.append(result.records)  # type: ignore[arg-type]
        return result


class Reader:
    """A client with sessions over FakeLogs; topics are made and deleted in the metadata, too."""

    def __init__(self, services: Any, version: int) -> None:
        self.version = version
        self.logs = FakeLogs()
        services.replicas = self.logs
        self.services = services
        self.peer = Peer(services)
        self.all_ids: dict[str, list[bytes]] = {}
        self.names: dict[bytes, str] = {}

    @property
    def with_ids(self) -> bool:
        return self.version >= 13

    def make(self, name: str, partitions: int = 2) -> bytes:
        """Make a topic; its id tells its name and how often there was one of it."""
        topic_id = name.encode().ljust(15, b"-") + bytes([len(self.all_ids.setdefault(name, [])) + 1])
        self.announce(name, topic_id)
        replay(
            self.services.image,
            messages.TopicRecord(name=name, topic_id=topic_id),
            *(
                messages.PartitionRecord(
                    partition_id=number, topic_id=topic_id, replicas=[1], isr=[1], leader=1
                )
                for number in range(partitions)
            ),
        )
        for number in range(partitions):
            self.logs.logs[name, number] = Log()
        return topic_id

    def announce(self, name: str, topic_id: bytes) -> None:
        """Let requests ask for an id, whether there is such a topic or not."""
        self.all_ids.setdefault(name, []).append(topic_id)
        self.names[topic_id] = name
        self.logs.ids[name] = topic_id

    def delete(self, name: str) -> None:
        topic_id = self.logs.ids[name]
        replay(self.services.image, messages.RemoveTopicRecord(topic_id=topic_id))
        for key in [key for key in self.logs.logs if key[0] == name]:
            del self.logs.logs[key]

    def append(self, name: str, partition: int, count: int = 1) -> None:
        self.logs.logs[name, partition].high_watermark += count

    def topic(self, name: str, *parts: Any, topic_id: bytes | None = None) -> messages.FetchRequestFetchTopic:
        """Ask for partitions: numbers, or (number, offset), or (number, offset, max bytes)."""
        made = messages.FetchRequestFetchTopic(partitions=[_asked(part) for part in parts])
        if self.with_ids:
            made.topic_id = self.logs.ids[name] if topic_id is None else topic_id
        else:
            made.topic = name
        return made

    def fetch(self, session_id: int, epoch: int, *topics: Any, forget: Any = (), **fields: Any) -> Any:
        """Send a fetch and return its answer, None when it parked.

        Args:
            forget: (name, partition)s.
        """
        return self.peer.send(self.request(session_id, epoch, *topics, forget=forget, **fields), self.version)

    def request(
        self, session_id: int, epoch: int, *topics: Any, forget: Any = (), **fields: Any
    ) -> messages.FetchRequest:
        request = messages.FetchRequest(
            max_wait_ms=500,
            min_bytes=1,
            max_bytes=fields.pop("max_bytes", 1000),
            session_id=session_id,
            session_epoch=epoch,
            topics=list(topics),
            **fields,
        )
        for name, partition in forget:
            gone = messages.FetchRequestForgottenTopic(partitions=[partition])
            if self.with_ids:
                gone.topic_id = self.logs.ids[name]
            else:
                gone.topic = name
            request.forgotten_topics_data.append(gone)
        return request

    def told(self, response: Any) -> list[tuple[str, int, int, int, int]]:
        """Return (topic, partition, error, high watermark, bytes) of an answer."""
        return [
            (
                topic.topic or self.names.get(bytes(topic.topic_id), "?"),
                part.partition_index,
                part.error_code,
                part.high_watermark,
                len(part.records or b""),
            )
            for topic in response.responses
            for part in topic.partitions
        ]


def _asked(part: Any) -> messages.FetchRequestFetchPartition:
    number, offset, max_bytes = (*part, 100)[:3] if isinstance(part, tuple) else (part, 0, 100)
    return messages.FetchRequestFetchPartition(
        partition=number, fetch_offset=offset, partition_max_bytes=max_bytes
    )
