"""Configs of groups against the broker's limits."""

import pytest

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.metadata.config_definitions import BrokerConfigs
from barnabas.metadata.group_config_checks import group_limits, validate_group_configs

WIDE = {"group.consumer.min.session.timeout.ms": "1000", "group.consumer.max.heartbeat.interval.ms": "60000"}


def brokers(static: dict[str, str] | None = None) -> BrokerConfigs:
    return BrokerConfigs(broker={}, cluster={}, static=static or {})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"nope": "1"}, "Unknown group config name: nope"),
        ({"consumer.session.timeout.ms": "x"}, "x"),
        (
            {"consumer.assignment.interval.ms": "15001"},
            "consumer.assignment.interval.ms must be in the range 0 to 15000 inclusive.",
        ),
        (
            {"consumer.session.timeout.ms": "5000"},
            "consumer.session.timeout.ms must be greater than consumer.heartbeat.interval.ms",
        ),
        (
            {"consumer.heartbeat.interval.ms": "45000"},
            "consumer.session.timeout.ms must be greater than consumer.heartbeat.interval.ms",
        ),
        ({"errors.deadletterqueue.topic.name": "__x"}, "must not start with '__'"),
    ],
)
def test_what_a_group_may_not_have(values: dict[str, str], message: str) -> None:
    with pytest.raises(ApiError) as refused:
        validate_group_configs(values, brokers(WIDE))
    assert refused.value.code is ErrorCode.INVALID_CONFIG
    assert message in (refused.value.message or "")


def test_what_is_within_the_limits_of_the_broker_is_taken() -> None:
    values = {"consumer.session.timeout.ms": "6000", "consumer.assignor.offload.enable": "false"}
    validate_group_configs(values, brokers(WIDE))
    assert group_limits("consumer.session.timeout.ms", brokers(WIDE)) == (1000, 60000)
    assert group_limits("streams.num.standby.replicas", brokers()) == (None, 2)
