"""The paths of a version of the messaging API, and the home document that lists them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from extensions.queues.http.answers import MessagingAnswer
from extensions.queues.http.call import MessagingCall

Handler: TypeAlias = Callable[[MessagingCall], MessagingAnswer]


@dataclass(frozen=True, slots=True)
class QueueRoute:
    """A path below the version, its handlers by method, and its query parameters.

    ``rel`` is its name in the home document, and ``limit`` the name of its parameter ``limit`` there.
    """

    rel: str
    path: str
    handlers: Mapping[str, Handler]
    parameters: tuple[str, ...] = ()
    limit: str = ""


def build_home(version: str, routes: Iterable[QueueRoute]) -> dict[str, Any]:
    """Build the home document (draft-nottingham-json-home-03) of a version."""
    return {"resources": {f"rel/{route.rel}": _build_resource(version, route) for route in routes}}


def _build_resource(version: str, route: QueueRoute) -> dict[str, Any]:
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


def render_version(number: str, status: str, updated: str, media: str) -> dict[str, Any]:
    """Render an entry of the list of versions."""
    return {
        "id": number,
        "status": status,
        "updated": updated,
        "media-types": [
            {"base": "application/json", "type": f"application/vnd.openstack.messaging-{media}+json"}
        ],
        "links": [{"href": f"/v{number}/", "rel": "self"}],
    }
