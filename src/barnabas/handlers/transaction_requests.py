"""What the handlers of transaction requests share."""

from __future__ import annotations

from barnabas.base.errors import ErrorCode
from barnabas.base.hints import Final

TRANSACTIONS_KIP_890: Final = 2
"""The transaction.version of a client whose request only exists since KIP-890."""


def told_error(code: ErrorCode, *, is_fencing_known: bool) -> ErrorCode:
    """Return the code for a client; before KIP-588 they knew PRODUCER_FENCED by another name.

    Args:
        is_fencing_known: whether the request is of a version that came with or after KIP-588.
    """
    if code is ErrorCode.PRODUCER_FENCED and not is_fencing_known:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return code
