"""The settings of one kind of coordinator."""

from __future__ import annotations

from barnabas.base.dataclass import dataclass
from barnabas.protocol.compression import Codec


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeConfig:
    """What a runtime is made with.

    Attributes:
        topic: internal, `__consumer_offsets` say.
        partition_count: of the topic while it does not exist.
        commit_timeout_ms: how long an append may wait for in-sync replicas (`offsets.commit.timeout.ms`).
        codec: of the batches that are appended.
        load_slice_ms: how long a load may hold the loop in one turn.
    """

    topic: str
    partition_count: int = 50
    commit_timeout_ms: int = 5000
    codec: Codec = Codec.NONE
    load_slice_ms: int = 5
