"""Definitions under their published names, instances, and every small change to one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from schemas.rdss.catalogue import definition, names, reference
from schemas.rdss.samples import Samples

FILES = {
    "types.json": "primitives",
    "enumeration.json": "vocabulary",
    "message/header.json": "header",
}
RENAMED = {
    "IpOrHostname": "primitives.NetworkAddress",
    "messageTimings": "header.Timings",
    "messageSequence": "header.Sequence",
    "messageHistory": "header.History",
    "ThesisAwardedDate": "characteristics.AwardedDate",
    "AwardingInstitutionOrganisationRole": "parties.AwardingInstitution",
    "MetadataCreateRequest": "messages.MetadataCreate",
    "MetadataUpdateRequest": "messages.MetadataUpdate",
    "MetadataDeleteRequest": "messages.MetadataDelete",
    "MetadataReadRequest": "messages.MetadataReadRequest",
    "MetadataReadResponse": "messages.MetadataReadResponse",
    "PreservationEventRequest": "messages.PreservationEvent",
}
WHOLE_MESSAGES = {ours: name for name, ours in RENAMED.items() if ours.startswith("messages.")}


def our_name(file: str, name: str) -> str:
    """Our full name of a published definition."""
    if name in RENAMED:
        return RENAMED[name]
    if file in FILES:
        return f"{FILES[file]}.{name}"
    found = [
        full
        for full in names()
        if full.endswith(f".{name}") and not full.startswith(("vocabulary", "messages"))
    ]
    assert len(found) == 1, (file, name, found)
    return found[0]


def parts_of(full: str, instance: Any) -> Iterator[tuple[str, Any]]:
    """The instance, and every part of it that has a definition, with that definition."""
    urn = reference(full).partition("#")[0]
    yield full, instance
    yield from _parts(definition(reference(full)), urn, instance)


def _parts(schema: dict[str, Any], urn: str, instance: Any) -> Iterator[tuple[str, Any]]:
    if ref := schema.get("$ref"):
        document, _, name = ref.partition("#/$defs/")
        full = f"{(document or urn).rpartition(':')[2]}.{name}"
        yield full, instance
        yield from _parts(definition(ref, urn), document or urn, instance)
    if isinstance(instance, dict):
        for field, value in instance.items():
            yield from _parts(schema.get("properties", {}).get(field, {}), urn, value)
    if isinstance(instance, list):
        for item in instance:
            yield from _parts(schema.get("items", {}), urn, item)


PROJECT = {
    "projectUUID": "5680e8e0-28a5-4b20-948e-fd0d08781e0b",
    "projectIdentifier": [{"identifierValue": "P1", "identifierType": "DOI"}],
    "projectName": "Reefs",
    "projectDescription": "All of them",
    "projectStart": "2018-01-01T00:00:00Z",
    "projectEnd": "2019-01-01T00:00:00Z",
    "projectGrant": [
        {
            "grantUUID": "d191abec-71fd-410e-9929-3b18d93587bc",
            "grantIdentifier": "G1",
            "grantFunder": {
                "organisation": {"organisationJiscId": 1, "organisationName": "F"},
                "role": "funder",
            },
            "grantStart": "2018-01-01T00:00:00Z",
            "grantEnd": "2019-01-01T00:00:00Z",
        }
    ],
    "projectCollection": [
        {
            "collectionUUID": "27811a4c-9cb5-4e6d-a069-5c19288fae58",
            "collectionName": "Corals",
            "collectionDescription": ["Corals"],
            "collectionKeyword": ["reef"],
            "collectionCategory": ["biology"],
            "collectionIdentifier": [{"identifierValue": "C1", "identifierType": "DOI"}],
            "collectionRelatedIdentifier": [
                {
                    "identifier": {"identifierValue": "C0", "identifierType": "DOI"},
                    "relationType": "continues",
                }
            ],
            "collectionPersonRole": Samples(3).message("MetadataCreate", "book")["messageBody"][
                "objectPersonRole"
            ],
            "collectionOrganisationRole": [
                {"organisation": {"organisationJiscId": 2, "organisationName": "O"}, "role": "sponsor"}
            ],
            "collectionObject": [Samples(3).message("MetadataCreate", "software")["messageBody"]],
            "collectionRights": [
                {"licence": [{"licenceIdentifier": "CC0"}], "access": [{"accessType": "open"}]}
            ],
        }
    ],
}


STRANGE = (
    None,
    True,
    False,
    0,
    1,
    -1,
    1.0,
    1.5,
    10**30,
    "",
    " ",
    "text",
    [],
    {},
    [[]],
    [None],
    {"objectUUID": "x"},
    "1",
    "é" * 40,
)


def changes(instance: Any) -> Iterator[Any]:
    """Every small change to an instance, its fields and their items; what lies below is judged by itself."""
    yield from STRANGE
    if isinstance(instance, dict):
        yield instance | {"extra": 1}
        for field, value in instance.items():
            rest = {name: other for name, other in instance.items() if name != field}
            yield rest
            yield rest | {f"{field}s": value}
            yield from (instance | {field: strange} for strange in STRANGE)
            if isinstance(value, list):
                yield from (instance | {field: [*value, item]} for item in (*STRANGE, *value[:1]))
                yield instance | {field: {"0": value[0]} if value else {}}
    if isinstance(instance, list):
        yield from ([*instance, item] for item in (*STRANGE, *instance[:1]))
        yield instance[1:]
        yield from ([changed] for item in instance[:1] if isinstance(item, dict) for changed in changes(item))
