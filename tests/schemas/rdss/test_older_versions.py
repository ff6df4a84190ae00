"""Messages of the 13 older releases: upgraded to 4.0.0 where that is possible, else refused by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from schemas.rdss.catalogue import terms
from schemas.rdss.envelope import serialise
from schemas.rdss.older_versions import RELEASES, CannotUpgradeError, names_of_numbers, upgrade
from schemas.rdss.sample_older_versions import UPGRADED_RELEASES, older_sample
from schemas.rdss.samples import Samples
from schemas.rdss.sequence import join, split
from schemas.rdss.validation import judge

PUBLISHED = Path(__file__).parents[4] / "shared/reference/rdss-4.0.0/messages"
HEADER = {
    "messageId": "5680e8e0-28a5-4b20-948e-fd0d08781e0b",
    "messageClass": "Command",
    "messageType": "MetadataCreate",
    "messageTimings": {"publishedTimestamp": "2018-05-17T10:00:00Z"},
    "messageSequence": {
        "sequence": "b66be1c2-e610-461e-bc49-14a42c0b5d24",
        "position": 1,
        "total": 1,
    },
    "version": "3.0.2",
    "generator": "a repository of 2018",
}


def _body(**change: Any) -> dict[str, Any]:
    """An object as 3.0.2 writes it: numbers for names, Uuid, a description that is a text."""
    university = {
        "organisationJiscId": 89,
        "organisationName": "University",
        "organisationType": 8,
        "organisationAddress": "1 College Lane",
    }
    person = {
        "personUuid": "27811a4c-9cb5-4e6d-a069-5c19288fae58",
        "personIdentifier": [{"personIdentifierValue": "0000", "personIdentifierType": 2}],
        "personGivenNames": "Ada",
        "personFamilyNames": "Lovelace",
    }
    return {
        "objectUuid": "5680e8e0-28a5-4b20-948e-fd0d08781e0b",
        "objectTitle": "Tides",
        "objectPersonRole": [{"person": person, "role": 20}],
        "objectDescription": "Of the sea",
        "objectRights": {
            "licence": [{"licenceIdentifier": "CC BY"}],
            "access": [{"accessType": 1}],
        },
        "objectDate": [{"dateValue": "2002-10-02T10:00:00-05:00", "dateType": 10}],
        "objectKeywords": ["tide"],
        "objectResourceType": 7,
        "objectValue": 3,
        "objectIdentifier": [{"identifierValue": "10.5072/1", "identifierType": 4}],
        "objectOrganisationRole": [
            {"organisation": university | {"organisationJiscId": 1}, "role": 1},
            {"organisation": university, "role": 2},
        ],
        **change,
    }


def _message(body: object, **header: Any) -> bytes:
    return serialise({"messageHeader": HEADER | header, "messageBody": body})


def test_there_are_thirteen() -> None:
    """Three 3.x among them."""
    assert len(RELEASES) == 13
    assert [version for version in RELEASES if version.startswith("3.")] == ["3.0.0", "3.0.1", "3.0.2"]


def test_a_message_of_3_x_becomes_a_valid_one_of_4_0_0() -> None:
    """Numbers become names, fields get their new names, the tenant is the hosting institution."""
    old = _message(_body())
    assert not judge(old).valid
    new = upgrade(old, "3.0.2")
    assert judge(new).violations == ()
    message = json.loads(new)
    assert (message["messageHeader"]["version"], message["messageHeader"]["tenantJiscID"]) == ("4.0.0", 89)
    body = message["messageBody"]
    assert body["objectDescription"] == [{"descriptionValue": "Of the sea", "descriptionType": "description"}]
    assert body["objectKeyword"] == ["tide"]
    assert body["objectPersonRole"][0]["role"] == "author"
    assert [role["role"] for role in body["objectOrganisationRole"]] == ["funder", "hostingInstitution"]
    assert (body["objectResourceType"], body["objectDate"][0]["dateType"]) == ("dataset", "published")


def test_the_published_body_of_3_x_becomes_valid() -> None:
    """The example of an update that 4.0.0 still carries in its old form, files and all."""
    path = PUBLISHED / "body/metadata/update/research_object_update_request.json"
    if not path.is_file():
        pytest.skip("the published examples are not beside this checkout")
    body = json.loads(path.read_bytes())
    assert judge(upgrade(_message(body, messageType="MetadataUpdate"), "3.0.1")).violations == ()


def test_a_files_preservation_events_become_a_text() -> None:
    """Types that 4.0.0 no longer has are kept in words."""
    event = {
        "preservationEventValue": "done",
        "preservationEventType": 9,
        "preservationEventDetail": "slowly",
    }
    new = json.loads(upgrade(_message({"filePreservationEvent": [event]}), "3.0.0"))
    assert new["messageBody"] == {"filePreservationEvent": "download: done: slowly"}


def test_parts_are_upgraded_when_they_are_joined() -> None:
    """Each part becomes valid by its header and still says 3.0.2; the whole is upgraded after that."""
    numbers = iter(range(1, 100))
    parts = split(
        json.loads(_message(_body())),
        limit=900,
        new_id=lambda: f"00000000-0000-4000-8000-{next(numbers):012}",
    )
    upgraded = [upgrade(part, "3.0.2") for part in parts]
    assert len(parts) > 1
    assert all(judge(part).valid for part in upgraded)
    whole = upgrade(join(upgraded), "3.0.2")
    assert judge(whole, joined=True).violations == ()
    assert json.loads(whole)["messageHeader"]["tenantJiscID"] == 89


@pytest.mark.parametrize("version", [version for version in RELEASES if version < "3"])
def test_what_is_older_is_refused_with_its_version_and_day(version: str) -> None:
    """The reason says which release it was and what to send instead."""
    with pytest.raises(CannotUpgradeError, match=rf"version {version} .*{RELEASES[version]}.*send 4\.0\.0"):
        upgrade(_message(_body(), version=version), version)


@pytest.mark.parametrize(
    ("change", "field"),
    [({"objectResourceType": 10}, "objectResourceType 10"), ({"objectValue": 4}, "objectValue 4")],
)
def test_a_value_without_a_successor_is_refused(change: dict[str, Any], field: str) -> None:
    """A journal is no resource type of 4.0.0, and nothing is made up for it."""
    with pytest.raises(CannotUpgradeError, match=rf"version 3\.0\.2 .*{field} has no name in 4\.0\.0"):
        upgrade(_message(_body(**change)), "3.0.2")


@pytest.mark.parametrize("data", [b"{", b"\xff", b"[]", b'{"messageHeader": 1, "messageBody": {}}', b"{}"])
def test_what_cannot_be_read_is_refused(data: bytes) -> None:
    """Never another error."""
    with pytest.raises(CannotUpgradeError, match="cannot be read"):
        upgrade(data, "3.0.2")


def test_every_name_is_one_of_4_0_0() -> None:
    """No number becomes a name that the data model does not have."""
    others = {
        "fileStorageStatus": "StorageStatus",
        "fileUploadStatus": "UploadStatus",
        "objectResourceType": "ResourceType",
        "storagePlatformType": "StorageType",
        "person": "PersonRole",
        "organisation": "OrganisationRole",
    }
    for field, names in names_of_numbers().items():
        if field != "preservationEventType":
            vocabulary = others.get(field, field[0].upper() + field[1:])
            assert set(names) - {None} <= set(terms(vocabulary)), field


@pytest.mark.parametrize("version", UPGRADED_RELEASES)
def test_samples_of_an_older_version_need_the_upgrade(version: str) -> None:
    """Each is refused as it is, and valid once it is upgraded; the same seed gives the same ones."""
    samples, again = Samples(7), Samples(7)
    for _ in range(30):
        old = older_sample(samples, version)
        assert old == older_sample(again, version)
        assert "tenantJiscID" not in old["messageHeader"]
        assert isinstance(old["messageBody"]["objectResourceType"], int)
        assert not judge(serialise(old)).valid
        new = upgrade(serialise(old), version)
        assert judge(new).violations == ()
        assert json.loads(new)["messageBody"]["objectUUID"] == old["messageBody"]["objectUuid"]
