"""Whether a work is public; this decides between a create, an update and a delete."""

from __future__ import annotations

from typing import Any, Final

CONFIDENTIAL: Final = "closed"
"""The one AccessType that hides a work from everyone but the application's own users."""


def confidential(work: dict[str, Any]) -> bool:
    """Whether every access of a digital object is ``closed``; an object without access entries is public."""
    rights = work.get("objectRights")
    granted = rights.get("access") if isinstance(rights, dict) else None
    kinds = [each.get("accessType") for each in granted or () if isinstance(each, dict)]
    return bool(kinds) and all(kind == CONFIDENTIAL for kind in kinds)
