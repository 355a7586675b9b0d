"""How a function becomes a situation, played in some or all steps."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from tests.interop.group_situations.talk import LAST_STEP, Talk

Play = Callable[[Talk], None]

ALL = tuple(range(LAST_STEP + 1))
STATIC = tuple(range(5, LAST_STEP + 1))
"""Steps whose JoinGroup can tell an instance id."""
LAST = (LAST_STEP,)


class Situation(NamedTuple):
    """A function to play, and the steps to play it in."""

    play: Play
    steps: tuple[int, ...]


class Situations:
    """Collects functions; what a function is called is what the situation is called.

    Args:
        topic: what all of them are about.
    """

    def __init__(self, topic: str) -> None:
        self.by_name: dict[str, Situation] = {}
        self._topic = topic

    def in_steps(self, steps: Iterable[int]) -> Callable[[Play], Play]:
        """Play the function once in each of these steps."""

        def add(play: Play) -> Play:
            name = f"{self._topic}: {play.__name__.strip('_').replace('_', ' ')}"
            assert name not in self.by_name, name
            self.by_name[name] = Situation(play, tuple(steps))
            return play

        return add

    def add(self, name: str, steps: Iterable[int], play: Play) -> None:
        """Add one that is made of a shorter description."""
        assert name not in self.by_name, name
        self.by_name[f"{self._topic}: {name}"] = Situation(play, tuple(steps))
