"""A machine on which a simulated broker comes and goes, and one client that asks it."""

from __future__ import annotations

from random import Random
from typing import Any

from barnabas.protocol import messages as m
from barnabas.server.settings import load_settings
from tests.power_loss.machine import ROOT, Machine, SimulatedBroker, SimulatedConnection


class SimulatedLife:
    """Start, ask, stop or kill; within `simulated_parts(life.machine)`.

    Args:
        settings: of the broker, besides those that a simulation needs.
    """

    def __init__(self, settings: dict[str, str] | None = None) -> None:
        self.machine = Machine(Random(1))
        self.machine.segment_bytes = self.machine.metadata_segment_bytes = 100_000
        self.machine.metadata_snapshot_bytes = 1_000_000
        values = {
            "listeners": "PLAINTEXT://localhost:9092",
            "log.dirs": ROOT,
            "cold.read.threads": "0",
            "log.cleaner.enable": "false",
            **(settings or {}),
        }
        self._settings = load_settings(overrides=[f"{key}={value}" for key, value in values.items()])

    def start(self, *, until_settled: bool = True) -> SimulatedBroker:
        """Start the broker; `until_settled` runs the loop until it has nothing to do."""
        broker = self.machine.broker = SimulatedBroker(self._settings, self.machine)
        broker.start()
        if until_settled:
            broker.settle()
        return broker

    def ask(self, broker: SimulatedBroker, request: Any, version: int, *, until_settled: bool = True) -> Any:
        """Return the answer to a request."""
        answers: list[Any] = []
        SimulatedConnection("client").ask(broker.dispatcher, request, version, 1, answers.append)
        if until_settled:
            broker.settle()
        return answers[0]

    def create(self, broker: SimulatedBroker, topic: str, partitions: int) -> bytes:
        """Create a topic; return its id."""
        made = m.CreateTopicsRequestCreatableTopic(
            name=topic, num_partitions=partitions, replication_factor=1
        )
        answer = self.ask(broker, m.CreateTopicsRequest(topics=[made], timeout_ms=1000), 7)
        assert answer.topics[0].error_code == 0
        return bytes(answer.topics[0].topic_id)

    def produce(
        self, broker: SimulatedBroker, topic_id: bytes, number: int, records: bytes, **options: Any
    ) -> None:
        """Append a batch."""
        data = m.ProduceRequestPartitionProduceData(index=number, records=records)
        topic = m.ProduceRequestTopicProduceData(topic_id=topic_id, partition_data=[data])
        request = m.ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[topic], **options)
        answer = self.ask(broker, request, 13)
        assert answer.responses[0].partition_responses[0].error_code == 0
