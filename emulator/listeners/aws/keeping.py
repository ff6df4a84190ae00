"""What surrounds moto's answer to a request: it stores what the request has changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeAlias

Keep: TypeAlias = Callable[[str, Mapping[str, Any]], AbstractContextManager[None]]
"""From the name of a service and a request's WSGI environment. All is stored when the context ends."""


def keep_nothing(_service: str, _environ: Mapping[str, Any]) -> AbstractContextManager[None]:
    """Leave everything in memory."""
    return nullcontext()
