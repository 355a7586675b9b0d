"""A stop right after a start that was not clean: what that start had to look for, the next one looks for."""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.protocol import messages as m
from barnabas.server.unchecked_transactions import FILE_NAME
from tests.power_loss.machine import ROOT, SimulatedBroker, simulated_parts
from tests.storage_setup import batch
from tests.unit.server.simulated_life import SimulatedLife

NOTE = f"{ROOT}/{FILE_NAME}"
STATE_LOG = f"{ROOT}/__transaction_state-0/00000000000000000000.log"


class Life(SimulatedLife):
    """A machine whose broker comes and goes."""

    def __init__(self) -> None:
        super().__init__({"transaction.state.log.num.partitions": "1"})

    def hang_a_transaction(self) -> None:
        """Leave records of a transaction in a log, and nothing in `__transaction_state`, by a kill."""
        broker = self.start()
        topic_id = self.create(broker, "t", 1)
        self.ask(broker, m.FindCoordinatorRequest(key_type=1, coordinator_keys=["id"]), 4)
        request = m.InitProducerIdRequest(transactional_id="id", transaction_timeout_ms=60_000)
        who = self.ask(broker, request, 4)
        records = batch(
            producer_id=who.producer_id,
            producer_epoch=who.producer_epoch,
            base_sequence=0,
            is_transactional=True,
        )
        self.produce(broker, topic_id, 0, records, transactional_id="id")
        self.machine.kill()
        file = self.machine.disk.open(STATE_LOG)
        file.truncate(0)
        file.close()

    def is_hanging(self, broker: SimulatedBroker) -> bool:
        return bool(broker.replicas.partitions.get("t", 0).log.first_unstable_offset is not None)

    def has_note(self) -> bool:
        return self.machine.disk.exists(NOTE)


@pytest.fixture
def life() -> Any:
    life = Life()
    with simulated_parts(life.machine):
        life.hang_a_transaction()
        yield life


def test_a_hanging_transaction_is_aborted_by_the_start_after_a_stop_that_came_too_early(life: Life) -> None:
    for _ in range(2):
        broker = life.start(until_settled=False)
        assert broker.stop_at_once()
        assert life.has_note()
    broker = life.start()
    assert not life.is_hanging(broker)
    assert broker.stop_cleanly()
    assert not life.has_note()


def test_a_stop_that_comes_later_leaves_no_note(life: Life) -> None:
    broker = life.start()
    assert not life.is_hanging(broker)
    assert broker.stop_cleanly()
    assert not life.has_note()


def test_the_note_lives_on_while_ids_cannot_be_loaded(life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "barnabas.coordinator.runtime.runtime.CoordinatorRuntime.has_all", property(lambda _: False)
    )
    broker = life.start()
    assert life.is_hanging(broker)
    assert broker.stop_cleanly()
    assert life.has_note()
