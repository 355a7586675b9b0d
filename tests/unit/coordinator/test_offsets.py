"""Offsets: who may commit, what is read, what expires, what transactions make of them."""

from collections.abc import Iterable
from typing import Any

import pytest

from barnabas.base.errors import ErrorCode
from barnabas.base.uuids import NULL_UUID
from barnabas.coordinator.groups.config import GroupConfig
from barnabas.coordinator.offsets.cleanup import EXPIRE_MORE, TOMBSTONES_MAX, expire_offsets
from barnabas.coordinator.offsets.commits import commit_offsets, commit_transactional_offsets, delete_offsets
from barnabas.coordinator.offsets.committed import CommittedOffset, PendingOffsets
from barnabas.coordinator.offsets.fetches import AnswerRoom, fetch_offsets
from barnabas.coordinator.runtime.appender import TransactionEnd
from barnabas.coordinator.runtime.outcome import Outcome
from barnabas.protocol import messages
from tests.coordinator_setup import Answers, Groups

G = "group"
T = "topic"
T_ID = bytes(range(16))
OTHER_ID = bytes(range(1, 17))
DAY_MS = 24 * 60 * 60 * 1000
CHECK_MS = 600_000


def commit_request(offsets: dict[int, int], topic: str = T, topic_id: bytes = T_ID, **more: Any) -> Any:
    metadata = more.pop("metadata", "")
    partitions = [
        messages.OffsetCommitRequestOffsetCommitRequestPartition(
            partition_index=number, committed_offset=offset, committed_metadata=metadata
        )
        for number, offset in offsets.items()
    ]
    asked = messages.OffsetCommitRequestOffsetCommitRequestTopic(
        name=topic, topic_id=topic_id, partitions=partitions
    )
    return messages.OffsetCommitRequest(group_id=more.pop("group_id", G), topics=[asked], **more)


def commit(groups: Groups, offsets: dict[int, int], version: int = 9, **more: Any) -> Answers:
    request = commit_request(offsets, **more)
    return groups.write(
        request.group_id, lambda shard, now_ms: commit_offsets(shard.offsets, request, version, now_ms)
    )


def txn_commit(
    groups: Groups, offset: int, *, producer_id: int = 7, version: int = 5, **more: Any
) -> Answers:
    partition = messages.TxnOffsetCommitRequestTxnOffsetCommitRequestPartition(
        partition_index=0, committed_offset=offset, committed_metadata=""
    )
    topic = messages.TxnOffsetCommitRequestTxnOffsetCommitRequestTopic(name=T, partitions=[partition])
    request = messages.TxnOffsetCommitRequest(
        transactional_id="x", group_id=G, producer_id=producer_id, producer_epoch=0, topics=[topic], **more
    )
    return groups.write(
        G, lambda shard, now_ms: commit_transactional_offsets(shard.offsets, request, version, now_ms)
    )


def end(groups: Groups, producer_id: int = 7, *, committed: bool = True) -> None:
    runtime = groups.coordinator._runtime
    told: list[Any] = []
    ending = TransactionEnd(
        producer_id=producer_id, producer_epoch=0, coordinator_epoch=0, committed=committed
    )
    groups.coordinator.end_transaction(runtime.partition_of(G), ending, told.append)
    assert told == [None]


def fetched(
    groups: Groups,
    partitions: Iterable[int] | None = None,
    *,
    topic_id: bytes = NULL_UUID,
    stable: bool = False,
    group_id: str = G,
) -> dict[int, int | str]:
    """Partition -> offset, or the error's name."""
    topics = None
    if partitions is not None:
        topics = [
            messages.OffsetFetchRequestOffsetFetchRequestTopics(
                name=T, topic_id=topic_id, partition_indexes=list(partitions)
            )
        ]
    request = messages.OffsetFetchRequestOffsetFetchRequestGroup(group_id=group_id, topics=topics)
    answer = groups.read(
        group_id,
        lambda shard, now_ms: fetch_offsets(shard.offsets, request, require_stable=stable, room=AnswerRoom()),
    ).reply
    return {
        one.partition_index: ErrorCode(one.error_code).name if one.error_code else one.committed_offset
        for topic in answer.topics
        for one in topic.partitions
    }


def codes(answers: Answers) -> list[int]:
    return [one.error_code for topic in answers.reply.topics for one in topic.partitions]


# Committing


def test_what_is_committed_is_read_and_survives_a_restart() -> None:
    groups = Groups()
    assert codes(commit(groups, {0: 5, 1: 6})) == [0, 0]
    commit(groups, {1: 7})
    assert fetched(groups) == {0: 5, 1: 7}
    groups.restart()
    assert fetched(groups) == {0: 5, 1: 7}


def test_who_only_commits_makes_an_empty_classic_group() -> None:
    groups = Groups()
    commit(groups, {0: 5})
    group = groups.shard(G).groups[G]
    assert (group.type.name, group.state_name, group.protocol_type) == ("CLASSIC", "Empty", "")


@pytest.mark.parametrize(("version", "error"), [(8, "ILLEGAL_GENERATION"), (9, "GROUP_ID_NOT_FOUND")])
def test_a_member_of_no_group_may_not_commit(version: int, error: str) -> None:
    groups = Groups()
    answers = commit(groups, {0: 5}, version, generation_id_or_member_epoch=1, member_id="m")
    assert answers.error == error
    assert G not in groups.shard(G).groups


def test_a_member_that_is_unknown_may_not_commit() -> None:
    groups = Groups()
    commit(groups, {0: 5})
    assert commit(groups, {0: 6}, generation_id_or_member_epoch=1, member_id="m").error == "UNKNOWN_MEMBER_ID"
    assert fetched(groups) == {0: 5}


def test_metadata_above_the_limit_fails_its_partition_alone() -> None:
    groups = Groups(GroupConfig(offset_metadata_max_bytes=4))
    assert codes(commit(groups, {0: 1}, metadata="12345")) == [ErrorCode.OFFSET_METADATA_TOO_LARGE]
    assert fetched(groups) == {}
    assert codes(commit(groups, {0: 1}, metadata="1234")) == [0]


def test_the_limit_of_metadata_counts_utf_16_units() -> None:
    groups = Groups(GroupConfig(offset_metadata_max_bytes=4))
    assert codes(commit(groups, {0: 1}, metadata="\N{PILE OF POO}" * 2)) == [0]
    assert codes(commit(groups, {0: 1}, metadata="\N{PILE OF POO}" * 3)) == [
        ErrorCode.OFFSET_METADATA_TOO_LARGE
    ]


def test_null_metadata_is_empty_metadata() -> None:
    groups = Groups()
    commit(groups, {0: 1}, metadata=None)
    assert groups.shard(G).offsets.committed.get(G, T, 0).metadata == ""  # type: ignore[union-attr]


def test_a_commit_keeps_the_topics_id() -> None:
    groups = Groups()
    commit(groups, {0: 1})
    groups.restart()
    assert groups.shard(G).offsets.committed.get(G, T, 0).topic_id == T_ID  # type: ignore[union-attr]


# Reading


def test_what_was_not_committed_is_minus_one() -> None:
    groups = Groups()
    assert fetched(groups, [0, 9]) == {0: -1, 9: -1}
    assert fetched(groups) == {}
    commit(groups, {0: 1})
    assert fetched(groups, [0, 9]) == {0: 1, 9: -1}


def test_an_offset_of_another_topic_with_the_same_name_is_not_told() -> None:
    groups = Groups()
    commit(groups, {0: 1})
    assert fetched(groups, [0], topic_id=OTHER_ID) == {0: -1}
    assert fetched(groups, [0], topic_id=T_ID) == {0: 1}
    commit(groups, {0: 2}, topic_id=NULL_UUID)
    assert fetched(groups, [0], topic_id=OTHER_ID) == {0: 2}, "nobody knows of which topic"


# Deleting


def test_no_more_is_told_than_there_is_room_for() -> None:
    groups = Groups()
    commit(groups, {0: 1, 1: 1})
    everything = messages.OffsetFetchRequestOffsetFetchRequestGroup(group_id=G, topics=None)
    room = AnswerRoom(500)

    def ask() -> Answers:
        return groups.read(
            G, lambda shard, _: fetch_offsets(shard.offsets, everything, require_stable=False, room=room)
        )

    assert len(ask().reply.topics[0].partitions) == 2
    assert len(ask().reply.topics[0].partitions) == 2
    assert ask().error == "INVALID_REQUEST"


def test_metadata_takes_room_each_time_it_is_told() -> None:
    groups = Groups()
    commit(groups, {0: 1}, metadata="m" * 1000)
    topic = messages.OffsetFetchRequestOffsetFetchRequestTopics(name=T, partition_indexes=[0] * 6)
    request = messages.OffsetFetchRequestOffsetFetchRequestGroup(group_id=G, topics=[topic])
    asked = groups.read(
        G,
        lambda shard, _: fetch_offsets(shard.offsets, request, require_stable=False, room=AnswerRoom(6_000)),
    )
    assert asked.error == "INVALID_REQUEST"


def delete(groups: Groups, *numbers: int) -> Answers:
    partitions = [
        messages.OffsetDeleteRequestOffsetDeleteRequestPartition(partition_index=number) for number in numbers
    ]
    topic = messages.OffsetDeleteRequestOffsetDeleteRequestTopic(name=T, partitions=partitions)
    request = messages.OffsetDeleteRequest(group_id=G, topics=[topic])
    return groups.write(G, lambda shard, now_ms: delete_offsets(shard.offsets, request))


def test_deleted_offsets_are_gone_and_stay_so() -> None:
    groups = Groups()
    commit(groups, {0: 1, 1: 2})
    assert codes(delete(groups, 0, 5)) == [0, 0]
    assert fetched(groups) == {1: 2}
    groups.restart()
    assert fetched(groups) == {1: 2}


def test_offsets_of_no_group_cannot_be_deleted() -> None:
    assert delete(Groups(), 0).error == "GROUP_ID_NOT_FOUND"


def test_deleting_also_drops_what_a_transaction_would_commit() -> None:
    groups = Groups()
    txn_commit(groups, 5)
    delete(groups, 0)
    end(groups)
    assert fetched(groups) == {}


# Transactions


def test_a_transactions_offsets_count_when_it_is_committed() -> None:
    groups = Groups()
    commit(groups, {0: 1})
    txn_commit(groups, 5)
    assert fetched(groups) == {0: 1}
    assert fetched(groups, stable=True) == {0: "UNSTABLE_OFFSET_COMMIT"}
    assert fetched(groups, [0, 1], stable=True) == {0: "UNSTABLE_OFFSET_COMMIT", 1: -1}
    end(groups)
    assert fetched(groups, stable=True) == {0: 5}
    groups.restart()
    assert fetched(groups, stable=True) == {0: 5}


def test_an_aborted_transactions_offsets_are_dropped() -> None:
    groups = Groups()
    commit(groups, {0: 1})
    txn_commit(groups, 5)
    end(groups, committed=False)
    assert fetched(groups, stable=True) == {0: 1}


def test_an_undecided_transaction_is_so_after_a_restart() -> None:
    groups = Groups()
    txn_commit(groups, 5)
    groups.restart()
    assert fetched(groups, [0], stable=True) == {0: "UNSTABLE_OFFSET_COMMIT"}
    assert fetched(groups, [0]) == {0: -1}


def test_a_later_commit_outlives_an_earlier_transaction() -> None:
    groups = Groups()
    txn_commit(groups, 5)
    commit(groups, {0: 9})
    end(groups)
    assert fetched(groups) == {0: 9}


def test_transactions_of_one_partition_do_not_hide_each_other() -> None:
    groups = Groups()
    txn_commit(groups, 5, producer_id=1)
    txn_commit(groups, 6, producer_id=2)
    end(groups, 1)
    assert fetched(groups, [0], stable=True) == {0: "UNSTABLE_OFFSET_COMMIT"}
    end(groups, 2)
    assert fetched(groups, stable=True) == {0: 6}


@pytest.mark.parametrize(("version", "error"), [(5, "ILLEGAL_GENERATION"), (6, "GROUP_ID_NOT_FOUND")])
def test_a_transaction_of_a_member_of_no_group_is_refused(version: int, error: str) -> None:
    answers = txn_commit(Groups(), 1, version=version, generation_id_or_member_epoch=3, member_id="m")
    assert answers.error == error


def test_pending_offsets_leave_nothing_behind() -> None:
    pending = PendingOffsets()
    offset = CommittedOffset(messages.OffsetCommitValue(offset=1, metadata="", commit_timestamp=1), 0)
    for producer_id in (1, 2):
        pending.add(producer_id, G, T, 0, offset)
    pending.drop(G, T, 0)
    assert not pending.has_group(G)
    assert list(pending.take(1)) == []
    pending.add(1, G, T, 0, offset)
    assert [one[:3] for one in pending.take(1)] == [(G, T, 0)]
    assert not pending.has_group(G)
    assert list(pending.take(99)) == []


# Expiry


def pass_days(groups: Groups, days: float) -> None:
    """Let time pass in steps of a check."""
    left_ms = int(days * DAY_MS)
    while left_ms > 0:
        groups.broker.pass_ms(min(left_ms, CHECK_MS * 100))
        left_ms -= CHECK_MS * 100


def test_offsets_of_a_group_that_only_commits_expire_by_their_commit_and_the_group_with_them() -> None:
    groups = Groups()
    commit(groups, {0: 1})
    pass_days(groups, 5)
    commit(groups, {1: 2})
    pass_days(groups, 1.9)
    assert fetched(groups) == {0: 1, 1: 2}
    pass_days(groups, 1)
    assert fetched(groups) == {1: 2}
    assert G in groups.shard(G).groups
    pass_days(groups, 5)
    assert fetched(groups) == {}
    assert G not in groups.shard(G).groups
    groups.restart()
    assert G not in groups.shard(G).groups
    assert fetched(groups) == {}


def test_a_retention_of_the_clients_own_counts_from_its_commit() -> None:
    groups = Groups()
    commit(groups, {0: 1}, 2, retention_time_ms=DAY_MS)
    commit(groups, {1: 1})
    groups.restart()
    pass_days(groups, 0.9)
    assert fetched(groups) == {0: 1, 1: 1}
    pass_days(groups, 0.8)
    assert fetched(groups) == {1: 1}


def test_a_retention_beyond_all_time_lasts_as_long_as_time_can_be_told() -> None:
    groups = Groups()
    commit(groups, {0: 1}, 2, retention_time_ms=2**63 - 1)
    groups.restart()
    pass_days(groups, 1000)
    assert fetched(groups) == {0: 1}


def test_an_offset_with_an_open_transaction_does_not_expire() -> None:
    groups = Groups()
    commit(groups, {0: 1})
    txn_commit(groups, 5)
    pass_days(groups, 8)
    assert fetched(groups) == {0: 1}


def test_expiry_goes_on_after_a_restart() -> None:
    groups = Groups()
    commit(groups, {0: 1})
    groups.restart()
    groups.shard(G)
    pass_days(groups, 8)
    assert fetched(groups) == {}


def test_offsets_with_a_member_that_reads_the_topic_stay() -> None:
    groups = Groups()
    commit(groups, {0: 1})
    shard = groups.shard(G)

    class Reading:
        group_id = G
        is_empty = False

        def is_subscribed_to(self, topic: str) -> bool:
            return topic == T

        def offsets_expire_since_ms(self, commit_ms: int) -> int:
            return commit_ms

    reading: Any = Reading()
    shard.groups[G] = reading
    value = messages.OffsetCommitValue(offset=1, metadata="", commit_timestamp=1)
    shard.offsets.committed.put(G, "other", 0, CommittedOffset(value, 0))
    pass_days(groups, 8)
    assert list(shard.offsets.committed.by_group[G]) == [T]


def test_many_offsets_that_expire_at_once_go_a_few_at_a_time() -> None:
    groups = Groups()
    for start in range(0, 5_000, 500):
        commit(groups, dict.fromkeys(range(start, start + 500), 1))
    offsets = groups.shard(G).offsets
    later_ms = groups.broker.clock.wall_ms() + 8 * DAY_MS
    for count, is_last in ((TOMBSTONES_MAX, False), (TOMBSTONES_MAX, False), (1_001, True)):
        assert G in offsets.groups
        offsets.context.timers.cancel(EXPIRE_MORE)
        records = expire_offsets(offsets, later_ms).records
        assert len(records) == count
        assert offsets.context.timers.is_scheduled(EXPIRE_MORE) is not is_last
        groups.write(G, lambda shard, _, records=records: Outcome(records=records, is_atomic=False))
    assert G not in offsets.groups


def test_what_expired_and_was_not_written_in_one_turn_follows_at_once() -> None:
    groups = Groups()
    for start in range(0, 5_000, 500):
        commit(groups, dict.fromkeys(range(start, start + 500), 1))
    offsets = groups.shard(G).offsets
    groups.broker.clock.set_wall_ms(groups.broker.clock.wall_ms() + 8 * DAY_MS)
    groups.broker.pass_ms(groups.config.offsets_retention_check_interval_ms + 5_000)
    for _ in range(2):
        groups.broker.pass_ms(100)
    assert offsets.expirations == 5_000
    assert G not in offsets.groups


# Topics that go


def test_many_offsets_of_a_deleted_topic_go_a_few_at_a_time() -> None:
    groups = Groups()
    groups.create_topic(T, T_ID, 1)
    for start in range(0, 5_000, 500):
        commit(groups, dict.fromkeys(range(start, start + 500), 1))
    txn_commit(groups, 5)
    offsets = groups.shard(G).offsets
    groups.replay(messages.RemoveTopicRecord(topic_id=T_ID))
    left = [5_000]
    while left[-1]:
        groups.broker.pass_ms(1)
        left.append(sum(len(topics.get(T, ())) for topics in offsets.committed.by_group.values()))
        assert left[-2] - left[-1] <= TOMBSTONES_MAX
        assert len(left) < 1_000
    groups.broker.pass_ms(100)
    assert not offsets.pending.has_group(G)
    assert offsets.deleted_topics == {}


def test_offsets_of_a_deleted_topic_go_with_it() -> None:
    groups = Groups()
    groups.create_topic(T, T_ID, 2)
    commit(groups, {0: 1})
    commit(groups, {0: 2}, topic="kept", topic_id=OTHER_ID)
    txn_commit(groups, 5)
    groups.replay(messages.RemoveTopicRecord(topic_id=T_ID))
    groups.broker.pass_ms(1)
    assert list(groups.shard(G).offsets.committed.by_group[G]) == ["kept"]
    assert not groups.shard(G).offsets.pending.has_group(G)
    assert groups.shard(G).offsets.deleted_topics == {}
    groups.restart()
    assert list(groups.shard(G).offsets.committed.by_group[G]) == ["kept"]


def test_offsets_of_a_newer_topic_of_the_same_name_stay() -> None:
    groups = Groups()
    groups.create_topic(T, T_ID, 2)
    commit(groups, {0: 1}, topic_id=OTHER_ID)
    groups.replay(messages.RemoveTopicRecord(topic_id=T_ID))
    groups.broker.pass_ms(1)
    assert fetched(groups) == {0: 1}


def test_all_offsets_of_a_group_have_tombstones() -> None:
    groups = Groups()
    commit(groups, {0: 1, 1: 2})
    txn_commit(groups, 5)
    offsets = groups.shard(G).offsets
    records = offsets.tombstones(G)
    keys: list[Any] = [record.key for record in records]
    assert sorted((key.topic, key.partition) for key in keys) == [(T, 0), (T, 1)]
    groups.write(G, lambda shard, now_ms: Outcome(records=records))
    assert G not in offsets.committed.by_group
    assert not offsets.pending.has_group(G)
