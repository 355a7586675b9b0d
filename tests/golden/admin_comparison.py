"""Which differences between Apache Kafka's answers to the administration script and ours are right, and why.

A rule that no difference needs any more is itself an error, so the list stays what it says.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from barnabas.protocol import messages as m
from barnabas.protocol.frames import decode_response_header
from tests.golden.admin_script import Answer
from tests.golden.exchanges import Exchange
from tests.oracle.compare import Allowed, Difference, differences

RECORDED: Final = Path(__file__).parent / "admin"

SHARED_OVERRIDES: Final = {
    "log.cleaner.dedupe.buffer.size": "134217728",
    "log.initial.task.delay.ms": "500",
    "num.io.threads": "2",
    "num.network.threads": "1",
    "offsets.topic.num.partitions": "5",
    "transaction.state.log.num.partitions": "5",
    "unstable.api.versions.enable": "false",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
}
"""What both brokers are told, so that DescribeConfigs can be compared whole."""

OUR_OVERRIDES: Final = {
    **SHARED_OVERRIDES,
    # The records are years old, and ours is quick enough to have them before its first look for what expired.
    "log.initial.task.delay.ms": "600000",
    "node.id": "1",
    "controller.quorum.bootstrap.servers": "127.0.0.1:19093",
    "advertised.listeners": "PLAINTEXT://127.0.0.1:19092",
}

_ID = "An id is drawn when a topic or cluster is made."
_PLACE = "Where the broker runs."

ALLOWED: Final = (
    Allowed(reason=_ID, path="*topic_id"),
    Allowed(reason=_ID, path="cluster_id"),
    Allowed(reason=_ID, api="DescribeQuorum", path="*.replica_directory_id"),
    Allowed(reason=_PLACE, path="brokers[].port"),
    Allowed(reason=_PLACE, api="DescribeLogDirs", path="results[].log_dir"),
    Allowed(reason=_PLACE, api="DescribeLogDirs", path="results[].*_bytes"),
    Allowed(reason=_PLACE, api="DescribeQuorum", path="nodes[].listeners[].*"),
    *(
        Allowed(reason=_PLACE, api="DescribeConfigs", path=f"results[].configs[{name}].*value")
        for name in (
            "advertised.listeners",
            "controller.quorum.bootstrap.servers",
            "listeners",
            "log.dirs",
        )
    ),
    Allowed(
        reason="See OUR_OVERRIDES.",
        api="DescribeConfigs",
        path="results[].configs[log.initial.task.delay.ms].*value",
    ),
    *(
        Allowed(reason=reason, api=api, path="responses[].error_message", scenario=scenario)
        for api in ("AlterConfigs", "IncrementalAlterConfigs")
        for scenario, reason in (
            ("*-bad-overrides", "Apache Kafka shows the words of a Java exception."),
            (
                "*-other-listeners",
                "Listeners stay as they are while this broker runs, whatever is asked for.",
            ),
        )
    ),
    Allowed(reason="A time.", api="DescribeQuorum", path="*_timestamp"),
    Allowed(
        reason="How often it was led before, and how much was said.",
        api="DescribeQuorum",
        path="*.leader_epoch",
    ),
    Allowed(reason="How much was said before.", api="DescribeQuorum", path="*.high_watermark"),
    Allowed(reason="How much was said before.", api="DescribeQuorum", path="*.log_end_offset"),
)

UNORDERED: Final = frozenset(
    (
        "brokers",
        "config_resources",
        "replica_election_results",
        "responses",
        "results",
        "results[].configs",
        "results[].partitions",
        "results[].topics",
        "results[].topics[].partitions",
        "topics",
        "topics[].configs",
    )
)
"""Lists that Apache Kafka answers in the order of a hash table."""


def decoded(exchange: Exchange) -> m.Message:
    """Return a recorded response."""
    frame = memoryview(exchange.response)
    _, body = decode_response_header(frame, exchange.key, exchange.version)
    return m.BY_KEY[exchange.key].response.decode(frame[body:], exchange.version)


def compare(theirs: Sequence[Answer], ours: Sequence[Answer]) -> dict[str, list[Difference]]:
    """Return by step the differences that no rule allows."""
    by_name = {exchange.name: response for exchange, response in theirs}
    assert by_name.keys() == {exchange.name for exchange, _ in ours}, "not the same steps"
    found = {}
    for exchange, response in ours:
        left = differences(
            by_name[exchange.name],
            response,
            scenario=f"v{exchange.version}-{exchange.scenario}",
            allowed=ALLOWED,
            unordered=UNORDERED,
        )
        if left:
            found[exchange.name] = left
    return found
