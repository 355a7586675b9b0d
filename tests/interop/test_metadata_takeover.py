"""Metadata goes back and forth: Apache Kafka 4.4 starts on ours, we on what it leaves, nothing converted."""

import json
from pathlib import Path

import pytest

from barnabas.base.clock import SystemClock
from barnabas.base.disk import OsDisk
from barnabas.base.entropy import SystemEntropy
from barnabas.base.uuids import uuid_text
from barnabas.metadata.controller import Controller, NodeIdentity, TopicCreation
from barnabas.metadata.formatting import open_log_dirs
from barnabas.metadata.image import ConfigResourceType, Endpoint
from barnabas.metadata.metadata_log import MetadataLog, MetadataLogConfig
from barnabas.storage.log_directory import LogDirectory
from tests.oracle.kafka import KafkaBroker
from tests.oracle.kafka_tools import TOPICS, dump_log, shared_tools

pytestmark = [pytest.mark.interop, pytest.mark.java, pytest.mark.timeout(900)]


def start(directory: Path, port: int) -> Controller:
    """Start a controller over real files, without a broker around it."""
    clock, disk, entropy = SystemClock(), OsDisk(), SystemEntropy()
    voter = Endpoint(name="CONTROLLER", host="127.0.0.1", port=port)
    dirs = open_log_dirs(
        disk=disk,
        log_dirs=[str(directory)],
        metadata_dir=str(directory),
        node_id=1,
        controller_endpoint=voter,
        entropy=entropy,
        now_ms=clock.wall_ms(),
    )
    log = MetadataLog(
        directory=LogDirectory(disk, str(directory)),
        node_id=1,
        clock=clock,
        entropy=entropy,
        # Snapshots come early, so that Apache Kafka has one to read.
        config=MetadataLogConfig(clean_stop_snapshot_bytes=0),
    )
    node = NodeIdentity(
        node_id=1,
        endpoints=(Endpoint(name="PLAINTEXT", host="127.0.0.1", port=port + 1),),
        controller_endpoint=voter,
        log_dirs=tuple(dirs.directory_ids.values()),
    )
    controller = Controller(log=log, node=node, clock=clock, entropy=entropy)
    controller.start()
    return controller


def stop(controller: Controller, directory: Path) -> None:
    """Stop it, and leave the marker that a whole broker leaves after all its logs."""
    controller.stop()
    marker = {"version": 0, "brokerEpoch": controller.broker_epoch}
    (directory / ".kafka_cleanshutdown").write_text(json.dumps(marker))


def test_apache_kafka_takes_our_metadata_over_and_gives_it_back(tmp_path: Path) -> None:
    data = tmp_path / "data"
    kafka = KafkaBroker(tmp_path / "kafka", data_dir=data)
    ours = start(data, kafka.controller_port)
    topic_ids = {
        result.name: result.topic_id
        for result in ours.create_topics(
            [
                TopicCreation(name="ours", num_partitions=3, configs={"retention.ms": "1234567"}),
                TopicCreation(name="gone"),
            ]
        )
    }
    ours.delete_topics(names=["gone"])
    assert ours.allocate_producer_ids() == range(1000)
    stop(ours, data)
    metadata = data / "__cluster_metadata-0"
    dump_log(*metadata.glob("*.log"), *metadata.glob("*.checkpoint"), extra=("--cluster-metadata-decoder",))

    kafka.start()
    try:
        asked = ("--bootstrap-server", kafka.bootstrap)
        said = shared_tools().run(TOPICS, *asked, "--describe").out
        assert f"TopicId: {uuid_text(topic_ids['ours'])}\tPartitionCount: 3" in said
        assert "retention.ms=1234567" in said
        assert "gone" not in said
        made = shared_tools().run(TOPICS, *asked, "--create", "--topic", "theirs", "--partitions", "2")
        assert made.status == 0, made.err
    finally:
        kafka.stop()

    back = start(data, kafka.controller_port)
    image = back.image
    assert image.topics["ours"].topic_id == topic_ids["ours"]
    assert image.config(ConfigResourceType.TOPIC, "ours") == {"retention.ms": "1234567"}
    assert len(image.topics["theirs"].partitions) == 2
    assert all(p.leader == 1 for topic in image.topics.values() for p in topic.partitions.values())
    assert back.allocate_producer_ids().start >= 1000
    stop(back, data)
