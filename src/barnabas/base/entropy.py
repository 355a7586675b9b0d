"""Randomness, injected, so that a simulation replays from its seed."""

import os

from barnabas.base.hints import Protocol


class Entropy(Protocol):
    """Where random bits come from."""

    def random_bytes(self, length: int) -> bytes:
        """Return `length` random bytes."""

    def random_below(self, limit: int) -> int:
        """Return a uniform integer in [0, limit); limit is at most 2**63."""


class SystemEntropy:
    """The kernel's generator."""

    __slots__ = ()

    def random_bytes(self, length: int) -> bytes:
        return os.urandom(length)

    def random_below(self, limit: int) -> int:
        # 64 more bits than needed keep the bias of the remainder below 2**-64.
        return int.from_bytes(os.urandom(16), "big") % limit
