"""One API in one version: all that a request finds by its header, in one look-up.

Made with the first request of its kind and kept. Finding route, codec, response header and counters anew for
each request cost as much as decoding a small one.
"""

from barnabas.base.hints import TYPE_CHECKING
from barnabas.handlers.request_times import RequestTimes
from barnabas.protocol.frames import response_header_packer

if TYPE_CHECKING:
    from barnabas.handlers.routes import Route
    from barnabas.protocol.codec_runtime import Codec


class ServedVersion:
    """What is known of a request by its API key and version.

    Args:
        api_version: -1 for all that are not served.

    Attributes:
        decode: see `Message.decoder`; None for a version that is not served, of which only ApiVersions
            answers requests (KIP-511).
        pack_header: makes the response's header of a correlation id.
        times: where its requests are counted; those not served of one API are counted together.
    """

    __slots__ = ("decode", "pack_header", "route", "times")

    def __init__(self, route: "Route", api_version: int) -> None:
        self.route = route
        is_served = api_version in route.versions
        self.decode: Codec | None = route.request.decoder(api_version) if is_served else None
        self.pack_header = response_header_packer(route.spec.key, api_version)
        self.times = RequestTimes(route.spec.key, api_version)
