"""Entropy that a seed repeats, for simulations and for whatever draws."""

import random


class SeededEntropy:
    """Bits of a `random.Random`, which others may draw from as well, or of a seed."""

    def __init__(self, source: random.Random | int) -> None:
        self._source = random.Random(source) if isinstance(source, int) else source

    def random_bytes(self, length: int) -> bytes:
        """Return `length` bytes."""
        return self._source.randbytes(length)

    def random_below(self, limit: int) -> int:
        """Return an integer in [0, limit)."""
        return self._source.randrange(limit)


class AscendingIds:
    """Entropy whose draws below a limit are 1, 2, 3 and so on: no two are equal, and all are known before."""

    def __init__(self) -> None:
        self._given = 0

    def random_below(self, limit: int) -> int:
        self._given += 1
        return self._given

    def random_bytes(self, length: int) -> bytes:
        raise AssertionError("nobody draws bytes here")
