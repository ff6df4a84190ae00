"""Routes: the code that processes the messages of a service and operation."""

from __future__ import annotations

from typing import Protocol

from extensions.processing.processing_errors import ProcessingError
from extensions.processing.route_exchange import Exchange


class PythonRoute(Protocol):
    """Processes one message, at each attempt from the start; an exception is an error of the attempt."""

    def __call__(self, exchange: Exchange, /) -> None: ...


def start_endpoint(service: str, operation: str) -> str:
    return f"direct:{service}_{operation}_out_route"


class Routes:
    """The routes of a process, by service and operation."""

    def __init__(self) -> None:
        self._routes: dict[str, PythonRoute] = {}
        self._object_ids: dict[str, str] = {}

    def add(self, service: str, operation: str, route: PythonRoute, *, object_id: str | None = None) -> None:
        """Register a route. Raises ValueError when the service and operation have one already.

        ``object_id`` is a JSON Pointer to the object id in the body of each message that is received.
        """
        uri = start_endpoint(service, operation)
        if uri in self._routes:
            raise ValueError(f"there is a route {uri} already")
        self._routes[uri] = route
        if object_id is not None:
            self._object_ids[uri] = object_id

    def object_id_pointer(self, service: str, operation: str) -> str | None:
        """Where the object id is in the body of this operation's messages; None when no route says."""
        return self._object_ids.get(start_endpoint(service, operation))

    @property
    def endpoints(self) -> list[str]:
        """The start URIs of the routes."""
        return list(self._routes)

    def find(self, service: str, operation: str) -> PythonRoute:
        """The route of a service and operation. Raises ProcessingError when this process has none."""
        uri = start_endpoint(service, operation)
        if uri not in self._routes:
            raise ProcessingError(f"there is no route {uri}; there are {', '.join(self._routes) or 'none'}")
        return self._routes[uri]
