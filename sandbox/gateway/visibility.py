"""Whether the public may know of a work: what decides between a create, an update and a delete."""

from __future__ import annotations

from typing import Any, Final

CONFIDENTIAL: Final = "closed"
"""The one AccessType under which nobody but the application's own users sees a work."""


def confidential(work: dict[str, Any]) -> bool:
    """Whether every access that a digital object grants is ``closed``; one that grants none says nothing."""
    rights = work.get("objectRights")
    granted = rights.get("access") if isinstance(rights, dict) else None
    kinds = [each.get("accessType") for each in granted or () if isinstance(each, dict)]
    return bool(kinds) and all(kind == CONFIDENTIAL for kind in kinds)
