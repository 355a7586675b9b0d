"""The coordinators of a broker: made when first asked for, told of changes, stopped in order.

A broker that nobody asks for groups or transactions never loads their code: it is a third of a start. Whoever
has them on disk gets them loaded right after the start, so that what was committed is known when it is asked
for.
"""

from __future__ import annotations

from collections.abc import Callable

from barnabas.base.clock import Clock
from barnabas.base.cold_reads import ColdReads
from barnabas.base.disk import Disk
from barnabas.base.entropy import Entropy
from barnabas.base.hints import TYPE_CHECKING
from barnabas.metadata.controller import Controller
from barnabas.metadata.image import MetadataDelta
from barnabas.net.reactor import Reactor
from barnabas.replica.manager import ReplicaManager
from barnabas.replica.produce import OFFSETS_TOPIC, TRANSACTION_TOPIC
from barnabas.server.settings import Settings
from barnabas.timing.timer_wheel import TimerWheel

if TYPE_CHECKING:
    from barnabas.coordinator.groups.coordinator import GroupCoordinator
    from barnabas.coordinator.transactions.coordinator import TransactionCoordinator
    from barnabas.handlers.services import Services


class Coordinators:
    """The group coordinator and the transaction coordinator of one broker.

    Args:
        current_settings: the settings as they are now, dynamic ones included.
        services: where handlers find the coordinators, which makes them; asked late.
        was_clean: the last stop was.
        metadata_dir: where it is noted what the next start has to look at.

    Attributes:
        groups, transactions: None until somebody asks.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        current_settings: Callable[[], Settings],
        services: Callable[[], Services],
        controller: Controller,
        replicas: ReplicaManager,
        reactor: Reactor,
        clock: Clock,
        entropy: Entropy,
        wheel: TimerWheel,
        cold_reads: ColdReads | None,
        was_clean: bool,
        disk: Disk,
        metadata_dir: str,
    ) -> None:
        self._was_clean = was_clean
        self._disk = disk
        self._metadata_dir = metadata_dir
        self._settings = settings
        self._current_settings = current_settings
        self._services = services
        self._controller = controller
        self._replicas = replicas
        self._reactor = reactor
        self._clock = clock
        self._entropy = entropy
        self._wheel = wheel
        self._cold_reads = cold_reads
        self.groups: GroupCoordinator | None = None
        self.transactions: TransactionCoordinator | None = None

    def make_groups(self) -> GroupCoordinator:
        """Make the group coordinator; once."""
        from barnabas.server.groups import make_group_coordinator  # noqa: PLC0415

        self.groups = make_group_coordinator(
            self._settings,
            current_settings=self._current_settings,
            controller=self._controller,
            replicas=self._replicas,
            clock=self._clock,
            entropy=self._entropy,
            wheel=self._wheel,
            call_soon=self._reactor.call_soon,
            cold_reads=self._cold_reads,
        )
        return self.groups

    def make_transactions(self) -> TransactionCoordinator:
        """Make the transaction coordinator; once."""
        from barnabas.server.transactions import make_transaction_coordinator  # noqa: PLC0415
        from barnabas.server.unchecked_transactions import is_noted  # noqa: PLC0415

        self._was_clean = self._was_clean and not is_noted(self._disk, self._metadata_dir)
        services = self._services()
        self.transactions = make_transaction_coordinator(
            self._settings,
            new_producer_id=services.producer_ids.next_id,
            groups=lambda: services.groups,
            controller=self._controller,
            replicas=self._replicas,
            clock=self._clock,
            wheel=self._wheel,
            call_soon=self._reactor.call_soon,
            cold_reads=self._cold_reads,
            was_clean=self._was_clean,
        )
        return self.transactions

    def load_soon(self) -> None:
        """Load what is on disk of groups and transactions, once the loop runs."""
        topics = self._controller.image.topics
        if OFFSETS_TOPIC in topics:
            self._reactor.call_soon(self._load_groups)
        if TRANSACTION_TOPIC in topics:
            self._reactor.call_soon(self._load_transactions)

    def _load_groups(self) -> None:
        self._services().groups.load_all()

    def _load_transactions(self) -> None:
        self._services().transactions.load_all()

    def metadata_changed(self, delta: MetadataDelta) -> None:
        """Tell of a change of the metadata."""
        if self.groups is not None:
            self.groups.metadata_changed(delta)
        if self.transactions is not None:
            self.transactions.metadata_changed()

    def partitions_changed(self) -> None:
        """Tell that partitions went offline."""
        if self.groups is not None:
            self.groups.partitions_changed()
        if self.transactions is not None:
            self.transactions.partitions_changed()

    def stop(self) -> None:
        """Answer who waits; transactions first: what they decide would still be written to groups."""
        if self.transactions is not None:
            self.transactions.stop()
        if self.groups is not None:
            self.groups.stop()

    def note_unchecked(self) -> None:
        """Have the next start look for lost transactions if this one did not; before a stop counts as clean.

        Raises:
            OSError: the disk refuses.
        """
        if TRANSACTION_TOPIC not in self._controller.image.topics:
            return
        from barnabas.server.unchecked_transactions import note  # noqa: PLC0415

        if self.transactions is not None:
            unchecked = not self.transactions.has_followed_logs
            note(self._disk, self._metadata_dir, unchecked=unchecked)
        elif not self._was_clean:
            note(self._disk, self._metadata_dir, unchecked=True)
