"""Has the regular expressions of consumer groups resolved: when, and what their topics make of the group.

A heartbeat never waits for it. It notes that resolution is due and goes on with what is known; timers that
fire at once then match topic names step by step, and the result, a record for each expression and a new epoch
for the group, is appended on its own. Members learn of it at their next heartbeats.

All expressions of a group are resolved together, at most once in ten seconds: when one is new, when topics
were created since, and every `group.consumer.regex.refresh.interval.ms`.
"""

from __future__ import annotations

from collections.abc import Collection

from barnabas.base.enums import Enum
from barnabas.base.hints import Final
from barnabas.base.logger import Logger
from barnabas.coordinator.consumer import records
from barnabas.coordinator.consumer.core import ConsumerGroupCore
from barnabas.coordinator.consumer.group import ConsumerGroup
from barnabas.coordinator.consumer.regex import (
    RESOLVE_INTERVAL_MIN_MS,
    RegexResolution,
    ResolvedRegex,
    check_regex,
)
from barnabas.coordinator.consumer.update import ConsumerGroupUpdate
from barnabas.coordinator.runtime.outcome import CoordinatorRecord, Outcome

_log = Logger(__name__)

_TIMER: Final = "consumer regex"

_UNRESOLVED: Final = ResolvedRegex()


class RegexChange(Enum):
    """What became of a member's regular expression."""

    NONE = "none"
    UPDATED = "updated"
    """It is another one; what it matches is not known yet."""
    UPDATED_AND_RESOLVED = "updated and resolved"
    """It is another one that others have, or it is gone."""


def note_regex(core: ConsumerGroupCore, update: ConsumerGroupUpdate, now_ms: int) -> RegexChange:
    """Record that a member's expression changed, and have the group's resolved if that is due.

    Raises:
        ApiError: INVALID_REGULAR_EXPRESSION.
    """
    group = update.group
    old, new = update.before.subscribed_topic_regex, update.member.subscribed_topic_regex
    change = RegexChange.NONE
    is_new = False
    if old != new:
        change = RegexChange.UPDATED
        members = group.subscriptions.regexes
        if old and members.get(old) == 1:
            update.records.append(records.regex_tombstone(group.group_id, old))
        if new and members.get(new) == 0:
            check_regex(new)
            is_new = True
        elif new in group.resolved_regexes or (old and not new):
            change = RegexChange.UPDATED_AND_RESOLVED
    if is_new or len(group.subscriptions.regexes):
        after = group.subscriptions.regexes.copy()
        if old != new:
            for regex, step in ((old, -1), (new, 1)):
                if regex:
                    after.add(regex, step)
        if len(after) and _is_due(core, group, is_new or len(after) != len(group.resolved_regexes), now_ms):
            _begin(core, group.group_id, list(after), now_ms)
    return change


def _is_due(core: ConsumerGroupCore, group: ConsumerGroup, is_new: bool, now_ms: int) -> bool:
    if core.context.timers.is_scheduled((_TIMER, group.group_id)):
        return False
    last = next(iter(group.resolved_regexes.values()), None)
    if last is None:
        return True
    since_ms = now_ms - last.resolved_at_ms
    if 0 <= since_ms <= RESOLVE_INTERVAL_MIN_MS:
        return False
    interval_ms = core.config(group.group_id).group_consumer_regex_refresh_interval_ms
    return is_new or group.resolved_topics_created != core.topics_created or not 0 <= since_ms <= interval_ms


def _begin(core: ConsumerGroupCore, group_id: str, regexes: Collection[str], now_ms: int) -> None:
    resolution: RegexResolution | None = None
    topics_created = core.topics_created
    version = core.context.metadata_offset()

    def step(_: int) -> Outcome[None]:
        nonlocal resolution
        if resolution is None:
            resolution = RegexResolution(regexes, list(core.context.image.topics))
        if not resolution.step():
            core.context.timers.schedule((_TIMER, group_id), 0, step)
            return Outcome()
        resolved = {
            regex: ResolvedRegex(topics=frozenset(topics), version=version, resolved_at_ms=now_ms)
            for regex, topics in resolution.found.items()
        }
        return _resolved(core, group_id, resolved, topics_created)

    core.context.timers.schedule((_TIMER, group_id), 0, step)


def _resolved(
    core: ConsumerGroupCore, group_id: str, resolved: dict[str, ResolvedRegex], topics_created: int
) -> Outcome[None]:
    """Return what the result makes of the group, which may have changed or gone meanwhile."""
    group = core.groups.get(group_id)
    if not isinstance(group, ConsumerGroup):
        return Outcome()
    made: list[CoordinatorRecord] = []
    after = group.subscriptions.copy()
    bump = False
    for regex, result in resolved.items():
        if regex not in group.subscriptions.regexes:
            continue
        before = group.resolved_regexes.get(regex, _UNRESOLVED)
        if before.topics != result.topics:
            bump = True
            after.count_regex_topics(before.topics, result.topics)
        made.append(
            records.regex_record(group_id, regex, result.topics, result.version, result.resolved_at_ms)
        )
    metadata_hash = core.topics.metadata_hash(after.topics)
    epoch = group.group_epoch
    if bump or metadata_hash != group.metadata_hash:
        epoch += 1
        made.append(records.group_epoch_record(group_id, epoch, metadata_hash))
        _log.debug("group %r: epoch %d, regular expressions match other topics", group_id, epoch)

    def appended(error: Exception | None) -> None:
        current = core.groups.get(group_id)
        if error is None and isinstance(current, ConsumerGroup):
            current.resolved_topics_created = topics_created

    return Outcome(records=made, appended=appended)
