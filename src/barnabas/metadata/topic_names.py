"""Which topic names are legal. Dots and underscores collide, since metrics of Apache Kafka confuse them."""

from __future__ import annotations

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.hints import Final

TOPIC_NAME_LENGTH_MAX: Final = 249
_LEGAL: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


def validate_topic_name(name: str) -> None:
    """Check a topic name.

    Raises:
        ApiError: INVALID_TOPIC_EXCEPTION.
    """
    if not name:
        why = "the empty string is not allowed"
    elif name in (".", ".."):
        why = f"'{name}' is not allowed"
    elif len(name) > TOPIC_NAME_LENGTH_MAX:
        why = f"the length of '{name}' is longer than the max allowed length {TOPIC_NAME_LENGTH_MAX}"
    elif not _LEGAL.issuperset(name):
        why = f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    else:
        return
    raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {why}")


def collision_form(name: str) -> str:
    """Return the name as metrics of Apache Kafka spell it; two topics must not share it."""
    return name.replace(".", "_")
