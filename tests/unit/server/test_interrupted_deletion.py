"""A broker that is killed while it deletes a topic of many partitions goes on with that when it starts."""

from __future__ import annotations

from barnabas.protocol import messages as m
from barnabas.replica.hosted_partitions import DELETED_PER_TURN
from tests.power_loss.machine import ROOT, simulated_parts
from tests.storage_setup import batch
from tests.unit.server.simulated_life import SimulatedLife

PARTITIONS = DELETED_PER_TURN + 50


def test_a_deletion_that_was_cut_short_by_a_kill_is_finished_by_the_next_start() -> None:
    life = SimulatedLife({"log.segment.delete.delay.ms": "0"})
    with simulated_parts(life.machine):
        broker = life.start()
        topic_id = life.create(broker, "t", PARTITIONS)
        for number in (0, PARTITIONS - 1):  # the others have no record, hence no topic id
            life.produce(broker, topic_id, number, batch())
        request = m.DeleteTopicsRequest(topics=[m.DeleteTopicsRequestDeleteTopicState(name="t")])
        answer = life.ask(broker, request, 6, until_settled=False)
        assert answer.responses[0].error_code == 0
        life.machine.kill()
        names = life.machine.disk.list_dir(ROOT)
        assert f"t-{PARTITIONS - 1}" in names
        broker = life.start()
        life.machine.clock.advance_ms(60_000)
        broker.settle()
        left = [name for name in life.machine.disk.list_dir(ROOT) if name.startswith("t-")]
        assert left == []


def test_what_a_deletion_has_left_whose_record_a_snapshot_replaced_is_set_aside_for_good() -> None:
    """As Apache Kafka does with logs that its image does not know: renamed, and never deleted by itself."""
    life = SimulatedLife({"log.segment.delete.delay.ms": "0"})
    life.machine.metadata_snapshot_bytes = 1
    with simulated_parts(life.machine):
        broker = life.start()
        topic_id = life.create(broker, "t", PARTITIONS)
        last = PARTITIONS - 1  # the loop has not come to it when the broker is killed
        life.produce(broker, topic_id, last, batch())
        request = m.DeleteTopicsRequest(topics=[m.DeleteTopicsRequestDeleteTopicState(name="t")])
        assert life.ask(broker, request, 6, until_settled=False).responses[0].error_code == 0
        life.machine.kill()
        assert f"t-{last}" in life.machine.disk.list_dir(ROOT)
        for _ in range(2):
            broker = life.start()
            life.machine.clock.advance_ms(3_600_000)
            broker.settle()
            (left,) = [name for name in life.machine.disk.list_dir(ROOT) if name.startswith("t-")]
            assert left.startswith(f"t-{last}.")
            assert left.endswith("-stray")
            assert life.machine.disk.size(f"{ROOT}/{left}/{0:020}.log") == len(batch())
            life.machine.kill()
