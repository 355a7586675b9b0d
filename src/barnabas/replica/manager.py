"""Every partition this broker hosts, and the requests that span several of them."""

from collections.abc import Callable, Hashable, Sequence

from barnabas.metadata.image import MetadataDelta
from barnabas.replica.fetch import FetchOutcome, FetchParams, FetchPartition
from barnabas.replica.offset_requests import (
    DeleteRecordsPartition,
    DeleteRecordsResult,
    EpochEndOffset,
    LeaderEpochPartition,
    ListOffsetsParams,
    ListOffsetsPartition,
    ListOffsetsResult,
)
from barnabas.replica.produce import AppendOrigin, AppendOutcome, AppendPartition


class ReplicaManager:
    """Lookup, fetch, append, and what waits for them. All calls come from the loop's thread."""

    def apply_delta(self, delta: MetadataDelta) -> None:
        """Create, change and delete partitions as the image now says; complete whoever waited for what is gone."""
        raise NotImplementedError

    def fetch(
        self,
        params: FetchParams,
        partitions: Sequence[FetchPartition],
        respond: Callable[[FetchOutcome], None],
        owner: Hashable | None = None,
    ) -> None:
        """Read, then answer now (F15) or when one of the cases of F27 holds or max_wait_ms has passed.

        Args:
            respond: called exactly once, possibly before this returns; never after `connection_gone(owner)`.
                It owns the slices of the outcome.
            owner: the connection, so that `connection_gone` finds what is parked for it.
        """
        raise NotImplementedError

    def append(
        self,
        *,
        acks: int,
        timeout_ms: int,
        partitions: Sequence[AppendPartition],
        respond: Callable[[AppendOutcome], None],
        owner: Hashable | None = None,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        request_version: int = 12,
    ) -> None:
        """Append each partition's batch, then answer by `acks` (P1).

        Args:
            acks: 0 and 1 answer after the local append, -1 when the high watermark has passed; anything else
                is INVALID_REQUIRED_ACKS for every partition and nothing is appended.
            respond: as in `fetch`; for acks=0 too, since an error closes the connection.
            request_version: of Produce; below 7 zstd is refused (76).
        """
        raise NotImplementedError

    def delete_records(
        self,
        timeout_ms: int,
        partitions: Sequence[DeleteRecordsPartition],
        respond: Callable[[list[DeleteRecordsResult]], None],
        owner: Hashable | None = None,
    ) -> None:
        """Advance log starts, then answer when every replica has followed or timeout_ms has passed."""
        raise NotImplementedError

    def list_offsets(
        self, params: ListOffsetsParams, partitions: Sequence[ListOffsetsPartition]
    ) -> list[ListOffsetsResult]:
        """Find offsets by timestamp, in request order."""
        raise NotImplementedError

    def offset_for_leader_epoch(
        self, replica_id: int, partitions: Sequence[LeaderEpochPartition]
    ) -> list[EpochEndOffset]:
        """Tell where leader epochs end, in request order."""
        raise NotImplementedError

    def complete_parked_fetches(self, owner: Hashable) -> int:
        """Answer what is parked for a connection at once, with what is there (F33); return how many."""
        raise NotImplementedError

    def connection_gone(self, owner: Hashable) -> int:
        """Drop everything parked for a connection, unanswered (F31); return how many."""
        raise NotImplementedError

    def checkpoint_high_watermarks(self) -> None:
        """Write every log directory's replication-offset-checkpoint."""
        raise NotImplementedError

    def shutdown(self) -> None:
        """Answer what is parked, then checkpoint. Logs are closed by their manager."""
        raise NotImplementedError
