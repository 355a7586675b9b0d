"""Barnabas answers eight hundred administrative requests as Apache Kafka 4.4 did, field by field.

What Apache Kafka said is in the folder admin (tools/record_admin_answers.py writes it);
tests/interop/test_admin_oracle.py checks that it still says so.
"""

from collections import defaultdict
from pathlib import Path

import pytest

from barnabas.protocol.api_keys import ApiKey
from tests.broker import BarnabasBroker
from tests.golden import admin_comparison as comparison
from tests.golden.admin_script import Answer, play
from tests.golden.exchanges import load
from tests.oracle.compare import Difference, differences

ADMINISTRATION = (
    *(ApiKey.METADATA, ApiKey.CREATE_TOPICS, ApiKey.DELETE_TOPICS, ApiKey.DELETE_RECORDS),
    *(ApiKey.CREATE_PARTITIONS, ApiKey.DESCRIBE_CONFIGS, ApiKey.ALTER_CONFIGS),
    *(ApiKey.INCREMENTAL_ALTER_CONFIGS, ApiKey.LIST_CONFIG_RESOURCES, ApiKey.DESCRIBE_LOG_DIRS),
    *(ApiKey.ALTER_REPLICA_LOG_DIRS, ApiKey.ELECT_LEADERS, ApiKey.ALTER_PARTITION_REASSIGNMENTS),
    *(ApiKey.LIST_PARTITION_REASSIGNMENTS, ApiKey.DESCRIBE_QUORUM, ApiKey.UPDATE_FEATURES),
    *(ApiKey.DESCRIBE_CLUSTER, ApiKey.DESCRIBE_PRODUCERS, ApiKey.UNREGISTER_BROKER),
    *(ApiKey.DESCRIBE_TOPIC_PARTITIONS, ApiKey.LIST_GROUPS, ApiKey.DESCRIBE_ACLS),
)


@pytest.fixture(scope="module")
def recorded() -> list[Answer]:
    return [(exchange, comparison.decoded(exchange)) for exchange in load(comparison.RECORDED)]


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> list[Answer]:
    directory: Path = tmp_path_factory.mktemp("admin")
    with BarnabasBroker(directory, overrides=comparison.OUR_OVERRIDES) as broker:
        answers = play(broker.port)
        assert "fault while" not in broker.log_tail()
        return answers


@pytest.fixture(scope="module")
def different(recorded: list[Answer], ours: list[Answer]) -> dict[int, dict[str, list[Difference]]]:
    """API key -> step -> what differs."""
    keys = {exchange.name: exchange.key for exchange, _ in ours}
    found: dict[int, dict[str, list[Difference]]] = defaultdict(dict)
    for name, left in comparison.compare(recorded, ours).items():
        found[keys[name]][name] = left
    return found


@pytest.mark.parametrize("key", ADMINISTRATION, ids=lambda key: key.name.lower())
def test_answers_are_those_of_apache_kafka(
    key: ApiKey, different: dict[int, dict[str, list[Difference]]]
) -> None:
    assert different[key] == {}


def test_enough_is_compared(recorded: list[Answer]) -> None:
    errors = sum("error_code=0" not in repr(response) for _, response in recorded)
    assert len(recorded) >= 800
    assert errors >= 300
    assert {exchange.key for exchange, _ in recorded} >= set(ADMINISTRATION)


def test_no_allowed_difference_is_left_over(recorded: list[Answer], ours: list[Answer]) -> None:
    by_name = {exchange.name: response for exchange, response in recorded}
    unused = set(comparison.ALLOWED)
    for exchange, response in ours:
        api = type(response).__name__.removesuffix("Response")
        for difference in differences(by_name[exchange.name], response, unordered=comparison.UNORDERED):
            unused -= {
                rule
                for rule in unused
                if rule.covers(api, f"v{exchange.version}-{exchange.scenario}", difference)
            }
    assert not unused, "nothing differs so any more: " + ", ".join(rule.path for rule in unused)
