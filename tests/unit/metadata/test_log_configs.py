"""LogConfigs: one value for topics that set the same, and never one of yesterday."""

import pytest

from barnabas.metadata.config_definitions import BrokerConfigs
from barnabas.metadata.topic_configs import LOG_CONFIGS_MAX, LogConfigs, topic_log_config


@pytest.fixture
def brokers() -> BrokerConfigs:
    return BrokerConfigs(broker={}, cluster={}, static={})


def test_topics_that_set_the_same_share_one_value(brokers: BrokerConfigs) -> None:
    configs = LogConfigs(lambda: brokers)
    assert configs.of({}) is configs.of({})
    one = configs.of({"retention.ms": "5", "flush.ms": "7"})
    assert one is configs.of({"flush.ms": "7", "retention.ms": "5"})
    assert one == topic_log_config({"retention.ms": "5", "flush.ms": "7"}, brokers)


@pytest.mark.parametrize("layer", ["broker", "cluster"])
def test_a_change_in_place_of_a_brokers_configs_is_seen(brokers: BrokerConfigs, layer: str) -> None:
    configs = LogConfigs(lambda: brokers)
    assert configs.of({}).retention_ms == 604_800_000
    values = getattr(brokers, layer)
    values["log.retention.ms"] = "1000"
    assert configs.of({}).retention_ms == 1000
    assert configs.of({"retention.ms": "5"}).retention_ms == 5
    del values["log.retention.ms"]
    assert configs.of({}).retention_ms == 604_800_000


def test_a_change_in_place_of_a_topics_configs_is_seen(brokers: BrokerConfigs) -> None:
    configs = LogConfigs(lambda: brokers)
    overrides = {"retention.ms": "5"}
    assert configs.of(overrides).retention_ms == 5
    overrides["retention.ms"] = "6"
    assert configs.of(overrides).retention_ms == 6


def test_what_is_remembered_is_bounded(brokers: BrokerConfigs) -> None:
    configs = LogConfigs(lambda: brokers)
    made = {id(configs.of({"retention.ms": str(n)})): n for n in range(LOG_CONFIGS_MAX + 10)}
    assert len(made) > LOG_CONFIGS_MAX / 2
    assert len(configs._known) <= LOG_CONFIGS_MAX
