"""An HTTP client for URLs that clients give the sandbox. It connects to checked addresses only."""

from __future__ import annotations

import httpx

from emulator.destinations import Destinations, ForbiddenError, SocketAddress


def checked_client(destinations: Destinations, timeout: float | httpx.Timeout) -> httpx.Client:
    """Build a client with this timeout. It raises ``httpx.ConnectError`` for a forbidden destination."""
    return httpx.Client(transport=_Checked(destinations), timeout=timeout, trust_env=False)


class _Checked(httpx.BaseTransport):
    """Resolves a name once, checks the addresses, and connects to those: a second lookup could differ."""

    def __init__(self, destinations: Destinations) -> None:
        self._destinations = destinations
        self._inner = httpx.HTTPTransport(trust_env=False)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        port = request.url.port or (443 if request.url.scheme == "https" else 80)
        try:
            places = self._destinations.resolve(request.url.host, port)
        except ForbiddenError as error:
            raise httpx.ConnectError(f"refused: {error}", request=request) from error
        except OSError as error:
            raise httpx.ConnectError(str(error), request=request) from error
        for place in places[:-1]:
            try:
                return self._inner.handle_request(_at(place, request))
            except httpx.ConnectError:
                continue
        return self._inner.handle_request(_at(places[-1], request))

    def close(self) -> None:
        self._inner.close()


def _at(place: SocketAddress, request: httpx.Request) -> httpx.Request:
    """The request to an address. The Host header and the name for the certificate stay."""
    return httpx.Request(
        request.method,
        request.url.copy_with(host=place.address),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": request.url.host},
    )
