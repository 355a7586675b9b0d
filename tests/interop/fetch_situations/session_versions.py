"""The versions in which situations with sessions are played.

They are four: the first with sessions, the last with names, the first with ids and the last.
"""

from collections.abc import Callable

from tests.interop.fetch_situations.reading import Situation
from tests.interop.fetch_situations.talk import Talk

VERSIONS = (7, 12, 13, 18)

InVersion = Callable[[Talk, int], None]


class SessionSituations:
    """Collects functions as situations; the function's name says which."""

    def __init__(self) -> None:
        self.by_name: dict[str, Situation] = {}

    def in_all(self, play: InVersion) -> InVersion:
        """Play it in all four versions."""
        return self.in_versions(*VERSIONS)(play)

    def in_versions(self, *versions: int) -> Callable[[InVersion], InVersion]:
        """Play it in these versions, one after the other."""

        def add(play: InVersion) -> InVersion:
            def ask(talk: Talk) -> None:
                for version in versions:
                    play(talk, version)

            self.by_name["session: " + play.__name__.replace("_", " ")] = ask
            return play

        return add
