"""The next version of a work: the whole object under a new objectUUID, as isNewVersionOf the last one.

Specification, Digital Object Versioning. ``schemas.rdss.versions`` computes which version is current.
"""

from __future__ import annotations

from typing import Any

from schemas.rdss.versions import IS_NEW_VERSION_OF, IS_PREVIOUS_VERSION_OF

JSON = dict[str, Any]


def as_new_version(work: JSON, object_uuid: str, previous: str) -> JSON:
    """Copy the object with the new ``object_uuid``, as the version that follows ``previous``."""
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
