"""What a client asks of the control API, before a transport sends it."""

from __future__ import annotations

from typing import Any, NamedTuple


class Request(NamedTuple):
    """A request. ``path`` is quoted, ``query`` has no None in it, ``body`` is None or a shape."""

    method: str
    path: str
    query: dict[str, Any]
    body: Any
