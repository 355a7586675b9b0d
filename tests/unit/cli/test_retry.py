"""When a client tries again, and when it gives up."""

import pytest

from barnabas.base.errors import ErrorCode
from barnabas.cli.client.cluster import Retry
from barnabas.cli.client.errors import BrokerError, ClientError, ConnectionLostError


class Time:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pauses: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.pauses.append(seconds)

    def retry(self, timeout_s: float) -> Retry:
        return Retry(timeout_s, sleep=self.sleep, now_s=lambda: self.now)


def failing(times: int, error: ClientError) -> "list[ClientError | str]":
    return [error] * times + ["done"]


def attempt_of(script: "list[ClientError | str]"):
    def attempt() -> str:
        step = script.pop(0)
        if isinstance(step, ClientError):
            raise step
        return step

    return attempt


def test_pauses_grow_to_a_second() -> None:
    time = Time()
    recovered: list[int] = []
    script = failing(7, ConnectionLostError("gone"))
    assert time.retry(30).run(attempt_of(script), lambda: recovered.append(1)) == "done"
    assert time.pauses == [0.05, 0.1, 0.2, 0.4, 0.8, 1.0, 1.0]
    assert len(recovered) == 7


def test_the_last_cause_is_raised_when_time_is_up() -> None:
    time = Time()
    with pytest.raises(BrokerError, match="orders-0: NOT_LEADER_OR_FOLLOWER"):
        time.retry(2).run(
            attempt_of(failing(99, BrokerError(ErrorCode.NOT_LEADER_OR_FOLLOWER, "orders-0"))), lambda: None
        )
    assert time.now <= 2


@pytest.mark.parametrize(
    "code", [ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 12345]
)
def test_what_cannot_heal_is_raised_at_once(code: int) -> None:
    time = Time()
    with pytest.raises(BrokerError):
        time.retry(30).run(attempt_of(failing(1, BrokerError(code, "orders"))), lambda: None)
    assert time.pauses == []


def test_progress_starts_the_time_anew() -> None:
    time = Time()
    patience = time.retry(1).patience()
    for _ in range(20):
        patience.failed(ConnectionLostError("gone"))
        patience.progress()
    assert time.pauses == [0.05] * 20
