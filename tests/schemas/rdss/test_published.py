"""Our definitions give the verdict of the published schemas, definition by definition."""

from __future__ import annotations

import json
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from emulator.rng import Chance, Draws
from schemas.rdss.catalogue import load_schemas, names, terms
from schemas.rdss.explanation import flaws
from schemas.rdss.validation import is_valid, judge_message
from tests.schemas.rdss.published_cases import PROJECT, STRANGE, WHOLE_MESSAGES, changes, our_name, parts_of
from tests.schemas.rdss.verdict_digests import judge_changes, read_verdicts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.schemas.rdss.conftest import PublishedSchemas

MUTATIONS = 8_000
EXPLAINED_EVERY = 12


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


def test_verdicts_are_those_that_the_published_schemas_gave() -> None:
    """With no published file beside the checkout: each rule of each definition is broken once."""
    known = read_verdicts()
    assert len(known) == 70
    assert sum(each.cases for each in known.values()) > 5_000
    for full, verdicts in known.items():
        assert judge_changes(verdicts.instance, partial(is_valid, full)) == verdicts, full


def test_the_digests_are_of_the_published_schemas(published: PublishedSchemas) -> None:
    """``python -m tests.schemas.rdss.verdict_digests`` would write the same verdicts."""
    files = {our_name(file, name): (file, name) for file, name in published.names()}
    for full, verdicts in read_verdicts().items():
        assert judge_changes(verdicts.instance, partial(published.is_valid, *files[full])) == verdicts, full


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
    for urn, document in load_schemas().items():
        assert urn.startswith("urn:rdss-sandbox:4.0.0:")
        assert "jisc.ac.uk" not in json.dumps(document)
