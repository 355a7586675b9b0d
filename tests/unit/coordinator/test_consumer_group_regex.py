"""Subscriptions by regular expression: checked at once, resolved behind the request, and again when due."""

import pytest

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.coordinator.consumer.regex import NAMES_PER_STEP, RegexResolution, check_regex
from tests.consumer_members import Members

REFRESH_MS = 600_000


@pytest.fixture
def members() -> Members:
    return Members({"orders-1": 1, "orders-2": 1, "other": 1})


def join(members: Members, member_id: str, regex: str, **fields: object) -> object:
    return members.join(member_id, subscribed_topic_names=None, subscribed_topic_regex=regex, **fields)


@pytest.mark.parametrize("regex", ["a(", "*", "[z-a]", "a{2000}", "\\", "(?=a)", "(a)\\1"])
def test_an_expression_that_is_none_is_refused_with_the_reason(regex: str) -> None:
    with pytest.raises(ApiError) as refused:
        check_regex(regex)
    assert refused.value.code is ErrorCode.INVALID_REGULAR_EXPRESSION
    assert refused.value.message is not None
    assert refused.value.message.startswith(
        f"SubscribedTopicRegex `{regex}` is not a valid regular expression: "
    )


def test_an_expression_must_match_the_whole_name() -> None:
    resolution = RegexResolution(["a.", "(?i)B|c"], ["a", "ab", "abc", "xab", "b", "c", "cc"])
    assert resolution.step()
    assert resolution.found == {"a.": {"ab"}, "(?i)B|c": {"b", "c"}}


def test_many_names_are_matched_in_steps() -> None:
    names = [f"t{number}" for number in range(NAMES_PER_STEP + 1)]
    resolution = RegexResolution(["t.*"], names)
    assert not resolution.step()
    assert len(resolution.found["t.*"]) == NAMES_PER_STEP
    assert resolution.step()
    assert resolution.found["t.*"] == set(names)


def test_an_expression_that_would_take_others_for_ever_takes_no_time() -> None:
    resolution = RegexResolution(["(a+)+b"], ["a" * 249])
    assert resolution.step()
    assert resolution.found == {"(a+)+b": set()}


def test_the_topics_come_with_a_later_heartbeat(members: Members) -> None:
    joined = join(members, "a", "orders-.*")
    assert joined.error_code == 0
    assert members.given(joined) == {}
    members.written()
    members.host.advance_ms(0)
    assert members.written() == ["ConsumerGroupRegularExpression", "ConsumerGroupMetadata"]
    assert members.settle("a")["a"] == {"orders-1": [0], "orders-2": [0]}


def test_a_wrong_expression_is_the_answer_and_changes_nothing(members: Members) -> None:
    members.join("a", "other")
    refused = members.beat("a", 2, subscribed_topic_regex="a(")
    assert refused.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION
    assert members.group.members["a"].subscribed_topic_regex == ""


def test_a_topic_created_later_is_found_but_not_within_ten_seconds(members: Members) -> None:
    join(members, "a", "orders-.*")
    members.host.advance_ms(5_000)
    members.host.make_topic("orders-3", 1)
    members.settle("a")
    members.host.advance_ms(5_000)
    members.settle("a")
    members.host.advance_ms(0)
    assert "orders-3" not in members.settle("a")["a"]
    members.host.advance_ms(5_000)
    members.settle("a")
    members.host.advance_ms(0)
    assert members.settle("a")["a"] == {"orders-1": [0], "orders-2": [0], "orders-3": [0]}


def test_without_new_topics_it_is_resolved_again_when_the_refresh_interval_is_over(members: Members) -> None:
    join(members, "a", "orders-.*")
    members.host.advance_ms(0)
    members.settle("a")
    members.written()
    for _ in range(REFRESH_MS // 5_000):
        members.host.advance_ms(5_000)
        members.settle("a")
    assert not members.written()
    members.host.advance_ms(5_000)
    members.settle("a")
    members.host.advance_ms(0)
    assert members.written() == ["ConsumerGroupRegularExpression"]


def test_names_and_expression_add_up(members: Members) -> None:
    members.join("a", "other", subscribed_topic_regex="orders-.*")
    members.host.advance_ms(0)
    assert members.settle("a")["a"] == {"orders-1": [0], "orders-2": [0], "other": [0]}


def test_a_second_member_with_the_same_expression_need_not_wait(members: Members) -> None:
    join(members, "a", "orders-.*")
    members.host.advance_ms(0)
    members.settle("a")
    join(members, "b", "orders-.*")
    settled = members.settle("a", "b")
    assert sorted(map(len, settled.values())) == [1, 1]
    assert members.group.is_homogeneous


def test_an_expression_nobody_uses_any_more_is_forgotten(members: Members) -> None:
    join(members, "a", "orders-.*")
    join(members, "b", "other")
    members.host.advance_ms(20_000)
    members.settle("a", "b")
    members.host.advance_ms(0)
    members.written()
    members.beat("b", -1)
    assert "-ConsumerGroupRegularExpression" in members.written()
    members.beat(
        "a",
        members.group.members["a"].member_epoch,
        subscribed_topic_regex="",
        subscribed_topic_names=["other"],
    )
    assert "-ConsumerGroupRegularExpression" in members.written()
    assert not members.group.resolved_regexes
    assert members.settle("a")["a"] == {"other": [0]}


def test_the_result_for_a_group_that_is_gone_is_dropped(members: Members) -> None:
    join(members, "a", "orders-.*")
    members.beat("a", -1)
    members.written()
    members.host.advance_ms(0)
    assert not members.written()


def test_after_a_restart_the_topics_are_known_and_looked_for_again(members: Members) -> None:
    join(members, "a", "orders-.*")
    members.host.advance_ms(0)
    members.settle("a")
    members.host.restart()
    assert members.group.is_subscribed_to("orders-1")
    assert not members.group.is_subscribed_to("other")
    members.host.advance_ms(11_000)
    members.written()
    members.settle("a")
    members.host.advance_ms(0)
    assert members.written() == ["ConsumerGroupRegularExpression"]


def test_an_expression_that_others_still_use_is_kept(members: Members) -> None:
    for member_id in ("a", "b"):
        join(members, member_id, "orders-.*")
    members.host.advance_ms(0)
    members.settle("a", "b")
    members.written()
    members.beat("b", -1)
    assert "-ConsumerGroupRegularExpression" not in members.written()
    assert members.settle("a")["a"] == {"orders-1": [0], "orders-2": [0]}
