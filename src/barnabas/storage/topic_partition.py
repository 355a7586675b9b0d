"""What names a partition: its topic and its number.

A NamedTuple, since whoever has the plain pair looks up with that.
"""

from barnabas.base.named_tuple import NamedTuple


class TopicPartition(NamedTuple):
    """A partition of a topic; equal to the plain tuple."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"
