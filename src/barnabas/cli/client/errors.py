"""What can go wrong for a client, in words for the person at the keyboard."""

from barnabas.base.errors import ErrorCode
from barnabas.base.hints import Final

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

_OWN_WORDS: Final[dict[int, str]] = {
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "this user may not do that to the cluster",
    ErrorCode.CORRUPT_MESSAGE: "a batch was damaged, on its way or on the disk (`barnabas doctor`)",
    ErrorCode.COORDINATOR_NOT_AVAILABLE: "nobody coordinates it yet; try again",
    ErrorCode.FENCED_INSTANCE_ID: "another member has taken its instance id over",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "this user may not use the group",
    ErrorCode.GROUP_ID_NOT_FOUND: "there is no such group; see `barnabas groups list`",
    ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC: "members of the group read the topic; stop them first",
    ErrorCode.INVALID_TIMESTAMP: "outside of what message.timestamp.before.max.ms and .after.max.ms allow",
    ErrorCode.KAFKA_STORAGE_ERROR: "its log directory is offline; the broker's log says why",
    ErrorCode.LEADER_NOT_AVAILABLE: "it has no leader yet; try again",
    ErrorCode.LOG_DIR_NOT_FOUND: "no log directory of the broker; see `barnabas log-dirs describe`",
    ErrorCode.MESSAGE_TOO_LARGE: "a batch is larger than max.message.bytes of the topic allows",
    ErrorCode.NON_EMPTY_GROUP: "the group has members; stop them first",
    ErrorCode.NOT_ENOUGH_REPLICAS: "fewer replicas are in sync than min.insync.replicas asks for",
    ErrorCode.OFFSET_OUT_OF_RANGE: "the log has no such offset; see `barnabas topics describe`",
    ErrorCode.RECORD_LIST_TOO_LARGE: "a batch is larger than a segment",
    ErrorCode.REQUEST_TIMED_OUT: "the broker did not get it done in time",
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "this user may not use the topic",
    ErrorCode.TRANSACTIONAL_ID_NOT_FOUND: "unknown or expired; see `barnabas transactions list`",
    ErrorCode.UNKNOWN_TOPIC_ID: "the topic was deleted, and perhaps made anew",
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "there is no such topic or partition; see `barnabas topics list`",
    ErrorCode.UNSUPPORTED_COMPRESSION_TYPE: "not in this version of the request",
}
"""What codes mean that brokers mostly send without a word."""


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
        message: the broker's own words; the text has ours when it sent none.
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
        words = message or _OWN_WORDS.get(code)
        super().__init__(f"{text} ({words})" if words else text)


def error_name(code: int) -> str:
    """Return Kafka's name of an error code, or the number when we do not know it."""
    try:
        return ErrorCode(code).name
    except ValueError:
        return f"error {code}"
