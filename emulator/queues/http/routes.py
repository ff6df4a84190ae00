"""The paths of a version of the messaging API, and the home document that lists them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from emulator.queues.http.answers import Answer
from emulator.queues.http.call import Call

Handler: TypeAlias = Callable[[Call], Answer]


@dataclass(frozen=True, slots=True)
class Route:
    """A path under the version's, its handlers by method, and the query parameters it knows.

    ``rel`` is its name in the home document, ``limit`` that of its parameter ``limit`` there. Every second
    part of a path is variable.
    """

    rel: str
    path: str
    handlers: Mapping[str, Handler]
    parameters: tuple[str, ...] = ()
    limit: str = ""

    @property
    def shape(self) -> tuple[str, ...]:
        return shape_of(self.path.split("/"))

    @property
    def allowed(self) -> str:
        """The methods, as the Allow header of a wrong one has them."""
        return ", ".join([*sorted(self.handlers), "OPTIONS"])


def shape_of(parts: list[str]) -> tuple[str, ...]:
    """The parts of a path that are not variable, in their places."""
    return tuple("" if place % 2 else part for place, part in enumerate(parts))


def home(version: str, routes: Iterable[Route]) -> dict[str, Any]:
    """The home document (draft-nottingham-json-home-03) of a version."""
    return {"resources": {f"rel/{route.rel}": _resource(version, route) for route in routes}}


def _resource(version: str, route: Route) -> dict[str, Any]:
    query = "{?" + ",".join(route.parameters) + "}" if route.parameters else ""
    variables = [part[1:-1] for part in route.path.split("/") if part.startswith("{")]
    return {
        "href-template": f"/{version}/{route.path}{query}",
        "href-vars": {
            name: f"param/{route.limit if name == 'limit' else name}"
            for name in (*variables, *route.parameters)
        },
        "hints": {"allow": sorted(route.handlers), "formats": {"application/json": {}}},
    }


def version_entry(number: str, status: str, updated: str, media: str) -> dict[str, Any]:
    """A version in the list of versions."""
    return {
        "id": number,
        "status": status,
        "updated": updated,
        "media-types": [
            {"base": "application/json", "type": f"application/vnd.openstack.messaging-{media}+json"}
        ],
        "links": [{"href": f"/v{number}/", "rel": "self"}],
    }
