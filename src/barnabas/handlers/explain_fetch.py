"""How a whole Fetch request would be answered, as a document for people and programs.

The steps of the handler stand here: what the version carries, session, limits, topic, response, sending.
Those of one partition are the replica layer's (`replica/explain.py`). As there, the handler's own functions
decide (`fetch_params`, `sort_out`, `FetchSessionCache.resume`, `FetchSession.news`); a session is copied
before they change it.

The same code explains from a running broker (`local_explain.py`) and from a data directory
(`server/directory_view.py`): both fill in an `ExplainedBroker`.
"""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.base.cold_reads import ColdReadError
from barnabas.base.dataclass import dataclass
from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.hints import TYPE_CHECKING, Any, Final, cast
from barnabas.base.uuids import NULL_UUID, uuid_text
from barnabas.handlers.api_01_fetch import FIRST_WITH_TOPIC_IDS, FIRST_WITH_ZSTD, fetch_params
from barnabas.handlers.explain_transactions import HolderOf, held_back
from barnabas.handlers.fetch_partitions import asked_partitions, sort_out
from barnabas.handlers.fetch_question import FetchQuestion
from barnabas.handlers.fetch_session import FINAL_EPOCH, INITIAL_EPOCH, CachedPartition, FetchSession
from barnabas.handlers.fetch_session_cache import INVALID_SESSION_ID, FetchSessionCache
from barnabas.handlers.services import HandlerSettings
from barnabas.net.output import JOIN_BYTES_MAX
from barnabas.protocol import messages
from barnabas.replica.explain import ExplainStep, FetchExplanation, explain_fetch
from barnabas.replica.fetch import (
    CONSUMER_REPLICA_ID,
    NO_LEADER_EPOCH,
    FetchIsolation,
    FetchParams,
    FetchPartition,
    fetch_isolation,
)

if TYPE_CHECKING:
    from barnabas.handlers.request import RequestContext
    from barnabas.metadata.image import MetadataImage
    from barnabas.replica.fetch_reader import FetchReader
    from barnabas.replica.hosted_partitions import HostedPartitions

_FIRST_WITH_REPLICA_STATE: Final = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerSending:
    """How a listener sends slices (F41).

    Attributes:
        zero_copy: False for TLS: the process has to read what it encrypts.
        zero_copy_min_bytes: slices from this size on go by sendfile.
    """

    name: str
    fetch_mode: str
    zero_copy: bool
    zero_copy_min_bytes: int

    def how_sent(self, length: int) -> str:
        """Return how a slice of this size goes out: a key of the words for people."""
        if not self.zero_copy:
            return "encrypt"
        if length >= self.zero_copy_min_bytes:
            return "sendfile"
        return "copy" if length <= JOIN_BYTES_MAX else "stage"


_HOW_SENT: Final = {
    "encrypt": "the process reads and encrypts them piece by piece",
    "sendfile": "sendfile, from the page cache to the socket",
    "copy": "read once and sent together with what is before and behind them",
    "stage": "read and sent piece by piece",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedBroker:
    """What a fetch is answered from.

    Attributes:
        sessions: None when no broker runs, hence no session lives.
        holder_of: tells of transactions; None when no broker runs.
    """

    image: MetadataImage
    settings: HandlerSettings
    partitions: HostedPartitions
    reader: FetchReader
    sessions: FetchSessionCache | None
    listeners: Sequence[ListenerSending]
    holder_of: HolderOf | None = None


class _AskedContext:
    """Stands where a request's context is, for `fetch_params`."""

    def __init__(self, broker: ExplainedBroker, version: int) -> None:
        self.services = broker
        self.api_version = version
        self.client_id = "explain"
        self.connection = self
        self.peer_host = ""
        self.listener_name = broker.listeners[0].name if broker.listeners else ""


def explain(broker: ExplainedBroker, question: FetchQuestion) -> dict[str, Any]:
    """Return how a fetch would be answered: `request`, `steps` and `answer`, fit for JSON.

    Raises:
        ValueError: no request could ask this.
    """
    question.check()
    explaining = _Explaining(broker, question)
    explaining.run()
    return {
        "request": explaining.described(),
        "steps": [
            {"step": step.name, "rule": step.rule, "text": step.text, "facts": step.facts}
            for step in explaining.steps
        ],
        "answer": explaining.answer,
    }


def cold_pages(broker: ExplainedBroker, question: FetchQuestion) -> ColdReadError | None:
    """Return what an explanation would have to read from the disk; None when it would not wait (F44).

    Only the partition asked about is looked at, not the others of a session.
    """
    partition = broker.partitions.by_name.get((question.topic, question.partition))
    if partition is None or partition.access_error(NO_LEADER_EPOCH, only_leader=False) is not ErrorCode.NONE:
        return None
    isolation = fetch_isolation(question.replica_id, int(question.read_committed))
    try:
        found = partition.log.read(
            question.offset,
            partition.bound(isolation),
            question.partition_max_bytes,
            min_one_message=True,
            include_aborted=isolation is FetchIsolation.TXN_COMMITTED,
            may_wait=False,
        )
    except ColdReadError as cold:
        return cold
    except ApiError:
        return None  # it is told in its place
    if found.records is not None:
        found.records.release()
    return None


class _Explaining:
    """One explanation in the making."""

    def __init__(self, broker: ExplainedBroker, question: FetchQuestion) -> None:
        self.broker = broker
        self.question = question
        self.steps: list[ExplainStep] = []
        self.answer: dict[str, Any] = {}
        self.with_ids = question.version >= FIRST_WITH_TOPIC_IDS
        topic = broker.image.topics.get(question.topic)
        self.topic_id = topic.topic_id if topic is not None else NULL_UUID
        self.request = self._as_sent()

    def described(self) -> dict[str, Any]:
        question = self.question
        return {
            "topic": question.topic,
            "partition": question.partition,
            "offset": question.offset,
            "version": question.version,
            "isolation": "read_committed" if question.read_committed else "read_uncommitted",
            "max_bytes": question.max_bytes,
            "partition_max_bytes": question.partition_max_bytes,
            "min_bytes": question.min_bytes,
            "max_wait_ms": question.max_wait_ms,
            "leader_epoch": question.leader_epoch,
            "last_fetched_epoch": question.last_fetched_epoch,
            "replica_id": question.replica_id,
            "session": list(question.session),
        }

    def _as_sent(self) -> messages.FetchRequest:
        """Return the request as a broker gets it: with what its version carries and nothing else."""
        question = self.question
        partition = messages.FetchRequestFetchPartition(
            partition=question.partition,
            current_leader_epoch=question.leader_epoch,
            fetch_offset=question.offset,
            last_fetched_epoch=question.last_fetched_epoch,
            partition_max_bytes=question.partition_max_bytes,
        )
        topic = messages.FetchRequestFetchTopic(partitions=[partition])
        if self.with_ids:
            topic.topic_id = self.topic_id
        else:
            topic.topic = question.topic
        request = messages.FetchRequest(
            max_wait_ms=question.max_wait_ms,
            min_bytes=question.min_bytes,
            max_bytes=question.max_bytes,
            isolation_level=int(question.read_committed),
            session_id=question.session[0],
            session_epoch=question.session[1],
            topics=[topic],
        )
        if question.version >= _FIRST_WITH_REPLICA_STATE:
            request.replica_state.replica_id = question.replica_id
        else:
            request.replica_id = question.replica_id
        return messages.FetchRequest.decode(request.encode(question.version), question.version)

    def step(self, name: str, rule: str, text: str, **facts: object) -> None:
        self.steps.append(ExplainStep(name=name, rule=rule, text=text, facts=facts))

    # The steps of a request

    def run(self) -> None:
        request, version = self.request, self.question.version
        context = cast("RequestContext", _AskedContext(self.broker, version))
        params = fetch_params(context, request, selects_replicas=self.broker.reader.selects_replicas)
        self._tell_reader(params)
        session = self._session()
        if session is None and self.answer:
            return
        self._tell_limits(params)
        if session is None:
            asked = asked_partitions(request.topics, FetchPartition, with_ids=self.with_ids)
            readable: Sequence[FetchPartition]
            readable, failed = sort_out(
                asked, self.broker.image, with_ids=self.with_ids, in_order=params.is_from_follower
            )
            codes = [code for _, code in failed]
        else:
            missing = session.resolve(self.broker.image, in_order=params.is_from_follower)
            readable = list(session.reading)
            codes = [code for part, code in missing if self._is_asked(part)]
        self._tell_topic(codes)
        focus = next((at for at, part in enumerate(readable) if self._is_asked(part)), None)
        if focus is None:
            self._answer_missing(codes[0], params, readable)
            return
        explained = explain_fetch(self.broker.reader, self.broker.partitions, params, readable, focus)
        self.steps += explained.steps
        self._tell_transaction(readable[focus])
        self._respond(explained, session, readable[focus])

    def _is_asked(self, partition: FetchPartition) -> bool:
        name = self.topic_id if self.with_ids else self.question.topic
        theirs = partition.topic_id if self.with_ids else partition.topic
        return (theirs, partition.partition) == (name, self.question.partition)

    def _tell_reader(self, params: FetchParams) -> None:
        version, replica_id = self.question.version, params.replica_id
        if params.is_from_follower:
            who = f"the follower on node {replica_id}"
        else:
            who = (
                "a consumer" if replica_id == CONSUMER_REPLICA_ID else f"replica id {replica_id}, no follower"
            )
        named = "by id" if self.with_ids else "by name"
        where = "must hit the leader" if params.fetch_only_leader else "may read any replica"
        self.step(
            "request", "F1", f"Fetch v{version} of {who}: topics are named {named}, it {where}",
            version=version, replica_id=replica_id, topic_ids=self.with_ids,
            only_leader=params.fetch_only_leader,
        )  # fmt: skip

    def _session(self) -> FetchSession | None:
        """Return a copy of the session that the request continues, changed by it; tell what it means."""
        request = self.request
        session_id, epoch = request.session_id, request.session_epoch
        facts = {"session_id": session_id, "session_epoch": epoch}
        if epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            ends = f"ends session {session_id}; then it is " if session_id != INVALID_SESSION_ID else ""
            full = (
                "a full fetch that opens a session" if epoch == INITIAL_EPOCH else "a full fetch without one"
            )
            self.step("session", "F34", f"session ({session_id}, {epoch}): {ends}{full}", **facts)
            return None
        if self.broker.sessions is None:
            session, error = None, ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        else:
            session, error = self.broker.sessions.resume(session_id, epoch, uses_topic_ids=self.with_ids)
        if session is None:
            self.step(
                "session", "F35", f"session ({session_id}, {epoch}): {error.name} ({int(error)}), no topics",
                **facts, error_code=int(error),
            )  # fmt: skip
            self.answer = {"answer": "now", "reason": "session error", "error_code": int(error),
                           "error": error.name, "session_id": 0}  # fmt: skip
            return None
        copy = _copied(session)
        copy.update(request.topics, request.forgotten_topics_data)
        self.step(
            "session", "F35",
            f"session ({session_id}, {epoch}) goes on with {len(copy.partitions)} partition(s), this "
            "one as asked; the next request has to name the next epoch",
            **facts, partitions=len(copy.partitions),
        )  # fmt: skip
        return copy

    def _tell_limits(self, params: FetchParams) -> None:
        request, ours = self.request, self.broker.settings.fetch_max_bytes
        capped = " (fetch.max.bytes of the broker)" if request.max_bytes > ours else ""
        self.step(
            "limits", "F4",
            f"max.bytes {params.max_bytes}{capped}, min.bytes {params.min_bytes}, "
            f"max.wait {params.max_wait_ms} ms, this partition at most {self.question.partition_max_bytes}",
            max_bytes=params.max_bytes, min_bytes=params.min_bytes, max_wait_ms=params.max_wait_ms,
            partition_max_bytes=self.question.partition_max_bytes, broker_max_bytes=ours,
        )  # fmt: skip

    def _tell_topic(self, codes: Sequence[ErrorCode]) -> None:
        question = self.question
        facts: dict[str, object] = {"topic": question.topic, "topic_id": uuid_text(self.topic_id)}
        if codes:
            what = question.topic if self.topic_id == NULL_UUID else f"{question.topic}-{question.partition}"
            text = f"the metadata have no {what}: {codes[0].name} ({int(codes[0])})"
            facts["error_code"] = int(codes[0])
        elif self.with_ids:
            text = f"topic id {uuid_text(self.topic_id)} is {question.topic}"
        else:
            text = f"topic {question.topic} is in the metadata"
        self.step("topic", "F9", text, **facts)

    def _tell_transaction(self, asked: FetchPartition) -> None:
        partition = self.broker.partitions.by_name.get((asked.topic, asked.partition))
        if self.question.read_committed and partition is not None:
            step = held_back(partition, self.broker.holder_of)
            if step is not None:
                self.steps.append(step)

    # The answer

    def _answer_missing(
        self, code: ErrorCode, params: FetchParams, readable: Sequence[FetchPartition]
    ) -> None:
        self.answer = {
            "answer": "now",
            "reason": "nothing to read",
            "error_code": int(code),
            "error": code.name,
            "records": None,
        }
        text = "answered now: none of the partitions can be read"
        if readable:
            text = "told last in the answer; when that comes depends on the session's other partitions"
        elif params.max_wait_ms <= 0:
            text = "answered now: max.wait is 0"
        self.step("decision", "F15", text, answer="now")

    def _respond(
        self, explained: FetchExplanation, session: FetchSession | None, partition: FetchPartition
    ) -> None:
        result, place = explained.result, explained.slice_place
        code = result.error_code
        if self.question.version < FIRST_WITH_ZSTD and code is ErrorCode.NONE and self._is_zstd(partition):
            code, place = ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, None
            self.step(
                "zstd", "F2b",
                f"the topic is stored as zstd, which Fetch v{self.question.version} cannot tell: "
                f"{code.name} ({int(code)})",
                error_code=int(code),
            )  # fmt: skip
        aborted = result.aborted_transactions
        self.answer = {
            "answer": "park" if explained.reason is None else "now",
            "reason": None if explained.reason is None else explained.reason.value,
            "error_code": int(code),
            "error": code.name,
            "high_watermark": result.high_watermark,
            "last_stable_offset": result.last_stable_offset,
            "log_start_offset": result.log_start_offset,
            "aborted_transactions": None if aborted is None else [
                {"producer_id": entry.producer_id, "first_offset": entry.first_offset} for entry in aborted
            ],
            "diverging_epoch": None if result.diverging_epoch is None else list(result.diverging_epoch),
            "preferred_read_replica": result.preferred_read_replica,
            "records": None if place is None else
            {"file": place[0], "position": place[1], "length": place[2]},
        }  # fmt: skip
        if session is not None:
            assert isinstance(partition, CachedPartition)
            self._tell_news(explained, partition)
        if explained.reason is not None and place is not None:
            self._tell_sending(place[2])

    def _is_zstd(self, partition: FetchPartition) -> bool:
        found = self.broker.partitions.by_name.get((partition.topic, partition.partition))
        return found is not None and found.log.config.compression_type == "zstd"

    def _tell_news(self, explained: FetchExplanation, partition: CachedPartition) -> None:
        """Tell whether the answer to a session's request has the partition at all (F37)."""
        alone = FetchSession(1, {}, self.with_ids, False, 0, "", "")
        told, _ = alone.news([partition], [explained.result], [])
        self.answer["in_response"] = bool(told)
        if told:
            text = "there is news of the partition, so it is in the answer"
        else:
            text = "nothing new since the session's last answer: the partition is left out"
        self.step("news", "F37", text, in_response=bool(told))

    def _tell_sending(self, length: int) -> None:
        for listener in self.broker.listeners:
            how = listener.how_sent(length)
            text = _HOW_SENT[how]
            self.step(
                "sending", "F41",
                f"on {listener.name} (fetch.mode={listener.fetch_mode}) the {length} bytes go out: {text}",
                listener=listener.name, fetch_mode=listener.fetch_mode, how=how, length=length,
            )  # fmt: skip


def _copied(session: FetchSession) -> FetchSession:
    """Return a session of copies, to be changed at will."""
    partitions = {}
    for key, cached in session.partitions.items():
        copy = CachedPartition(
            cached.topic, cached.topic_id, cached.partition, cached.fetch_offset, cached.max_bytes,
            cached.current_leader_epoch, cached.last_fetched_epoch, cached.log_start_offset,
        )  # fmt: skip
        copy.told(cached.told_high_watermark, cached.told_log_start_offset)
        partitions[key] = copy
    return FetchSession(
        session.id, partitions, session.uses_topic_ids, session.privileged, session.created_ms,
        session.client_id, session.client_host,
    )  # fmt: skip
