"""Brokers, leaders and retries.

Whatever goes wrong for a moment (a broker restarting, a leader moving) is tried again with growing
pauses until a deadline; then the last cause is reported, not a bare time-out.
"""

import time
from collections.abc import Callable

from barnabas.base.dataclass import dataclass
from barnabas.base.errors import ErrorCode
from barnabas.base.hints import Any, TypeVar
from barnabas.cli.client.connection import Connection
from barnabas.cli.client.errors import BrokerError, ClientError, ConnectionLostError
from barnabas.protocol import messages

METADATA = 3
_FIRST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 1.0

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionInfo:
    """One partition as Metadata tells it."""

    topic: str
    topic_id: bytes
    partition: int
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    offline: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicInfo:
    """One topic as Metadata tells it; partitions in order."""

    name: str
    topic_id: bytes
    internal: bool
    partitions: tuple[PartitionInfo, ...]


class Patience:
    """One stretch of failing: how long it may last, and the growing pauses in it.

    Args:
        timeout_s: from the first failure without progress in between.
    """

    def __init__(self, timeout_s: float, sleep: Callable[[float], None], now_s: Callable[[], float]) -> None:
        self._timeout_s = timeout_s
        self._sleep = sleep
        self._now_s = now_s
        self._began: float | None = None
        self._pause = _FIRST_PAUSE_S

    def progress(self) -> None:
        """Something succeeded: the next failure is a first one."""
        self._began = None
        self._pause = _FIRST_PAUSE_S

    def failed(self, error: ClientError) -> None:
        """Pause after a failure; raise it when it cannot heal or has lasted too long."""
        now = self._now_s()
        if self._began is None:
            self._began = now
        if not is_retriable(error) or now + self._pause > self._began + self._timeout_s:
            raise error
        self._sleep(self._pause)
        self._pause = min(self._pause * 2, _LONGEST_PAUSE_S)


class Retry:
    """How long to insist, and how to wait between tries.

    Args:
        timeout_s: no try starts later than this after the first failure.
        sleep, now_s: the passing of time, replaceable in tests.
    """

    def __init__(
        self,
        timeout_s: float,
        *,
        sleep: Callable[[float], None] = time.sleep,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._timeout_s = timeout_s
        self._sleep = sleep
        self._now_s = now_s

    def patience(self) -> Patience:
        """Return a fresh one, for loops that make progress between failures."""
        return Patience(self._timeout_s, self._sleep, self._now_s)

    def run(self, attempt: Callable[[], Answer], recover: Callable[[], None]) -> Answer:
        """Return what `attempt` returns; on a retriable failure pause, `recover` and try again."""
        patience = self.patience()
        while True:
            try:
                return attempt()
            except ClientError as error:
                patience.failed(error)
            recover()


def is_retriable(error: ClientError) -> bool:
    """Tell whether the same request may succeed a little later."""
    return isinstance(error, ConnectionLostError) or (isinstance(error, BrokerError) and error.retriable)


class Cluster:
    """Connections by broker, and who leads what.

    Args:
        bootstrap: addresses to start from, tried in order.
        timeout_s: how long any one operation is retried.
    """

    def __init__(
        self,
        bootstrap: list[tuple[str, int]],
        *,
        client_id: str = "barnabas-cli",
        software_version: str = "0",
        timeout_s: float = 30.0,
    ) -> None:
        self._bootstrap = bootstrap
        self._client_id = client_id
        self._software_version = software_version
        self.timeout_s = timeout_s
        self.retry = Retry(timeout_s)
        self._addresses: dict[int, tuple[str, int]] = {}
        self._connections: dict[int, Connection] = {}
        self._any: Connection | None = None
        self._controller = -1
        self._topics: dict[str, TopicInfo] = {}

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Close every connection."""
        for connection in [*self._connections.values(), *([self._any] if self._any else [])]:
            connection.close()
        self._connections.clear()
        self._any = None

    def drop(self, node_id: int) -> None:
        """Close the connection to a broker; the next use opens another."""
        connection = self._connections.pop(node_id, None)
        if connection is not None:
            connection.close()

    def request_broker(self, node_id: int, api_key: int, request: Any) -> Any:
        """Ask one broker once; a connection that failed is not used again."""
        try:
            return self.connection(node_id).request(api_key, request)
        except ConnectionLostError:
            self.drop(node_id)
            raise

    def request_any(self, api_key: int, request: Any) -> Any:
        """Ask whichever broker answers, with retries over lost connections."""

        def attempt() -> Any:
            return self._anyone().request(api_key, request)

        return self.retry.run(attempt, self._forget_any)

    def request_controller(
        self, api_key: int, request: Any, check: Callable[[Any], None], extra_wait_s: float = 0.0
    ) -> Any:
        """Ask the controller (any broker forwards, but older ones do not); `check` raises BrokerError."""

        def attempt() -> Any:
            response = self.connection(self.controller()).request(api_key, request, extra_wait_s)
            check(response)
            return response

        return self.retry.run(attempt, self._forget_all)

    def controller(self) -> int:
        """Return the broker to send administration to."""
        if self._controller < 0 or self._controller not in self._addresses:
            self.refresh([])
        if self._controller < 0:
            raise ConnectionLostError("the cluster has no controller now")
        return self._controller

    def broker_ids(self) -> list[int]:
        """Return the ids of the brokers that are there now, in order."""
        self.retry.run(lambda: self.refresh([]), self._forget_any)
        return sorted(self._addresses)

    def connection(self, node_id: int) -> Connection:
        """Return the connection to a broker, opening it when there is none."""
        connection = self._connections.get(node_id)
        if connection is None:
            address = self._addresses.get(node_id)
            if address is None:
                raise ConnectionLostError(f"broker {node_id} is not known to the cluster")
            connection = self._connections[node_id] = self._connect(*address)
        return connection

    def topics(self, names: list[str] | None = None) -> list[TopicInfo]:
        """Return the named topics, or all, sorted by name.

        Raises:
            BrokerError: a topic that stays unknown until the time-out, or is not allowed.
        """
        self.retry.run(lambda: self.refresh(names), self._forget_any)
        wanted = self._topics if names is None else names
        return [self._topics[name] for name in sorted(wanted)]

    def topic(self, name: str, *, create: bool = False) -> TopicInfo:
        """Return one topic; with `create`, the broker may make it (auto.create.topics.enable)."""
        if name not in self._topics:
            self.retry.run(lambda: self.refresh([name], create=create), self._forget_any)
        return self._topics[name]

    def leader_of(self, topic: str, partition: int) -> PartitionInfo:
        """Return a partition whose leader is known.

        Raises:
            ClientError: no such partition; or no leader within the time-out.
        """

        def attempt() -> PartitionInfo:
            if topic not in self._topics:
                self.refresh([topic])
            info = self._topics[topic]
            if not 0 <= partition < len(info.partitions):
                count = len(info.partitions)
                raise ClientError(f"topic {topic} has {count} partition(s), there is no {partition}")
            found = info.partitions[partition]
            if found.leader < 0:
                raise BrokerError(ErrorCode.LEADER_NOT_AVAILABLE, f"{topic}-{partition}")
            return found

        def recover() -> None:
            self.forget_topic(topic)
            self._forget_any()

        return self.retry.run(attempt, recover)

    def forget_topic(self, name: str) -> None:
        """Ask again who leads it at the next use."""
        self._topics.pop(name, None)

    def refresh(self, names: list[str] | None, *, create: bool = False) -> None:
        """Fetch metadata once.

        Args:
            names: None for all topics; an empty list for brokers only.
        """
        response = self._anyone().request(METADATA, _metadata_request(names, create=create))
        self._addresses = {broker.node_id: (broker.host, broker.port) for broker in response.brokers}
        self._controller = response.controller_id
        for entry in response.topics:
            if entry.error_code:
                soon = True if create and entry.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION else None
                raise BrokerError(entry.error_code, f"topic {entry.name}", retriable=soon)
            self._topics[entry.name] = _topic_info(entry)

    def _anyone(self) -> Connection:
        if self._any is None:
            failures = []
            for host, port in [*self._bootstrap, *self._addresses.values()]:
                try:
                    self._any = self._connect(host, port)
                    break
                except ConnectionLostError as error:
                    failures.append(str(error))
            else:
                raise ConnectionLostError("; ".join(dict.fromkeys(failures)))
        return self._any

    def _connect(self, host: str, port: int) -> Connection:
        return Connection(
            host,
            port,
            client_id=self._client_id,
            software_version=self._software_version,
            connect_timeout_s=min(10.0, self.timeout_s),
            request_timeout_s=self.timeout_s,
        )

    def _forget_any(self) -> None:
        if self._any is not None:
            self._any.close()
            self._any = None

    def _forget_all(self) -> None:
        self.close()
        self._controller = -1


def _metadata_request(names: list[str] | None, *, create: bool) -> Any:
    topics = (
        None if names is None else [messages.MetadataRequestMetadataRequestTopic(name=name) for name in names]
    )
    return messages.MetadataRequest(topics=topics, allow_auto_topic_creation=create)


def _topic_info(entry: Any) -> TopicInfo:
    topic_id = bytes(entry.topic_id)
    partitions = tuple(
        PartitionInfo(
            topic=entry.name,
            topic_id=topic_id,
            partition=partition.partition_index,
            leader=partition.leader_id,
            leader_epoch=partition.leader_epoch,
            replicas=tuple(partition.replica_nodes),
            isr=tuple(partition.isr_nodes),
            offline=tuple(partition.offline_replicas),
        )
        for partition in sorted(entry.partitions, key=lambda found: int(found.partition_index))
    )
    return TopicInfo(name=entry.name, topic_id=topic_id, internal=entry.is_internal, partitions=partitions)
