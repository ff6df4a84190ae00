"""A work's next version: the whole object, under an objectUUID of its own, as isNewVersionOf the one before.

Specification, Digital Object Versioning. Which version is current is for ``schemas.versions`` to say.
"""

from __future__ import annotations

from typing import Any

from schemas.versions import IS_NEW_VERSION_OF, IS_PREVIOUS_VERSION_OF

JSON = dict[str, Any]


def as_new_version(work: JSON, object_uuid: str, previous: str) -> JSON:
    """The whole object under a UUID of its own, as the version that follows ``previous``."""
    relation = {
        "identifier": {"identifierValue": previous, "identifierType": "UUID"},
        "relationType": IS_NEW_VERSION_OF,
    }
    related = [
        each
        for each in work.get("objectRelatedIdentifier", ())
        if each["relationType"] not in (IS_NEW_VERSION_OF, IS_PREVIOUS_VERSION_OF)
    ]
    return {**work, "objectUUID": object_uuid, "objectRelatedIdentifier": [*related, relation]}
