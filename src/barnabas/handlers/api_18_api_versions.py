"""ApiVersions (key 18), v0-5.

Tells what is served, and the cluster's features.

Behaviour
- A version we do not know is answered in version 0 with UNSUPPORTED_VERSION and the list (KIP-511), so
  that the client can choose a lower one; the response header is always version 0 (P5).
- Client software name and version must look like names, else INVALID_REQUEST (KIP-511).
Versions
- 1 throttle time; 3 client software, features (KIP-584); 4 features whose minimum is 0 (KAFKA-17011);
  5 a client may say which cluster and node it expects (KIP-1242)
"""

from __future__ import annotations

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.handlers.client_information import ClientInformation
from barnabas.handlers.request import RequestContext
from barnabas.metadata.features import KRAFT_VERSION
from barnabas.protocol import messages

_FIRST_WITH_SOFTWARE = 3
_FIRST_WITH_MINIMUM_ZERO = 4
_FIRST_WITH_EXPECTED_NODE = 5

SUPPORTED_FEATURES = {
    "eligible.leader.replicas.version": (0, 1),
    "group.version": (0, 1),
    "kraft.version": (0, 1),
    "metadata.version": (7, 33),
    "share.version": (0, 2),
    "streams.version": (0, 1),
    "transaction.version": (0, 2),
}
"""Feature -> lowest and highest level that Apache Kafka 4.4 supports, and that our metadata log can hold."""


def _is_software(text: str) -> bool:
    """Return whether letters and digits begin and end it, with dashes and dots between at most."""
    return (
        text[:1].isalnum() and text[-1:].isalnum() and text.isascii()
        and text.replace("-", "").replace(".", "").isalnum()
    )  # fmt: skip


def handle(context: RequestContext, request: messages.ApiVersionsRequest) -> messages.ApiVersionsResponse:
    """Return the table of routes, or say what is wrong with the client's own description."""
    version = context.api_version
    if version >= _FIRST_WITH_SOFTWARE and not (
        _is_software(request.client_software_name) and _is_software(request.client_software_version)
    ):
        raise ApiError(ErrorCode.INVALID_REQUEST, "client software name and version must look like names")
    if (request.cluster_id is None) != (request.node_id < 0):
        raise ApiError(ErrorCode.INVALID_REQUEST, "a client expects a cluster and a node, or neither")
    if version >= _FIRST_WITH_EXPECTED_NODE and _expects_another(context, request):
        raise ApiError(ErrorCode.REBOOTSTRAP_REQUIRED)
    if version >= _FIRST_WITH_SOFTWARE:
        context.connection.context = ClientInformation(
            request.client_software_name, request.client_software_version
        )
    response = _served_apis(context)
    if version >= _FIRST_WITH_SOFTWARE:
        _add_features(response, context, version)
    return response


def error_response(
    request: messages.ApiVersionsRequest, error: ApiError, version: int
) -> messages.ApiVersionsResponse:
    """The answer to a request that failed."""
    return messages.ApiVersionsResponse(error_code=error.code)


def unsupported_version(context: RequestContext) -> messages.ApiVersionsResponse:
    """The version 0 answer to a version that is not served."""
    response = _served_apis(context)
    response.error_code = ErrorCode.UNSUPPORTED_VERSION
    return response


def _expects_another(context: RequestContext, request: messages.ApiVersionsRequest) -> bool:
    """Whether the client meant another cluster or node; it says both or neither."""
    if request.cluster_id is None or request.node_id < 0:
        return False
    return request.cluster_id != context.services.cluster_id or request.node_id != context.services.node_id


def _served_apis(context: RequestContext) -> messages.ApiVersionsResponse:
    return messages.ApiVersionsResponse(
        api_keys=[
            messages.ApiVersionsResponseApiVersion(
                api_key=key, min_version=versions.start, max_version=versions.stop - 1
            )
            for key, versions in context.services.advertised_apis.items()
        ]
    )


def _add_features(response: messages.ApiVersionsResponse, context: RequestContext, version: int) -> None:
    services = context.services
    response.supported_features = [
        messages.ApiVersionsResponseSupportedFeatureKey(name=name, min_version=low, max_version=high)
        for name, (low, high) in SUPPORTED_FEATURES.items()
        if low > 0 or version >= _FIRST_WITH_MINIMUM_ZERO
    ]
    levels = {**services.image.features, KRAFT_VERSION: services.controller.log.quorum.kraft_version}
    response.finalized_features = [
        messages.ApiVersionsResponseFinalizedFeatureKey(
            name=name, min_version_level=level, max_version_level=level
        )
        for name, level in levels.items()
        if level > 0
    ]
    response.finalized_features_epoch = services.controller.metadata_offset
