"""A broker's services with doubles where the network and the log would be."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.base.entropy import SystemEntropy
from barnabas.coordinator.transactions.producer_ids import ProducerIds
from barnabas.handlers.dispatch import Dispatcher
from barnabas.handlers.fetch_session_cache import FetchSessionCache
from barnabas.handlers.routes import ROUTES
from barnabas.handlers.services import HandlerSettings, Services
from barnabas.metadata.image import Endpoint, MetadataDelta, MetadataImage
from barnabas.metadata.records import VersionedRecord
from barnabas.protocol import frames, messages
from barnabas.sim.clock import ManualClock

TOPIC_ID = bytes(range(16))


class FakeConnection:
    """Keeps what a handler sends."""

    def __init__(self) -> None:
        self.id = "127.0.0.1:9092-127.0.0.1:50000-1"
        self.listener_name = "PLAINTEXT"
        self.peer_host = "127.0.0.1"
        self.request_in_hand = False
        self.context: Any = None
        self.sent: list[list[Any]] = []
        self.completed_without_response = 0
        self.closed: str | None = None

    def respond(self, parts: list[Any], when_sent: Callable[[], None]) -> None:
        self.sent.append(parts)
        when_sent()

    def complete_without_response(self) -> None:
        self.completed_without_response += 1

    def close(self, reason: str) -> None:
        self.closed = reason


class FakeReplicas:
    """Answers with what a test puts into it and keeps what it was asked."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Any]] = []
        self.fetch_outcome: Any = None
        self.append_outcome: Any = None
        self.list_offsets_results: list[Any] = []
        self.compression = "producer"
        self.selects_replicas = False

    def fetch(self, params: Any, partitions: Any, respond: Any, owner: Any) -> None:
        self.calls.append(("fetch", (params, list(partitions), owner)))
        if self.fetch_outcome is not None:
            self.fetch_outcome.partitions = list(partitions)
            respond(self.fetch_outcome)

    def append(self, **asked: Any) -> None:
        self.calls.append(("append", asked))
        asked["respond"](self.append_outcome)

    def list_offsets(self, params: Any, partitions: Any, respond: Any, owner: Any = None) -> None:
        self.calls.append(("list_offsets", (params, list(partitions))))
        respond(self.list_offsets_results)

    def compression_type(self, topic: str, partition: int) -> str:
        return self.compression

    def offline_replicas(self, partition: Any) -> list[int]:
        return []

    def complete_parked_fetches(self, owner: Any) -> int:
        self.calls.append(("complete_parked_fetches", owner))
        return 1

    def connection_gone(self, owner: Any) -> int:
        self.calls.append(("connection_gone", owner))
        return 0


class Peer:
    """A client's end: sends a request through dispatch and decodes what came back."""

    def __init__(self, services: Services, **options: Any) -> None:
        self.services = services
        self.dispatcher = Dispatcher(**options)
        self.dispatcher.services = services
        self.connection = FakeConnection()

    def frame(self, request: messages.Message, version: int, correlation_id: int = 7) -> memoryview:
        name = type(request).__name__.removesuffix("Request")
        key = next(key for key, spec in messages.BY_KEY.items() if spec.name == name)
        header = frames.encode_request_header(key, version, correlation_id, "test")
        return memoryview(bytearray(header + request.encode(version)))

    def send(self, request: messages.Message, version: int) -> Any:
        """Return the decoded response, None when there was none."""
        before = len(self.connection.sent)
        self.dispatcher.request_received(self.connection, self.frame(request, version))
        if len(self.connection.sent) == before:
            return None
        return self.decode(type(request).__name__.removesuffix("Request"), version)

    def decode(self, name: str, version: int) -> Any:
        raw = memoryview(
            b"".join(
                part if isinstance(part, (bytes, bytearray, memoryview)) else part.read()
                for part in self.connection.sent[-1]
            )
        )
        spec = next(spec for spec in messages.BY_KEY.values() if spec.name == name)
        correlation_id, offset = frames.decode_response_header(raw, spec.key, version)
        assert correlation_id == 7
        response, end = spec.response.decode_from(raw, version, offset)
        assert end == len(raw), "bytes behind the response"
        return response


def replay(image: MetadataImage, *records: messages.Message) -> None:
    delta = MetadataDelta()
    for record in records:
        image.replay(VersionedRecord(record), delta)


@pytest.fixture
def replicas() -> FakeReplicas:
    return FakeReplicas()


def services_with(replicas: Any) -> Services:
    """Return the services of a broker that leads one topic of two partitions, `events`."""
    image = MetadataImage()
    replay(
        image,
        messages.TopicRecord(name="events", topic_id=TOPIC_ID),
        *(
            messages.PartitionRecord(
                partition_id=number,
                topic_id=TOPIC_ID,
                replicas=[1],
                isr=[1],
                leader=1,
                leader_epoch=3,
                partition_epoch=4,
                directories=[bytes(15) + b"\x09"],
            )
            for number in range(2)
        ),
    )
    return Services(
        cluster_id="cluster",
        node_id=1,
        rack=None,
        clock=ManualClock(),
        image=image,
        controller=SimpleNamespace(
            metadata_offset=5, log=SimpleNamespace(quorum=SimpleNamespace(kraft_version=1))
        ),
        replicas=replicas,
        logs=SimpleNamespace(directories=[]),
        producer_ids=ProducerIds(lambda: range(1000, 2000)),
        fetch_sessions=FetchSessionCache(slots=1000, entropy=SystemEntropy()),
        settings=HandlerSettings(),
        advertised_apis={key: route.advertised for key, route in ROUTES.items()},
        advertised={"PLAINTEXT": Endpoint(name="PLAINTEXT", host="broker.example", port=9092)},
    )


@pytest.fixture
def services(replicas: FakeReplicas) -> Services:
    return services_with(replicas)


@pytest.fixture
def peer(services: Services) -> Peer:
    return Peer(services)
