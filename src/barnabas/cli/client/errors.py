"""What can go wrong for a client, in words for the person at the keyboard."""

from barnabas.base.errors import ErrorCode

RETRIABLE = frozenset(
    {
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.LISTENER_NOT_FOUND,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.THROTTLING_QUOTA_EXCEEDED,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
    }
)
"""Codes after which the same request may well succeed a little later, perhaps at another broker.
UNKNOWN_TOPIC_OR_PARTITION is not among them: whoever mistypes a topic should not wait for the time-out;
the few places where it means "not yet" say so themselves."""


class ClientError(Exception):
    """Base of all; its text is meant to be shown as it is."""


class ConnectionLostError(ClientError):
    """The broker could not be reached, closed the connection, or stayed silent too long."""


class NotKafkaError(ClientError):
    """Something answered, but not in Kafka's protocol."""


class UnsupportedByBrokerError(ClientError):
    """Broker and client share no version of an API."""


class BrokerError(ClientError):
    """The broker answered with an error code.

    Args:
        code: the number from the wire, known to us or not.
        subject: what it was about ("topic orders", "orders-0").
        message: the broker's own words, when it sent some.
        retriable: None takes what the code says.
    """

    def __init__(
        self, code: int, subject: str, message: str | None = None, *, retriable: bool | None = None
    ) -> None:
        self.code = code
        self.retriable = code in RETRIABLE if retriable is None else retriable
        self.subject = subject
        self.message = message
        text = f"{subject}: {error_name(code)}"
        super().__init__(f"{text} ({message})" if message else text)


def error_name(code: int) -> str:
    """Return Kafka's name of an error code, or the number when we do not know it."""
    try:
        return ErrorCode(code).name
    except ValueError:
        return f"error {code}"
