"""The endpoints of a relay: one for every service, or AWS's own for each service."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from emulator.http.asgi import Headers
from emulator.kinesis import Scope
from emulator.relay.aws.connections import UpstreamConnections
from emulator.relay.aws.passing_on import HOP_BY_HOP
from emulator.relay.aws.signing import Signer, fixed_credentials

if TYPE_CHECKING:
    from botocore.credentials import Credentials


class Prepared(NamedTuple):
    """A request for the upstream."""

    target: bytes
    headers: Headers


class Endpoint:
    """One host. With ``credentials`` requests are signed for it; without, they are relayed as they came."""

    def __init__(self, url: str, credentials: Credentials | None = None) -> None:
        self.connections = UpstreamConnections(url)
        secure, authority = self.connections.secure, self.connections.authority
        self._signer = Signer(credentials, authority, secure=secure) if credentials else None

    @property
    def signs(self) -> bool:
        return self._signer is not None

    def prepare(
        self, method: str, target: bytes, headers: Headers, body: bytes | None, *, service: str, region: str
    ) -> Prepared:
        """Build the request for this host. ``body`` is None when it is not known yet.

        Without signing, the client's Host header stays: the client's signature covers it,
        and the upstream uses it in the addresses that it returns.
        """
        kept = [header for header in headers if header[0] not in HOP_BY_HOP]
        if self._signer is None:
            return Prepared(target, kept)
        return Prepared(*self._signer.sign(method, target, kept, body, service=service, region=region))


class Endpoints(Protocol):
    """Finds the host of a service in a region."""

    def of(self, service: str, region: str) -> Endpoint:
        """The endpoint of a service in a region. Raises LookupError when there is none."""

    def close(self) -> None: ...


class OneEndpoint:
    """One host for every service, as emulators have it."""

    def __init__(self, url: str, credentials: Credentials | None = None) -> None:
        self._endpoint = Endpoint(url, credentials)

    def of(self, _service: str, _region: str) -> Endpoint:
        return self._endpoint

    def close(self) -> None:
        self._endpoint.connections.close()


class AccountEndpoints:
    """One host, with an endpoint for each account, whose access key is the account, as in emulators."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._endpoints: dict[str, Endpoint] = {}

    def of(self, scope: Scope) -> Endpoint:
        found = self._endpoints.get(scope.account)
        if found is None:
            found = Endpoint(self._url, fixed_credentials(scope.account, "sandbox"))
            self._endpoints[scope.account] = found
        return found

    def close(self) -> None:
        for endpoint in self._endpoints.values():
            endpoint.connections.close()


class AwsEndpoints:
    """AWS itself: a host for each service and region, from botocore. Every request is signed again."""

    def __init__(self, credentials: Credentials) -> None:
        from botocore.loaders import Loader
        from botocore.regions import EndpointResolver

        self._credentials = credentials
        self._resolver = EndpointResolver(Loader().load_data("endpoints"))
        self._endpoints: dict[tuple[str, str], Endpoint] = {}

    def of(self, service: str, region: str) -> Endpoint:
        found = self._endpoints.get((service, region))
        if found is None:
            known = self._resolver.construct_endpoint(service, region)
            if known is None:
                raise LookupError(f"AWS has no endpoint of the service {service!r} in {region!r}")
            found = Endpoint(f"https://{known['hostname']}", self._credentials)
            self._endpoints[service, region] = found
        return found

    def close(self) -> None:
        for endpoint in self._endpoints.values():
            endpoint.connections.close()
