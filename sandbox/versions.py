"""Versions of a digital object: each with an objectUUID of its own, and the one before by isNewVersionOf.

Specification, Digital Object Versioning.
"""

from __future__ import annotations

from typing import Any, Final

JSON = dict[str, Any]
RELATION: Final = "isNewVersionOf"


def as_new_version(work: JSON, object_uuid: str, previous: str) -> JSON:
    """The whole object under a UUID of its own, as the version that follows ``previous``."""
    relation = {
        "identifier": {"identifierValue": previous, "identifierType": "UUID"},
        "relationType": RELATION,
    }
    related = [each for each in work.get("objectRelatedIdentifier", ()) if each["relationType"] != RELATION]
    return {**work, "objectUUID": object_uuid, "objectRelatedIdentifier": [*related, relation]}


def previous_versions(work: JSON) -> list[str]:
    """The objectUUIDs that an object names as those of its previous version."""
    return [
        related["identifier"]["identifierValue"]
        for related in work.get("objectRelatedIdentifier", ())
        if related["relationType"] == RELATION and related["identifier"]["identifierType"] == "UUID"
    ]
