"""What every kind of group answers to the parts that do not care how it rebalances.

Offsets, expiry, listing and deletion ask a group only these questions. Both protocols keep their own state
and rules in files of their own (`classic/group.py`, `consumer/group.py`); a common base class with the union
of their fields was rejected, since hardly a field means the same in both.
"""

from __future__ import annotations

from collections.abc import Callable

from barnabas.base.clock import Clock
from barnabas.base.dataclass import dataclass
from barnabas.base.entropy import Entropy
from barnabas.base.enums import Enum
from barnabas.base.hints import TYPE_CHECKING, Protocol
from barnabas.coordinator.groups.config import GroupConfig
from barnabas.coordinator.runtime.outcome import CoordinatorRecord, Timers

if TYPE_CHECKING:
    from barnabas.metadata.image import MetadataImage


class GroupType(Enum):
    """The protocol a group rebalances by; the values are what ListGroups tells."""

    CLASSIC = "Classic"
    CONSUMER = "Consumer"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupClient:
    """Who sent a request.

    Attributes:
        client_id: of the request's header; empty when there was none.
        host: the peer's address as Kafka writes it, with a leading slash: `/127.0.0.1`.
    """

    client_id: str
    host: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupContext:
    """What the groups of a shard work with.

    Attributes:
        image: the live image; topics, partitions and their ids.
        config_of: the configuration of a group as it is now (KIP-848 group configs over the broker's).
        timers: of this shard.
        metadata_offset: of the last record in the image; kept beside what was derived from it.
    """

    image: MetadataImage
    config_of: Callable[[str], GroupConfig]
    clock: Clock
    entropy: Entropy
    timers: Timers
    metadata_offset: Callable[[], int]


OffsetCommitCheck = Callable[[str, bytes, int], None]
"""Lets one partition (topic, topic id or zeros, partition) be committed, or raises ApiError for it alone."""


class Group(Protocol):
    """One group as offsets, listing and deletion see it."""

    group_id: str

    @property
    def type(self) -> GroupType: ...

    @property
    def state_name(self) -> str:
        """The state as ListGroups tells it, `PreparingRebalance` for example."""

    @property
    def protocol_type(self) -> str:
        """`consumer` for consumers; empty while nobody ever joined."""

    @property
    def is_empty(self) -> bool:
        """Whether it has no members."""

    @property
    def member_count(self) -> int:
        """How many members it has."""

    def check_offset_commit(
        self,
        member_id: str,
        group_instance_id: str | None,
        generation_id_or_member_epoch: int,
        *,
        is_transactional: bool,
        api_version: int,
    ) -> OffsetCommitCheck | None:
        """Let a member commit, or raise.

        Returns:
            What each partition must pass as well: a consumer that commits with an older epoch may do so for
            partitions it has owned since then (KIP-1251). None when every partition may be committed.
        Raises:
            ApiError: UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION, STALE_MEMBER_EPOCH, FENCED_INSTANCE_ID,
                REBALANCE_IN_PROGRESS, UNSUPPORTED_VERSION.
        """

    def check_offset_fetch(self, member_id: str | None, member_epoch: int) -> None:
        """Let a member read offsets (OffsetFetch 9+), or raise.

        Raises:
            ApiError: UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH.
        """

    def check_offset_delete(self) -> None:
        """Let offsets be deleted at all, or raise.

        Raises:
            ApiError: NON_EMPTY_GROUP, GROUP_ID_NOT_FOUND.
        """

    def check_delete(self) -> None:
        """Let the group be deleted, or raise.

        Raises:
            ApiError: NON_EMPTY_GROUP, GROUP_ID_NOT_FOUND.
        """

    def is_subscribed_to(self, topic: str) -> bool:
        """Whether a member may read the topic: its offsets do not expire and cannot be deleted then."""

    def offsets_expire_since_ms(self, commit_ms: int) -> int | None:
        """Return the wall time from which an offset's retention counts; None while it must not expire.

        An empty group's offsets count from when it became empty, of an active one's topics that nobody
        subscribes to from the commit (KIP-211).
        """

    def tombstones(self) -> list[CoordinatorRecord]:
        """Return the records that make a restart forget the group."""

    def heartbeat_noted(self, member_id: str) -> None:
        """A member showed that it lives by another request, a commit: restart its session."""
