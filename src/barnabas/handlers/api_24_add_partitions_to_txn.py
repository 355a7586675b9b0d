"""AddPartitionsToTxn (key 24), v0-5.

Makes partitions a part of a transaction, or tells whether they are.

Behaviour
- The first partitions begin a transaction. All that a request names are added, or none.
- Partitions that do not exist are UNKNOWN_TOPIC_OR_PARTITION, those of internal topics
  TOPIC_AUTHORIZATION_FAILED in versions up to 3; the others of the same transaction are
  OPERATION_NOT_ATTEMPTED then.
- With verify_only nothing is added; what is no part of the transaction is TRANSACTION_ABORTABLE.
- Clients up to KIP-890 send it, in versions up to 3; brokers send it to each other in the versions above.
Versions
- 2 PRODUCER_FENCED, INVALID_PRODUCER_EPOCH before (KIP-588); 4 several transactions at once, verify_only
  (KIP-890); 5 adding for clients of KIP-890
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.coordinator.transactions.state import ProducerIdAndEpoch, TopicPartition
from barnabas.handlers.request import RequestContext
from barnabas.handlers.topics import is_internal
from barnabas.handlers.transaction_requests import TRANSACTIONS_KIP_890, told_error
from barnabas.protocol import messages

_FIRST_WITH_PRODUCER_FENCED = 2
_FIRST_WITH_BATCH = 4
_FIRST_OF_KIP_890 = 5

Topics = Iterable[messages.AddPartitionsToTxnRequestAddPartitionsToTxnTopic]
TopicResult = messages.AddPartitionsToTxnResponseAddPartitionsToTxnTopicResult
Codes = dict[TopicPartition, ErrorCode]


def handle(context: RequestContext, request: messages.AddPartitionsToTxnRequest) -> None:
    """Add or verify; answered when every transaction is."""
    if context.api_version < _FIRST_WITH_BATCH:
        _handle_one(context, request)
    else:
        _handle_batch(context, request)


def error_response(
    request: messages.AddPartitionsToTxnRequest, error: ApiError, version: int
) -> messages.AddPartitionsToTxnResponse:
    """The same error for everything that was asked."""
    if version >= _FIRST_WITH_BATCH:
        return messages.AddPartitionsToTxnResponse(error_code=error.code)
    code = told_error(error.code, is_fencing_known=version >= _FIRST_WITH_PRODUCER_FENCED)
    codes = dict.fromkeys(_partitions(request.v3_and_below_topics), code)
    return messages.AddPartitionsToTxnResponse(
        results_by_topic_v3_and_below=_results(request.v3_and_below_topics, codes)
    )


def _handle_one(context: RequestContext, request: messages.AddPartitionsToTxnRequest) -> None:
    topics = request.v3_and_below_topics

    def done(codes: Codes) -> None:
        context.respond(
            messages.AddPartitionsToTxnResponse(results_by_topic_v3_and_below=_results(topics, codes))
        )

    producer = ProducerIdAndEpoch(
        producer_id=request.v3_and_below_producer_id, producer_epoch=request.v3_and_below_producer_epoch
    )
    _add(context, request.v3_and_below_transactional_id, producer, topics, done)


def _handle_batch(context: RequestContext, request: messages.AddPartitionsToTxnRequest) -> None:
    response = messages.AddPartitionsToTxnResponse()
    waiting = len(request.transactions)
    if not waiting:
        context.respond(response)
        return

    def done(asked: messages.AddPartitionsToTxnRequestAddPartitionsToTxnTransaction, codes: Codes) -> None:
        nonlocal waiting
        response.results_by_transaction.append(
            messages.AddPartitionsToTxnResponseAddPartitionsToTxnResult(
                transactional_id=asked.transactional_id, topic_results=_results(asked.topics, codes)
            )
        )
        waiting -= 1
        if not waiting:
            context.respond(response)

    for asked in request.transactions:
        producer = ProducerIdAndEpoch(producer_id=asked.producer_id, producer_epoch=asked.producer_epoch)
        work = _verify if asked.verify_only else _add
        work(
            context,
            asked.transactional_id,
            producer,
            asked.topics,
            lambda codes, asked=asked: done(asked, codes),  # type: ignore[misc]
        )


def _add(
    context: RequestContext,
    transactional_id: str,
    producer: ProducerIdAndEpoch,
    topics: Topics,
    done: Callable[[Codes], None],
) -> None:
    partitions = _partitions(topics)
    if _is_refused(context, partitions, done):
        return
    is_fencing_known = context.api_version >= _FIRST_WITH_PRODUCER_FENCED
    context.services.transactions.add_partitions(
        transactional_id,
        producer,
        partitions,
        client_version=TRANSACTIONS_KIP_890 if context.api_version >= _FIRST_OF_KIP_890 else 0,
        reply=lambda code: done(dict.fromkeys(partitions, code)),
        failed=lambda error: done(
            dict.fromkeys(partitions, told_error(error.code, is_fencing_known=is_fencing_known))
        ),
    )


def _verify(
    context: RequestContext,
    transactional_id: str,
    producer: ProducerIdAndEpoch,
    topics: Topics,
    done: Callable[[Codes], None],
) -> None:
    partitions = _partitions(topics)
    if _is_refused(context, partitions, done):
        return
    context.services.transactions.verify_partitions(
        transactional_id,
        producer,
        partitions,
        done,
        lambda error: done(dict.fromkeys(partitions, error.code)),
    )


def _is_refused(
    context: RequestContext, partitions: list[TopicPartition], done: Callable[[Codes], None]
) -> bool:
    """Answer when some partition cannot be a part of a transaction; return whether that is so."""
    refused = {
        partition: code
        for partition in partitions
        if (code := _refusal(context, partition)) is not ErrorCode.NONE
    }
    if refused:
        done({**dict.fromkeys(partitions, ErrorCode.OPERATION_NOT_ATTEMPTED), **refused})
    return bool(refused)


def _refusal(context: RequestContext, partition: TopicPartition) -> ErrorCode:
    if context.api_version < _FIRST_WITH_BATCH and is_internal(partition[0]):
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    if context.services.image.partition(*partition) is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.NONE


def _partitions(topics: Topics) -> list[TopicPartition]:
    return [(topic.name, number) for topic in topics for number in topic.partitions]


def _results(topics: Topics, codes: Codes) -> list[TopicResult]:
    return [
        TopicResult(
            name=topic.name,
            results_by_partition=[
                messages.AddPartitionsToTxnResponseAddPartitionsToTxnPartitionResult(
                    partition_index=number, partition_error_code=codes[topic.name, number]
                )
                for number in topic.partitions
            ],
        )
        for topic in topics
    ]
