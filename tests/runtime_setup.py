"""A coordinator that is a toy, over real logs on a disk in memory: for the rules of the runtime."""

from collections.abc import Callable
from typing import Any

from barnabas.base.cold_reads import ColdReads
from barnabas.base.errors import ApiError
from barnabas.coordinator.runtime.config import RuntimeConfig
from barnabas.coordinator.runtime.outcome import CoordinatorRecord, Outcome, Timers
from barnabas.coordinator.runtime.record_codec import RecordCodec
from barnabas.coordinator.runtime.runtime import CoordinatorRuntime
from barnabas.protocol import messages
from tests.unit.replica.broker_setup import Broker

OFFSETS_TOPIC = "__consumer_offsets"
OFFSETS_TOPIC_ID = b"__consumer_offset"[:16]
PARTITIONS = 4


class Answers:
    """What one operation was answered with."""

    def __init__(self) -> None:
        self.replies: list[Any] = []
        self.errors: list[ApiError] = []

    @property
    def count(self) -> int:
        return len(self.replies) + len(self.errors)

    @property
    def error(self) -> str | None:
        """The name of the one error; None when there was none."""
        assert self.count <= 1, "answered twice"
        return self.errors[0].code.name if self.errors else None

    @property
    def reply(self) -> Any:
        (only,) = self.replies
        assert not self.errors
        return only


def entry(key: str, value: str | None) -> CoordinatorRecord:
    """A record of the toy shard."""
    if value is None:
        return CoordinatorRecord(messages.GroupMetadataKey(group=key), None)
    metadata = messages.GroupMetadataValue(protocol_type=value, generation=0)
    return CoordinatorRecord(messages.GroupMetadataKey(group=key), metadata, 3)


class ToyShard:
    """A dictionary as a state machine; `story` tells in order what happened to it."""

    def __init__(self, number: int, timers: Timers) -> None:
        self.number = number
        self.timers = timers
        self.values: dict[str, str] = {}
        self.story: list[str] = []
        self.refuses = ""

    def replay(self, record: CoordinatorRecord, offset: int, producer_id: int) -> None:
        key: Any = record.key
        value: Any = record.value
        if self.refuses == key.group:
            raise KeyError(key.group)
        if value is None:
            self.values.pop(key.group, None)
        else:
            self.values[key.group] = value.protocol_type
        note = f"{offset}:{key.group}={None if value is None else value.protocol_type}"
        self.story.append(note if producer_id == -1 else f"{note} by {producer_id}")

    def replay_transaction_end(self, producer_id: int, *, committed: bool) -> None:
        self.story.append(f"{producer_id} {'committed' if committed else 'aborted'}")

    def loaded(self, now_ms: int) -> None:
        self.story.append("loaded")

    def unloaded(self) -> None:
        self.story.append("unloaded")


class ToyCoordinator:
    """A runtime of toy shards over a broker's logs; `restart` loads them anew."""

    def __init__(self, broker: Broker | None = None, **config: Any) -> None:
        self.broker = broker or Broker(partitions=0)
        if broker is None:
            self.broker.create(OFFSETS_TOPIC, OFFSETS_TOPIC_ID, PARTITIONS)
            self.broker.settle()
        self.config = RuntimeConfig(topic=OFFSETS_TOPIC, partition_count=PARTITIONS, **config)
        self.restart()

    def restart(self, cold_reads: ColdReads | None = None) -> None:
        self.shards: dict[int, ToyShard] = {}
        self.runtime: CoordinatorRuntime[ToyShard] = CoordinatorRuntime(
            config=self.config,
            codec=RecordCodec("group_records"),
            replicas=self.broker.manager,
            clock=self.broker.clock,
            wheel=self.broker.wheel,
            call_soon=self.broker.soon.append,
            make_shard=self._make,
            cold_reads=cold_reads,
        )

    def _make(self, number: int, timers: Timers) -> ToyShard:
        self.shards[number] = ToyShard(number, timers)
        return self.shards[number]

    def write(self, key: str, operation: Callable[[ToyShard, int], Outcome[Any]]) -> Answers:
        answers = Answers()
        self.runtime.write(key, operation, answers.replies.append, answers.errors.append)
        return answers

    def put(self, key: str, value: str | None, **options: Any) -> Answers:
        """Set a value; answered with it."""
        return self.write(
            key,
            lambda shard, now_ms: Outcome(records=[entry(key, value)], response=value or "gone", **options),
        )

    def read(self, key: str) -> Answers:
        answers = Answers()
        self.runtime.read(
            key,
            lambda shard, now_ms: shard.values.get(key, ""),
            answers.replies.append,
            answers.errors.append,
        )
        return answers

    def shard(self, key: str) -> ToyShard:
        return self.shards[self.runtime.partition_of(key)]

    def log(self, key: str) -> Any:
        return self.broker.partition(self.runtime.partition_of(key), OFFSETS_TOPIC).log
