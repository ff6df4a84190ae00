"""Our definitions give the verdict of the published schemas, definition by definition."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from emulator.rng import Chance, Draws
from schemas.rdss.catalogue import definition, documents, names, reference, terms
from schemas.rdss.explanation import flaws
from schemas.rdss.samples import Samples
from schemas.rdss.validation import is_valid, judge_message

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.schemas.rdss.conftest import PublishedSchemas

MUTATIONS = 8_000
EXPLAINED_EVERY = 12

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


def examples(folder: Path) -> Iterator[tuple[str, Any]]:
    """The published examples and the definition that each is an example of."""
    kinds = {
        "article_create_request": "objects.Article",
        "dataset_create_request": "objects.Dataset",
        "thesis_dissertation_create_request": "objects.ThesisDissertation",
        "research_object_create_request": "objects.ResearchObject",
        "research_object_read_response": "objects.ResearchObject",
        "research_object_update_request": "objects.ResearchObject",
        "research_object_read_request": "messages.ObjectReference",
        "research_object_delete_request": "messages.ObjectReference",
        "preservation_event_request": "packages.InformationPackage",
    }
    for file in sorted((folder / "messages").rglob("*.json")):
        kind = (
            "header.Header"
            if file.parent.name == "header"
            else kinds.get(file.stem, "messages.MetadataCreate")
        )
        yield kind, json.loads(file.read_text())


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


@pytest.fixture(scope="module")
def instances(published_folder: Path) -> dict[str, list[Any]]:
    """Instances of every definition: the published examples, all that they consist of, and samples."""
    found: dict[str, list[Any]] = {}
    whole = [(kind, instance) for kind, instance in examples(published_folder)]
    bodies = {kind: instance for kind, instance in whole if not kind.startswith(("header", "messages.Meta"))}
    header = next(instance for kind, instance in whole if kind == "header.Header")
    for full in WHOLE_MESSAGES:
        package, lone = (
            full == "messages.PreservationEvent",
            full in ("messages.MetadataDelete", "messages.MetadataReadRequest"),
        )
        chosen = (
            ["packages.InformationPackage"]
            if package
            else ["messages.ObjectReference"]
            if lone
            else list(bodies)
        )
        whole += [(full, {"messageHeader": header, "messageBody": bodies[body]}) for body in chosen]
    whole += [("projects.Project", PROJECT)]
    for kind, instance in whole:
        for full, part in parts_of(kind, instance):
            found.setdefault(full, []).append(part)
    thesis = bodies["objects.ThesisDissertation"]
    found["characteristics.AwardedDate"] = [
        date for date in thesis["objectDate"] if date["dateType"] == "awarded"
    ]
    found["parties.AwardingInstitution"] = [
        role for role in thesis["objectOrganisationRole"] if role["role"] == "awardingInstitution"
    ]
    return found


def test_each_published_definition_has_one_of_ours(published: PublishedSchemas) -> None:
    """The whole data model is there, and every enumeration has the same terms."""
    ours = {our_name(file, name) for file, name in published.names()}
    own = {"messages.AnyMessage", "messages.Part", "messages.ObjectBody", "messages.ObjectReference"}
    own |= {"objects.DigitalObject", "header.HistoryEntry", "primitives.EmailAddress", "primitives.URI"}
    assert set(names()) - own == ours
    for name, published_terms in published.documents["enumeration.json"]["definitions"].items():
        assert sorted(terms(name)) == sorted(published_terms["enum"]), name


def test_examples_get_the_published_verdict(
    published: PublishedSchemas, instances: dict[str, list[Any]]
) -> None:
    """Each published example and each entity in it is judged alike; the 3.x update body is refused."""
    refused = 0
    for file, name in published.names():
        full = our_name(file, name)
        assert instances.get(full), f"no instance of {full}"
        for instance in instances[full]:
            expected = published.is_valid(file, name, instance)
            assert is_valid(full, instance) is expected, (full, instance)
            refused += not expected
    assert refused, "the update example of 3.x should have been refused"


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
MALFORMED = (
    "5680e8e0-28a5-4b20-948e-fd0d08781e0b\n",
    "5680E8E0-28a5-4b20-948e-fd0d08781e0b",
    "5680e8e0-28a5-6b20-948e-fd0d08781e0b",
    "00000000-0000-0000-0000-000000000000",
    "2018-01-01",
    "2018-01-01T00:00:00",
    "2018-02-30T00:00:00Z",
    "2018-01-01T00:00Z",
    "2018-01-01T00:00:00Z\n",
    "2018-06-30T23:59:60Z",
    "@",
    "person@net",
    "a..b@c",
    "relative/path",
    "http://[::1",
    "urn:x:y",
    "1.2",
    "v1.0.0",
    "1.0.0\n",
    "1.0.0-a..b",
    "-x.example",
    "256.1.1.1",
    "fe80::1%eth0",
    "::1",
    "١٢.0.0.1",
)


def mutate(instance: Any, draws: Draws) -> tuple[str, Any]:
    """A copy of an instance with one thing changed somewhere in it, and what was done."""
    holder = {"": json.loads(json.dumps(instance))}
    places = list(_places(holder))
    at, key = draws.choice(places)
    value = at[key]
    what = draws.choice(("drop", "add", "retype", "rename", "enum", "format", "repeat"))
    if what == "drop" and at is not holder:
        del at[key]
    elif what == "add" and isinstance(value, dict):
        value[draws.choice(("extra", "objectValue", "version", "language", "objectUuid"))] = draws.choice(
            STRANGE
        )
    elif what == "rename" and isinstance(at, dict) and at is not holder:
        at[draws.choice((f"{key}s", key.lower(), key.replace("licen", "lisen"), f"{key} "))] = at.pop(key)
    elif what == "enum" and isinstance(value, str):
        at[key] = draws.choice(
            (value.upper(), value.lower(), *terms(draws.choice(("DateType", "OrganisationRole"))))
        )
    elif what == "enum":
        at[key] = draws.choice(
            terms(draws.choice(("MessageType", "ResourceType", "PersonRole", "ObjectValue")))
        )
    elif what == "format" and isinstance(value, str):
        at[key] = draws.choice(MALFORMED)
    elif what == "repeat" and isinstance(value, list) and value:
        value.append(value[0])
    else:
        what = "retype"
        at[key] = draws.choice(STRANGE)
    return what, holder[""]


def _places(holder: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    waiting: list[Any] = [holder]
    while waiting:
        at = waiting.pop()
        for key, value in at.items() if isinstance(at, dict) else enumerate(at):
            yield at, key
            if isinstance(value, dict | list):
                waiting.append(value)


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


def test_every_small_change_gets_the_published_verdict(
    published: PublishedSchemas, instances: dict[str, list[Any]]
) -> None:
    """No keyword of any definition is missing: each rule is broken once, in the richest valid instance."""
    compared = 0
    for file, name in published.names():
        full = our_name(file, name)
        valid = [instance for instance in instances[full] if published.is_valid(file, name, instance)]
        richest = max(valid, key=lambda instance: len(json.dumps(instance)))
        for changed in changes(richest):
            assert is_valid(full, changed) is published.is_valid(file, name, changed), (full, changed)
            compared += 1
    assert compared > 5_000


def test_mutations_get_the_published_verdict(
    published: PublishedSchemas, instances: dict[str, list[Any]]
) -> None:
    """Thousands of examples with something changed at any depth: every verdict is the published one."""
    draws = Chance(20181211).draws("mutations")
    pool = [(file, name, our_name(file, name)) for file, name in published.names()]
    seen: Counter[tuple[str, bool]] = Counter()
    for number in range(MUTATIONS):
        file, name, full = draws.choice(pool) if number % 2 else draws.choice(pool[-8:])
        what, instance = mutate(draws.choice(instances[full]), draws)
        for _ in range(draws.randrange(2)):
            what, instance = mutate(instance, draws)
        expected = published.is_valid(file, name, instance)
        assert is_valid(full, instance) is expected, (full, what, instance)
        if number % EXPLAINED_EVERY == 0:
            assert bool(flaws(full, instance)) is not expected, (full, what, instance)
        seen[what, expected] += 1
    assert sum(seen.values()) >= 5_000
    for what in ("drop", "add", "retype", "rename", "enum", "format"):
        assert seen[what, False] > 50, seen
    assert sum(count for (_, valid), count in seen.items() if valid) > MUTATIONS / 20, seen


def test_messages_get_the_published_verdict(
    published: PublishedSchemas,
    published_as_they_are: PublishedSchemas,
    instances: dict[str, list[Any]],
) -> None:
    """A mutated whole message is valid when one of the published message schemas says so.

    As published, that is the verdict of the files as they are: no text is refused for its format.
    """
    draws = Chance(4).draws("messages")
    files = {name: file for file, name in published.names()}

    def takes(schemas: PublishedSchemas, message: Any) -> bool:
        return any(schemas.is_valid(files[name], name, message) for name in WHOLE_MESSAGES.values())

    valid = by_format = 0
    for _ in range(1200):
        full = draws.choice(sorted(WHOLE_MESSAGES))
        message = mutate(draws.choice(instances[full]), draws)[1]
        if not isinstance(message, dict):
            continue
        expected, as_they_are = takes(published, message), takes(published_as_they_are, message)
        verdict = judge_message(message, as_published=True)
        assert is_valid("messages.AnyMessage", message) is expected, message
        assert verdict.valid is as_they_are, (verdict, message)
        assert bool(verdict.violations) is (verdict.code is not None) is not as_they_are
        valid += expected
        by_format += as_they_are and not expected
    assert 150 < valid < 1050
    assert by_format > 5
    for full in WHOLE_MESSAGES:
        for changed in changes(instances[full][0]):
            assert is_valid("messages.AnyMessage", changed) is takes(published, changed), (full, changed)


@pytest.mark.parametrize(
    "address", ["02:42:ac:11:00:02", "arn:aws:ec2:eu-west-2:1:instance/i-1", "0000:1111"]
)
def test_a_machine_may_have_any_address_of_a_network(message: dict[str, Any], address: str) -> None:
    """The text takes "other identifying network address": such a message is no reject."""
    message["messageHeader"]["messageHistory"][0]["machineAddress"] = address
    assert judge_message(message).valid
    assert judge_message(message, as_published=True).valid


def test_no_format_is_checked_as_published(message: dict[str, Any]) -> None:
    """The files' times, email addresses and URIs are any text; by default each is a violation."""
    timings = {"publishedTimestamp": "yesterday", "expirationTimestamp": "tomorrow"}
    message["messageHeader"]["messageTimings"] |= timings
    message["messageBody"]["objectPersonRole"][0]["person"]["personMail"] = "nobody"
    assert judge_message(message, now=0.0, as_published=True).valid
    paths = {violation.path for violation in judge_message(message, now=0.0).violations}
    assert len(paths) == 3


def test_no_schema_file_names_the_published_ones() -> None:
    """The definitions stand alone: every reference is to one of ours."""
    for urn, document in documents().items():
        assert urn.startswith("urn:rdss-sandbox:4.0.0:")
        assert "jisc.ac.uk" not in json.dumps(document)
