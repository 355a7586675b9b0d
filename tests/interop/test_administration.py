"""Each client's admin API: a topic created, described, altered, grown and deleted."""

import json
from collections.abc import Callable

import pytest

from tests import toolchain
from tests.interop import administration
from tests.interop.client import Client
from tests.interop.client_node import KafkajsClient
from tests.interop.client_process import ProcessClient
from tests.interop.test_matrix import CLIENTS

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

WITHOUT_CONFIGS = {"confluent-js"}
"""Cannot ask for a topic's configs."""


def expected(name: str) -> dict[str, object]:
    """Return what a client must have seen."""
    missing = {"configured", "altered"} if name in WITHOUT_CONFIGS else set()
    return {key: value for key, value in administration.EXPECTED.items() if key not in missing}


@pytest.mark.parametrize("name", CLIENTS)
def test_a_topics_life(name: str, bootstrap: str, client_named: Callable[[str], Client]) -> None:
    topic = f"administered-by-{name}"
    administer = administration.BY_NAME.get(name)
    if administer is not None:
        saw = administer(bootstrap, topic)
    else:
        client = client_named(name)
        assert isinstance(client, ProcessClient)
        saw = json.loads(client.ask("administer", bootstrap, topic))
    assert saw == expected(name)


def test_a_topics_life_by_kafkajs(bootstrap: str) -> None:
    try:
        client = KafkajsClient()
    except toolchain.ToolchainMissingError as missing:
        toolchain.unavailable(str(missing))
    try:
        saw = json.loads(client.ask("administer", bootstrap, "administered-by-kafkajs"))
    finally:
        client.close()
    assert saw == expected("kafkajs")
