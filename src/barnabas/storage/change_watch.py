"""Who is told, once, that something has changed on which the reading of a log depends.

A session of a thousand partitions is not to look at each of them for every fetch (KIP-227): it leaves word
here, once per partition, and is told of those that changed. Telling ends the watch, so that a log with many
appends between two fetches tells once, and one that nobody watches pays for a look at an empty slot.

Rejected: counting the changes of each log. Whoever compares counters has to look at all of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from barnabas.base.hints import Protocol


class Watcher(Protocol):
    """Who watches."""

    def changed(self) -> None:
        """Called during the change, maybe in the middle of it: take note, and look later."""


class ChangeWatch:
    """The watchers of one log and of its partition."""

    __slots__ = ("_watchers",)

    def __init__(self) -> None:
        self._watchers: dict[Watcher, None] | None = None  # most of many logs are never watched

    def __iter__(self) -> Iterator[Watcher]:
        return iter(self._watchers or ())

    def add(self, watcher: Watcher) -> None:
        """Have it told of the next change."""
        if self._watchers is None:
            self._watchers = {}
        self._watchers[watcher] = None

    def discard(self, watcher: Watcher) -> None:
        """Tell it nothing any more."""
        if self._watchers is not None:
            self._watchers.pop(watcher, None)

    def tell(self) -> None:
        """Something that a read depends on changes, or may: an end, a start, a bound, an epoch, a state."""
        watchers = self._watchers
        if watchers:
            self._watchers = None
            for watcher in watchers:
                watcher.changed()
