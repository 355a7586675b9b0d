"""Counts over the members of a consumer group: who subscribes to which topics, expressions and assignors.

The counts are what makes it cheap to say what a group subscribes to as a whole, and what it would with one
member changed, which is asked before anything is written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from barnabas.base.hints import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.coordinator.consumer.member import ConsumerGroupMember


class Counts:
    """How often each name occurs; names that do not have no entry. In the order they came first."""

    __slots__ = ("_counts",)

    def __init__(self, counts: dict[str, int] | None = None) -> None:
        self._counts = {} if counts is None else counts

    def add(self, name: str, step: int) -> None:
        count = self._counts.get(name, 0) + step
        if count > 0:
            self._counts[name] = count
        else:
            self._counts.pop(name, None)

    def get(self, name: str) -> int:
        return self._counts.get(name, 0)

    def copy(self) -> Counts:
        return Counts(dict(self._counts))

    def values(self) -> Collection[int]:
        return self._counts.values()

    def most_frequent(self, candidates: Iterable[str]) -> str | None:
        """Return the candidate that occurs most, of several the first; None when none occurs."""
        best = None
        for name in candidates:
            if self.get(name) > (0 if best is None else self.get(best)):
                best = name
        return best

    def __contains__(self, name: object) -> bool:
        return name in self._counts

    def __iter__(self) -> Iterator[str]:
        return iter(self._counts)

    def __len__(self) -> int:
        return len(self._counts)


class Subscriptions:
    """Counts over all members.

    Attributes:
        by_name: members by topic that they name.
        by_regex: expressions by topic that they match.
        regexes: members by expression.
        assignors: members by assignor they wish.
    """

    __slots__ = ("assignors", "by_name", "by_regex", "regexes")

    def __init__(self) -> None:
        self.by_name = Counts()
        self.by_regex = Counts()
        self.regexes = Counts()
        self.assignors = Counts()

    @property
    def topics(self) -> Collection[str]:
        """The topics that anybody subscribes to, whether they exist or not."""
        if not len(self.by_regex):
            return _Names(self.by_name)
        return _Names(self.by_name, self.by_regex)

    def copy(self) -> Subscriptions:
        """Return counts to change on trial."""
        made = Subscriptions()
        made.by_name = self.by_name.copy()
        made.by_regex = self.by_regex.copy()
        made.regexes = self.regexes.copy()
        made.assignors = self.assignors.copy()
        return made

    def count_member(self, before: ConsumerGroupMember | None, after: ConsumerGroupMember | None) -> None:
        """Put the member `after` in the place of `before`; expressions' topics are counted apart."""
        old_names = frozenset() if before is None else before.subscribed_topic_names
        new_names = frozenset() if after is None else after.subscribed_topic_names
        if old_names != new_names:
            _step(self.by_name, old_names, -1)
            _step(self.by_name, new_names, 1)
        if before is not None:
            if before.subscribed_topic_regex:
                self.regexes.add(before.subscribed_topic_regex, -1)
            if before.server_assignor is not None:
                self.assignors.add(before.server_assignor, -1)
        if after is not None:
            if after.subscribed_topic_regex:
                self.regexes.add(after.subscribed_topic_regex, 1)
            if after.server_assignor is not None:
                self.assignors.add(after.server_assignor, 1)

    def count_regex_topics(self, before: Iterable[str], after: Iterable[str]) -> None:
        """Note that an expression matches other topics than before."""
        _step(self.by_regex, before, -1)
        _step(self.by_regex, after, 1)

    def are_homogeneous(self, member_count: int) -> bool:
        """Whether all members subscribe to the same: the same topics, or the same one expression."""
        if not len(self.regexes):
            alike = all(count == member_count for count in self.by_name.values())
            return alike and all(topic in self.by_name for topic in self.by_regex)
        if next(iter(self.regexes.values())) != member_count:
            return False
        return not len(self.by_name) and all(count == 1 for count in self.by_regex.values())


class _Names(Collection[str]):
    """The names that one of several Counts has."""

    __slots__ = ("_counts",)

    def __init__(self, *counts: Counts) -> None:
        self._counts = counts

    def __contains__(self, name: object) -> bool:
        return any(name in counts for counts in self._counts)

    def __iter__(self) -> Iterator[str]:
        if len(self._counts) == 1:
            return iter(self._counts[0])
        return iter(set().union(*self._counts))

    def __len__(self) -> int:
        return len(self._counts[0]) if len(self._counts) == 1 else sum(1 for _ in self)


def _step(counts: Counts, names: Iterable[str], step: int) -> None:
    for name in names:
        counts.add(name, step)
