"""UpdateFeatures (key 57), v0-2.

Finalises feature levels, all of them or none (KIP-584).

Behaviour
- Version 0 says `allow_downgrade` where later ones say how; Apache Kafka's controller passes over it, so a
  downgrade needs version 1.
- Below version 2 each feature has a result when all went well; its text is then NONE, as Apache Kafka's is.
Versions
- 1 kinds of downgrade, validate_only; 2 one error for all (KIP-1022)
"""

from __future__ import annotations

from barnabas.base.errors import ApiError
from barnabas.handlers.request import RequestContext
from barnabas.metadata.feature_changes import FeatureUpdate
from barnabas.protocol import messages

_FIRST_WITHOUT_RESULTS = 2


def handle(
    context: RequestContext, request: messages.UpdateFeaturesRequest
) -> messages.UpdateFeaturesResponse:
    """Hand all updates to the controller at once."""
    updates = [
        FeatureUpdate(feature=key.feature, level=key.max_version_level, upgrade_type=key.upgrade_type)
        for key in request.feature_updates
    ]
    context.services.controller.update_features(updates, validate_only=request.validate_only)
    response = messages.UpdateFeaturesResponse(error_message=None)
    if context.api_version < _FIRST_WITHOUT_RESULTS:
        response.results = [
            messages.UpdateFeaturesResponseUpdatableFeatureResult(
                feature=update.feature, error_message="NONE"
            )
            for update in updates
        ]
    return response


def error_response(
    request: messages.UpdateFeaturesRequest, error: ApiError, version: int
) -> messages.UpdateFeaturesResponse:
    """None of the features was changed."""
    return messages.UpdateFeaturesResponse(error_code=error.code, error_message=error.message)
