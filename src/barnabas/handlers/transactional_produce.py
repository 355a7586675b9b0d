"""Which records of transactions a produce may append, by what the transaction's coordinator knows (KIP-890).

Records that the coordinator does not know of would never be committed nor aborted. So the first batch of a
transaction in a partition waits for it: clients of Produce 12 leave it to the broker to add the partition to
the transaction; those before have done so themselves, and that is verified. Later batches find the
transaction open in the partition and pass.

While the coordinator is asked the transaction can end. What may begin one therefore carries a verification
that a marker makes worthless, and what found one open is looked at again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from barnabas.base.errors import ApiError, DecodeError, ErrorCode
from barnabas.base.hints import TYPE_CHECKING, Final
from barnabas.coordinator.transactions.state import ProducerIdAndEpoch, TopicPartition
from barnabas.handlers.request import RequestContext
from barnabas.handlers.transaction_requests import TRANSACTIONS_KIP_890
from barnabas.protocol.record_batch import BatchHeader, parse_header
from barnabas.replica.produce import (
    INTERNAL_TOPICS,
    AppendPartition,
    AppendPartitionResult,
    VerifiedAppendPartition,
)

if TYPE_CHECKING:
    from barnabas.storage.producer_state.states import ProducerStates

_FIRST_WITH_TRANSACTION_ABORTABLE: Final = 11
_FIRST_WITH_IMPLICIT_ADD: Final = 12

_PASSES_SOON: Final = frozenset(
    (
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    )
)
"""What a coordinator says for now only. Old producers give up upon it, and retry upon NOT_ENOUGH_REPLICAS."""

Refused = Mapping[int, AppendPartitionResult]


def admit(
    context: RequestContext,
    transactional_id: str,
    partitions: list[AppendPartition],
    transactional: Sequence[int],
    append: Callable[[Refused], None],
) -> None:
    """Find out what may be appended, and call `append` with what may not, perhaps before this returns.

    Args:
        partitions: of the whole request; those that may begin a transaction are replaced by verified ones.
        transactional: positions in `partitions` of those with records of a transaction.

    Raises:
        ApiError: INVALID_PRODUCER_ID_MAPPING: the records are of several producers.
    """
    headers = {position: header for position in transactional if (header := _header(partitions[position]))}
    producers = {(header.producer_id, header.producer_epoch) for header in headers.values()}
    if len(producers) > 1:
        raise ApiError(ErrorCode.INVALID_PRODUCER_ID_MAPPING, "records of transactions of several producers")
    adds = context.api_version >= _FIRST_WITH_IMPLICIT_ADD
    if not producers or not (adds or context.services.settings.transaction_partition_verification_enable):
        append({})
        return
    admission = _Admission(context, partitions, append, adds=adds)
    for position, header in headers.items():
        admission.look_at(position, header)
    admission.ask(transactional_id, *producers.pop())


def _header(partition: AppendPartition) -> BatchHeader | None:
    """Return the header of a producer's batch; what has none is refused when it shall be appended."""
    assert partition.records is not None
    try:
        header = parse_header(partition.records)
    except DecodeError:
        return None
    return header if header.has_producer_id else None


class _Admission:
    """The transactional partitions of one produce while they are looked at."""

    __slots__ = ("_adds", "_append", "_asked", "_context", "_open", "_partitions", "_refused")

    def __init__(
        self,
        context: RequestContext,
        partitions: list[AppendPartition],
        append: Callable[[Refused], None],
        *,
        adds: bool,
    ) -> None:
        self._context = context
        self._partitions = partitions
        self._append = append
        self._adds = adds
        self._refused: dict[int, AppendPartitionResult] = {}
        self._asked: list[tuple[TopicPartition, int]] = []
        self._open: list[tuple[int, ProducerStates, BatchHeader]] = []

    def look_at(self, position: int, header: BatchHeader) -> None:
        """Note whether a partition is to be asked about: the transaction is not open there."""
        asked = self._partitions[position]
        try:
            if self._adds and asked.topic in INTERNAL_TOPICS:
                raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{asked.topic} is internal")
            partition = self._context.services.replicas.partitions.get(asked.topic, asked.partition)
            if not partition.is_leader:
                raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        except ApiError as error:
            self._refused[position] = AppendPartitionResult(error.code, error_message=error.message)
            return
        producers = partition.log.producers
        if producers.has_open_transaction(header.producer_id, header.producer_epoch):
            self._open.append((position, producers, header))
            return
        verified = VerifiedAppendPartition(asked.topic, asked.topic_id, asked.partition, asked.records)
        verified.verification = producers.start_verification(
            header.producer_id, header.base_sequence, header.producer_epoch, starts_at_zero=self._adds
        )
        self._partitions[position] = verified
        self._asked.append(((asked.topic, asked.partition), position))

    def ask(self, transactional_id: str, producer_id: int, producer_epoch: int) -> None:
        """Let the coordinator add or verify what was noted."""
        if not self._asked:
            self._append(self._refused)
            return
        transactions = self._context.services.transactions
        producer = ProducerIdAndEpoch(producer_id=producer_id, producer_epoch=producer_epoch)
        asked = [partition for partition, _ in self._asked]
        if self._adds:
            transactions.add_partitions(
                transactional_id,
                producer,
                asked,
                client_version=TRANSACTIONS_KIP_890,
                reply=self._told_all,
                failed=self._failed,
            )
        else:
            transactions.verify_partitions(transactional_id, producer, asked, self._told, self._failed)

    def _failed(self, error: ApiError) -> None:
        self._told_all(error.code)

    def _told_all(self, code: ErrorCode) -> None:
        self._told(dict.fromkeys((partition for partition, _ in self._asked), code))

    def _told(self, codes: Mapping[TopicPartition, ErrorCode]) -> None:
        for partition, position in self._asked:
            code = codes[partition]
            if code is not ErrorCode.NONE:
                self._refused[position] = _refusal(code, self._context.api_version)
        for position, producers, header in self._open:
            if not producers.has_open_transaction(header.producer_id, header.producer_epoch):
                self._refused[position] = _refusal(ErrorCode.INVALID_TXN_STATE, self._context.api_version)
        self._append(self._refused)


def _refusal(code: ErrorCode, version: int) -> AppendPartitionResult:
    """Return what a producer is told, in codes that its version knows and acts rightly upon."""
    if code in _PASSES_SOON:
        return AppendPartitionResult(
            ErrorCode.NOT_ENOUGH_REPLICAS,
            error_message=f"whether the partition is part of the transaction is not known yet: {code.name}",
        )
    if code is ErrorCode.PRODUCER_FENCED:
        return AppendPartitionResult(ErrorCode.INVALID_PRODUCER_EPOCH)
    if code is ErrorCode.TRANSACTION_ABORTABLE and version >= _FIRST_WITH_TRANSACTION_ABORTABLE:
        return AppendPartitionResult(code)
    if code in (ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.INVALID_TXN_STATE):
        return AppendPartitionResult(
            ErrorCode.INVALID_TXN_STATE, error_message="the partition is no part of the transaction"
        )
    return AppendPartitionResult(code)
