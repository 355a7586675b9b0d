"""The metadata log at a start: written several times, synced once, and whole whenever the power goes."""

from __future__ import annotations

import random

import pytest

from barnabas.metadata.controller import TopicCreation
from barnabas.metadata.metadata_log import MetadataLogConfig

from .broker_node import Node


class PowerLossError(Exception):
    """Whatever is under way when the lights go out."""


@pytest.mark.parametrize("starts_before", [0, 1])
def test_a_start_syncs_the_metadata_log_once(starts_before: int) -> None:
    node = Node()
    for _ in range(starts_before):
        node.start().stop()
    synced: list[str] = []
    node.disk.on_operation = lambda what, path: synced.append(path) if what == "sync" else None
    node.start()
    assert sum(path.endswith(".log") for path in synced) == 1
    assert not any("leader-epoch-checkpoint" in path for path in synced)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("starts_before", [0, 1])
def test_a_start_may_lose_power_at_any_operation(starts_before: int, seed: int) -> None:
    operation = 0
    while True:
        operation += 1
        node = Node(seed=seed)
        chance = random.Random(seed * 1000 + operation)
        topics: set[str] = set()
        epoch = 0
        for number in range(starts_before):
            controller = node.start()
            controller.create_topics([TopicCreation(name=f"t{number}")])
            topics, epoch = set(controller.image.topics), controller.log.epoch
            node.disk.crash(chance)
        left = operation

        def tick(what: str, path: str) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                raise PowerLossError(what, path)

        node.disk.on_operation = tick
        try:
            whole = node.start()
        except PowerLossError:
            node.disk.on_operation = None
            node.disk.crash(chance)
        else:
            assert operation > 20, "a start touches the disk oftener"
            assert left > 0
            node.disk.on_operation = None
            node.disk.crash(chance)
            again = node.start()
            assert again.image.features == whole.image.features
            for name, topic in whole.image.topics.items():
                bumped = again.image.topics[name].partitions[0].leader_epoch
                assert bumped == topic.partitions[0].leader_epoch + 1, "what that start did is durable"
            assert again.log.epoch == whole.log.epoch + 1
            assert again.broker_epoch > whole.broker_epoch
            return
        again = node.start()
        where = f"seed {seed}, operation {operation}"
        assert set(again.image.topics) == topics, where
        assert again.image.features == Node().start().image.features, where
        assert again.log.epoch > epoch, where


def test_leader_epochs_of_the_log_outlive_a_kill_behind_a_snapshot() -> None:
    node = Node(config=MetadataLogConfig(max_record_bytes_between_snapshots=2000, segment_bytes=9000))
    epochs: list[int] = []
    for number in range(4):
        controller = node.start()
        for topic in range(12):
            controller.create_topics([TopicCreation(name=f"r{number}-{topic}", num_partitions=2)])
        epochs = [entry.epoch for entry in controller.log._opened.leader_epochs.entries]
        node.disk.crash(random.Random(number))
    again = [entry.epoch for entry in node.start().log._opened.leader_epochs.entries]
    assert {*epochs, epochs[-1] + 1} <= set(again)
