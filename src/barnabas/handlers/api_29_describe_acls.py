"""DescribeAcls (key 29), v1-3.

Tells the access control entries that match a filter.

Behaviour
- Without an authorizer there is nothing to tell: SECURITY_DISABLED, which consoles show as "no ACLs".
"""

from __future__ import annotations

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.handlers.request import RequestContext
from barnabas.protocol import messages


def handle(context: RequestContext, request: messages.DescribeAclsRequest) -> messages.DescribeAclsResponse:
    """Refuse, as Apache Kafka does without an authorizer."""
    raise ApiError(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured on the broker")


def error_response(
    request: messages.DescribeAclsRequest, error: ApiError, version: int
) -> messages.DescribeAclsResponse:
    """The answer to a request that failed."""
    return messages.DescribeAclsResponse(error_code=error.code, error_message=error.message)
