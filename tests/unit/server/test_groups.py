"""The configuration of a group: the broker's, with what the group sets itself over it."""

from barnabas.metadata.image import MetadataDelta, MetadataImage
from barnabas.metadata.records import VersionedRecord
from barnabas.protocol import messages
from barnabas.server.groups import GroupConfigs
from barnabas.server.settings import load_settings

GROUP = 32


def set_config(image: MetadataImage, configs: GroupConfigs, name: str, value: str | None) -> None:
    delta = MetadataDelta()
    record = messages.ConfigRecord(resource_type=GROUP, resource_name="g", name=name, value=value)
    image.replay(VersionedRecord(record), delta)
    configs.metadata_changed(delta, image)


def test_what_a_group_sets_holds_for_it_alone_and_at_once() -> None:
    image = MetadataImage()
    configs = GroupConfigs(load_settings, image)
    set_config(image, configs, "consumer.session.timeout.ms", "50000")
    set_config(image, configs, "consumer.heartbeat.interval.ms", "7000")
    set_config(image, configs, "consumer.assignment.interval.ms", "3000")
    mine = configs.of("g")
    assert mine.consumer_session_timeout_ms == 50000
    assert mine.consumer_heartbeat_interval_ms == 7000
    assert mine.group_consumer_assignment_interval_ms == 3000
    assert configs.of("other").consumer_session_timeout_ms == 45000
    set_config(image, configs, "consumer.session.timeout.ms", None)
    assert configs.of("g").consumer_session_timeout_ms == 45000
    assert configs.of("g").consumer_heartbeat_interval_ms == 7000


def test_limits_that_became_narrower_hold_for_what_was_set_before() -> None:
    image = MetadataImage()
    configs = GroupConfigs(
        lambda: load_settings(overrides=["group.consumer.max.session.timeout.ms=47000"]), image
    )
    set_config(image, configs, "consumer.session.timeout.ms", "50000")
    set_config(image, configs, "consumer.heartbeat.interval.ms", "1000")
    assert configs.of("g").consumer_session_timeout_ms == 47000
    assert configs.of("g").consumer_heartbeat_interval_ms == 5000
