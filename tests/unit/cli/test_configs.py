"""`barnabas configs` against a cluster that answers from memory: what is asked, whom, and what is shown."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import CliRunner, Result

from barnabas.cli import configs as configs_command
from barnabas.cli.client import cluster as cluster_module
from barnabas.cli.client.errors import UnsupportedByBrokerError
from barnabas.cli.root import root
from barnabas.protocol import messages

DESCRIBE, ALTER, LIST = 32, 44, 74


class FakeCluster:
    """Keeps (whom, key, request) of everything asked."""

    timeout_s = 1.0

    def __init__(self, answers: dict[int, Any]) -> None:
        self.answers = answers
        self.asked: list[tuple[str, int, Any]] = []
        self.retry = cluster_module.Retry(1.0, sleep=lambda seconds: None, now_s=lambda: 0.0)

    def __enter__(self) -> "FakeCluster":
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def broker_ids(self) -> list[int]:
        return [1, 2]

    def topics(self) -> list[Any]:
        return []

    def request_any(self, key: int, request: Any) -> Any:
        return self._answer("any", key, request)

    def request_broker(self, node_id: int, key: int, request: Any) -> Any:
        return self._answer(f"broker {node_id}", key, request)

    def request_controller(
        self, key: int, request: Any, check: Callable[[Any], None], extra_wait_s: float = 0.0
    ) -> Any:
        response = self._answer("controller", key, request)
        check(response)
        return response

    def drop(self, node_id: int) -> None:
        pass

    def _answer(self, whom: str, key: int, request: Any) -> Any:
        self.asked.append((whom, key, request))
        answer = self.answers[key]
        if isinstance(answer, Exception):
            raise answer
        return answer


def described(*entries: tuple[str, str | None, int]) -> Any:
    return messages.DescribeConfigsResponse(
        results=[
            messages.DescribeConfigsResponseDescribeConfigsResult(
                configs=[
                    messages.DescribeConfigsResponseDescribeConfigsResourceResult(
                        name=name, value=value, config_source=source, is_sensitive=value is None
                    )
                    for name, value, source in entries
                ]
            )
        ]
    )


def altered(error: int = 0, message: str | None = None) -> Any:
    return messages.IncrementalAlterConfigsResponse(
        responses=[
            messages.IncrementalAlterConfigsResponseAlterConfigsResourceResponse(
                error_code=error, error_message=message
            )
        ]
    )


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    fake = FakeCluster({ALTER: altered(), DESCRIBE: described()})
    monkeypatch.setattr(configs_command, "connect", lambda bootstrap, timeout: fake)
    return fake


def invoke(line: str) -> Result:
    return CliRunner().invoke(root, ["configs", *line.split()])


def test_all_four_operations_go_in_one_request(cluster: FakeCluster) -> None:
    assert invoke("alter topics t --set a=1=2 --delete b --append c=x --subtract d=y").output == (
        "altered topic t\n"
    )
    ((whom, key, request),) = cluster.asked
    assert (whom, key, request.validate_only) == ("controller", ALTER, False)
    (resource,) = request.resources
    assert (resource.resource_type, resource.resource_name) == (2, "t")
    assert [(one.config_operation, one.name, one.value) for one in resource.configs] == [
        (0, "a", "1=2"),
        (1, "b", None),
        (2, "c", "x"),
        (3, "d", "y"),
    ]


@pytest.mark.parametrize(
    ("line", "whom", "name"),
    [
        ("alter brokers 2 --set a=b", "broker 2", "2"),
        ("alter brokers --default --set a=b", "controller", ""),
        ("describe brokers 1 --all", "broker 1", "1"),
        ("describe brokers --default", "any", ""),
        ("describe broker-loggers 2", "broker 2", "2"),
        ("describe groups g", "any", "g"),
    ],
)
def test_one_brokers_configs_are_asked_of_that_broker(
    cluster: FakeCluster, line: str, whom: str, name: str
) -> None:
    assert invoke(line).exit_code == 0
    asked, _, request = cluster.asked[0]
    assert (asked, request.resources[0].resource_name) == (whom, name)


def test_a_broker_that_is_not_there(cluster: FakeCluster) -> None:
    result = invoke("describe brokers 7")
    assert (result.exit_code, result.output) == (1, "barnabas: there is no broker 7, only 1, 2\n")


def test_only_what_was_altered_is_shown_unless_asked(cluster: FakeCluster) -> None:
    cluster.answers[DESCRIBE] = described(("z", "1", 1), ("a", "2", 5), ("m", "3", 3))
    assert invoke("describe topics t").output == (
        "topic t\nConfig  Value  Source  Change\nz       1      topic   any time\n"
    )
    everything = json.loads(invoke("describe topics t --all -o json").output)[0]["configs"]
    assert [(config["name"], config["source"]) for config in everything] == [
        ("a", "default"),
        ("m", "all brokers"),
        ("z", "topic"),
    ]
    cluster.answers[DESCRIBE] = described()
    assert invoke("describe topics t").output == "topic t: nothing set\n"


def test_secrets_are_named_and_not_shown(cluster: FakeCluster) -> None:
    cluster.answers[DESCRIBE] = described(("ssl.key.password", None, 2))
    assert "ssl.key.password  [hidden]  broker" in invoke("describe brokers 1").output


def test_a_refusal_is_one_line_and_1(cluster: FakeCluster) -> None:
    cluster.answers[ALTER] = altered(40, "no such thing")
    result = invoke("alter brokers --default --set a=b")
    assert (result.exit_code, result.output) == (
        1,
        "barnabas: default of all brokers: INVALID_CONFIG (no such thing)\n",
    )


def test_numbers_from_a_newer_broker_are_unknown(cluster: FakeCluster) -> None:
    cluster.answers[DESCRIBE] = described(("a", "1", 99))
    assert json.loads(invoke("describe topics t -k a -o json").output)[0]["configs"][0]["source"] == "unknown"


def test_a_broker_that_cannot_list_is_asked_for_metadata(cluster: FakeCluster) -> None:
    cluster.answers[LIST] = UnsupportedByBrokerError("no ListConfigResources")
    listed = json.loads(invoke("list brokers -o json").output)
    assert listed == [{"type": "brokers", "name": "1"}, {"type": "brokers", "name": "2"}]


def test_brokers_are_listed_in_the_order_of_their_numbers(cluster: FakeCluster) -> None:
    cluster.answers[LIST] = messages.ListConfigResourcesResponse(
        config_resources=[
            messages.ListConfigResourcesResponseConfigResource(resource_name=name, resource_type=4)
            for name in ("10", "9")
        ]
    )
    assert [one["name"] for one in json.loads(invoke("list brokers -o json").output)] == ["9", "10"]


def test_names_are_completed_from_the_cluster(monkeypatch: pytest.MonkeyPatch, cluster: FakeCluster) -> None:
    cluster.answers[LIST] = messages.ListConfigResourcesResponse(
        config_resources=[
            messages.ListConfigResourcesResponseConfigResource(resource_name=name, resource_type=2)
            for name in ("orders", "others", "audit")
        ]
    )
    monkeypatch.setattr(configs_command, "completing", lambda ctx, ask: ask(cluster))
    done = CliRunner().invoke(
        root,
        env={
            "_ROOT_COMPLETE": "bash_complete",
            "COMP_WORDS": "root configs describe topics o",
            "COMP_CWORD": "4",
        },
    )
    assert done.output.split() == ["plain,orders", "plain,others"]
