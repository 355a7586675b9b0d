"""ListGroups, DescribeGroups and DeleteGroups: filters, several shards, shards that still load."""

import pytest

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.coordinator.groups.config import GroupConfig
from barnabas.handlers import gathered_groups
from barnabas.protocol import messages as m
from tests.group_host import GroupHost, HostConnection

OPERATIONS = 3400


class Host(GroupHost):
    """A host of which some groups are still loaded, or are answered only later.

    Attributes:
        loading: ids of groups that are not known yet.
        held: operations that wait to be run by the test; None runs them at once.
    """

    def __init__(self):
        super().__init__({"six": 6}, GroupConfig(group_initial_rebalance_delay_ms=0))
        self.loading = set()
        self.held = None

    def read(self, group_id, operation, reply, failed):
        self._through(group_id, failed, lambda: GroupHost.read(self, group_id, operation, reply, failed))

    def write(self, group_id, operation, reply, failed):
        self._through(group_id, failed, lambda: GroupHost.write(self, group_id, operation, reply, failed))

    def _through(self, group_id, failed, go):
        if group_id in self.loading:
            failed(ApiError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS))
        elif self.held is None:
            go()
        else:
            self.held.append(go)


@pytest.fixture
def host():
    return Host()


def ask(host, request, version):
    connection = HostConnection("admin")
    host.send(connection, request, version)
    host.advance_ms(0)
    return connection.answers.popleft()[1] if connection.answers else connection


def commit(host, group_id):
    partition = m.OffsetCommitRequestOffsetCommitRequestPartition(
        partition_index=0, committed_offset=5, committed_metadata=""
    )
    topic = m.OffsetCommitRequestOffsetCommitRequestTopic(name="six", partitions=[partition])
    ask(host, m.OffsetCommitRequest(group_id=group_id, topics=[topic]), 9)


def join(host, group_id):
    protocol = m.JoinGroupRequestJoinGroupRequestProtocol(name="range", metadata=b"")
    request = m.JoinGroupRequest(
        group_id=group_id,
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        protocol_type="consumer",
        protocols=[protocol],
    )
    return ask(host, request, 3)


def described(host, *group_ids, version=6, operations=False):
    request = m.DescribeGroupsRequest(groups=list(group_ids))
    request.include_authorized_operations = operations
    return ask(host, request, version).groups


def test_groups_are_described_while_others_still_load(host):
    commit(host, "known")
    host.loading.add("loading")
    found = described(host, "loading", "known", "unknown")
    assert [group.group_id for group in found] == ["loading", "known", "unknown"]
    assert [group.error_code for group in found] == [
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NONE,
        ErrorCode.GROUP_ID_NOT_FOUND,
    ]


def test_a_group_named_twice_is_told_twice(host):
    commit(host, "known")
    names = ["known", "unknown", "known"]
    assert [group.group_id for group in described(host, *names)] == names
    request = m.ConsumerGroupDescribeRequest(group_ids=["a", "b", "a"])
    assert [group.group_id for group in ask(host, request, 1).groups] == ["a", "b", "a"]


def test_no_more_repetitions_are_told_than_one_answer_may_hold(host, monkeypatch):
    commit(host, "known")
    monkeypatch.setattr(gathered_groups, "GROUPS_ANSWER_BYTES_MAX", 200)
    found = described(host, *["known"] * 100, "unknown")
    codes = [group.error_code for group in found]
    assert codes[0] == 0
    assert 2 < codes.count(0) < 10
    assert codes.count(ErrorCode.INVALID_REQUEST) == 101 - codes.count(0)
    assert len(described(host, "known", "unknown")) == 2
    request = m.ConsumerGroupDescribeRequest(group_ids=["a"] * 100)
    codes = [group.error_code for group in ask(host, request, 1).groups]
    assert ErrorCode.INVALID_REQUEST in codes
    assert codes[0] == ErrorCode.GROUP_ID_NOT_FOUND


def test_descriptions_go_out_together_in_the_order_asked(host):
    for name in "abc":
        commit(host, name)
    host.held = []
    connection = HostConnection("admin")
    host.send(connection, m.DescribeGroupsRequest(groups=["c", "a", "b"]), 6)
    later = list(reversed(host.held))
    for go in later[:-1]:
        go()
    assert not connection.answers
    later[-1]()
    ((_, answer),) = connection.answers
    assert [group.group_id for group in answer.groups] == ["c", "a", "b"]


@pytest.mark.parametrize("version", [3, 5, 6])
def test_operations_are_told_when_asked_for(host, version):
    commit(host, "g")
    assert described(host, "g", version=version, operations=True)[0].authorized_operations == OPERATIONS
    assert described(host, "g", version=version)[0].authorized_operations == -(2**31)


def test_what_is_not_there_is_dead_and_from_version_6_on_an_error(host):
    (old,) = described(host, "nobody", version=5)
    assert (old.error_code, old.group_state) == (ErrorCode.NONE, "Dead")
    (new,) = described(host, "nobody")
    assert (new.error_code, new.group_state) == (ErrorCode.GROUP_ID_NOT_FOUND, "Dead")


def test_lists_are_filtered_by_state_and_type_in_any_case(host):
    commit(host, "offsets")
    join(host, "members")

    def names(states=(), types=()):
        request = m.ListGroupsRequest(states_filter=list(states), types_filter=list(types))
        return [group.group_id for group in ask(host, request, 5).groups]

    assert names() == ["offsets", "members"]
    assert names(["empty"]) == ["offsets"]
    assert names(["COMPLETINGREBALANCE", "nonsense"]) == ["members"]
    assert names([], ["Classic"]) == ["offsets", "members"]
    assert names([], ["consumer"]) == []
    assert names(["Empty"], ["classic"]) == ["offsets"]


def test_a_list_that_would_lack_groups_is_refused(host):
    commit(host, "g")
    host.is_loading = True
    answer = ask(host, m.ListGroupsRequest(), 5)
    assert (answer.error_code, answer.groups) == (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, [])


def test_a_broker_without_groups_lists_none(host):
    host.dispatcher.services.made_groups = None
    answer = ask(host, m.ListGroupsRequest(), 5)
    assert (answer.error_code, answer.groups) == (ErrorCode.NONE, [])


def test_each_group_is_deleted_by_itself(host):
    commit(host, "empty")
    join(host, "members")
    host.loading.add("loading")
    request = m.DeleteGroupsRequest(groups_names=["empty", "members", "nobody", "loading", "empty"])
    results = ask(host, request, 2).results
    assert [(one.group_id, ErrorCode(one.error_code).name) for one in results] == [
        ("empty", "NONE"),
        ("members", "NON_EMPTY_GROUP"),
        ("nobody", "GROUP_ID_NOT_FOUND"),
        ("loading", "COORDINATOR_LOAD_IN_PROGRESS"),
    ]
    assert "empty" not in host.shard.groups
    assert "empty" not in host.shard.offsets.committed.by_group
    host.restart(compacted=True)
    assert list(host.shard.groups) == ["members"]


def test_a_deletion_that_cannot_be_written_deletes_nothing(host):
    commit(host, "g")
    host.append_error = ErrorCode.COORDINATOR_NOT_AVAILABLE
    (result,) = ask(host, m.DeleteGroupsRequest(groups_names=["g"]), 2).results
    assert result.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert "g" in host.shard.groups
    assert "g" in host.shard.offsets.committed.by_group


def test_nothing_asked_is_nothing_answered(host):
    assert described(host) == []
    assert ask(host, m.DeleteGroupsRequest(groups_names=[]), 2).results == []
