"""ApiVersions (api key 18), versions 0 to 4: what this broker serves, from the same table that requests are checked
against (KIP-35, KIP-511).

Features (KIP-584): only those are told whose behaviour is here, see `metadata.features`. A directory may have finalized
more. Version notes: before v4 a feature that can be at level 0 is left out of what is supported, since clients refuse
such a range (KIP-1022).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from odradek.broker.metadata.features import OLDEST, SUPPORTED
from odradek.broker.metadata.image import MetadataImage
from odradek.broker.runtime.context import RequestContext
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from odradek.protocol.registry import Api

FIRST_WITH_SOFTWARE = 3
FIRST_WITH_LEVEL_0 = 4

_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


def own_versions(api: Api) -> tuple[int, int]:
    """Return what is served of an API where it is answered here."""
    return api.served.first, api.served.last


class ApiVersionsHandler:
    """Answers ApiVersions: the APIs with their versions, and the features."""

    def __init__(
        self,
        served: Sequence[Api],
        image: Callable[[], MetadataImage],
        versions: Callable[[Api], tuple[int, int] | None] = own_versions,
    ) -> None:
        """`served` are the APIs that have a handler; `image` gives the current metadata; `versions` says which versions
        of an API are answered at present, None for none."""
        self._served = served
        self._versions = versions
        self._image = image

    def api_versions(self, context: RequestContext, request: ApiVersionsRequest) -> ApiVersionsResponse:
        """The versions of every API, and the features."""
        if context.api_version >= FIRST_WITH_SOFTWARE:
            name, version = request.client_software_name, request.client_software_version
            if not _SOFTWARE.fullmatch(name) or not _SOFTWARE.fullmatch(version):
                return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
            context.client_software_name, context.client_software_version = name, version
        image = self._image()
        finalized = [
            FinalizedFeatureKey(name=name, min_version_level=level, max_version_level=level)
            for name, level in image.features.items()
            if name in OLDEST
        ]
        return ApiVersionsResponse(
            api_keys=[
                ApiVersion(api_key=api.key, min_version=versions[0], max_version=versions[1])
                for api in self._served
                if (versions := self._versions(api)) is not None
            ],
            supported_features=[
                SupportedFeatureKey(name=name, min_version=oldest, max_version=SUPPORTED[name])
                for name, oldest in OLDEST.items()
                if oldest or context.api_version >= FIRST_WITH_LEVEL_0
            ],
            finalized_features_epoch=image.offset,
            finalized_features=finalized,
        )
