"""Producer ids for idempotent producers, handed out from durable blocks.

A block is reserved in the metadata log before its first id is given away, so an id is never given twice,
whatever crashes; what is left of a block at a crash is lost, as in Apache Kafka.
"""

from collections.abc import Callable


class ProducerIds:
    """The ids of the current block, and the way to the next block."""

    __slots__ = ("_allocate_block", "_left")

    def __init__(self, allocate_block: Callable[[], range]) -> None:
        """
        Args:
            allocate_block: reserves the next block; it is durable when this returns.
        """
        self._allocate_block = allocate_block
        self._left = range(0)

    def next_id(self) -> int:
        """Return an id that was never given before.

        Raises:
            ApiError: the next block cannot be reserved.
        """
        if not self._left:
            self._left = self._allocate_block()
        producer_id = self._left[0]
        self._left = self._left[1:]
        return producer_id
