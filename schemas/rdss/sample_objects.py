"""The bodies of sample messages: objects of every kind with people, files and rights, and packages."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, Final

from schemas.message_timestamps import timestamp_of
from schemas.rdss.catalogue import terms

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

JSON = dict[str, Any]

_SUBJECTS: Final = (
    "Glacier retreat in the Cairngorms",
    "Llên Cymru a'r tân gwyllt",
    "“Quoted” speech in early modern letters",
    "Größenverteilung von Aerosolen über der Nordsee",
    "Neutron scattering in LaFeO₃",
    "江戸時代の地震記録",
    "Ethics of \\ in regular expressions",
    "Bees 🐝, hedgerows and nitrate",
    "Tidal energy off the Pentland Firth",
    "Mémoire et oubli dans l'œuvre de Proust",
)
_GIVEN: Final = ("Siân", "Oluwaseun", "José", "Ada", "明", "Zoë", "Rajesh", "Fiona", "Łukasz", "Mairi")
_FAMILY: Final = (
    "O'Neill",
    "Müller",
    "Nguyễn",
    "Patel",
    "Smith",
    "Ó Súilleabháin",
    "Lovelace",
    "田中",
    "Garcia-Ruiz",
)
_PLACES: Final = ("Aberwye", "St Brannoc", "Kirkfell", "Northmoor", "Inverdale")
_UNITS: Final = (
    "School of Chemistry",
    "Ysgol y Gymraeg",
    "Department of History",
    "Institute of Informatics",
)
_KEYWORDS: Final = (
    "climate",
    "archive",
    "survey",
    "sensor",
    "corpus",
    "genome",
    "naïveté",
    "統計",
    "policy",
    "reef",
)
_LICENCES: Final = (("CC BY 4.0", "https://creativecommons.org/licenses/by/4.0/"), ("ODbL 1.0", "ODbL-1.0"))
_LANGUAGES: Final = ("eng", "cym", "gla", "gle", "fra", "deu", "jpn")
_EXTENSIONS: Final = ("csv", "pdf", "tiff", "nc", "xml", "zip")
_DAY: Final = 86_400_000
_YEARS: Final = 8 * 365


class SampleObjects:
    """Makes entities of the data model from one random generator, dated in the eight years before ``now``.

    ``now`` is in milliseconds since the epoch.
    """

    def __init__(self, draws: random.Random, now: int) -> None:
        self._draws = draws
        self._now = now

    def uuid(self) -> str:
        return str(uuid.UUID(int=self._draws.getrandbits(128), version=4))

    def pick(self, vocabulary: str) -> str:
        """Draw a term of an enumeration."""
        return self._draws.choice(terms(vocabulary))

    def date(self) -> str:
        return timestamp_of(self._now - int(self._draws.random() * _YEARS * _DAY))

    def object(self, resource_type: str, object_uuid: str) -> JSON:
        """Make an object that is valid as a research object and under the rules of its resource type."""
        body: JSON = {
            "objectUUID": object_uuid,
            "objectTitle": f"{self._draws.choice(_SUBJECTS)}, {self._draws.randrange(1, 1000)}",
            "objectPersonRole": self._some(self._person_role, 1, 3),
            "objectDescription": self._some(self._description, 0, 2),
            "objectRights": self._rights(),
            "objectDate": [{"dateValue": self.date(), "dateType": self.pick("DateType")}],
            "objectKeyword": self._draws.sample(_KEYWORDS, self._draws.randrange(1, 4)),
            "objectResourceType": resource_type,
            "objectValue": self.pick("ObjectValue"),
            "objectIdentifier": [self._identifier("DOI")],
            "objectOrganisationRole": [self._organisation_role(self.pick("OrganisationRole"))],
            "objectFile": self._some(self._file, 0, 2),
        }
        if self._draws.random() < 0.3:
            related = {"identifier": self._identifier("DOI"), "relationType": self.pick("RelationType")}
            body["objectRelatedIdentifier"] = [related]
        own: dict[str, Callable[[JSON], None]] = {
            "dataset": self._make_dataset,
            "article": self._make_article,
            "thesisDissertation": self._make_thesis,
        }
        if resource_type in own:
            own[resource_type](body)
        return body

    def package(self, object_uuid: str) -> JSON:
        """Make a valid InformationPackage of an object."""
        kind = self.pick("PreservationEventType")
        return {
            "objectUUID": object_uuid,
            "packageUUID": self.uuid(),
            "packageType": self.pick("PackageType"),
            "packageContainerType": self.pick("ContainerType"),
            "packageDescription": "What the preservation system made of the object",
            "packagePreservationEvent": {
                "preservationEventValue": f"{kind} finished",
                "preservationEventType": kind,
                "preservationEventDetail": f"took {self._draws.randrange(1, 600)} s",
            },
        }

    def _make_dataset(self, body: JSON) -> None:
        body["version"] = f"{self._draws.randrange(1, 9)}.0"
        body["coverage"] = self._coverage()

    def _make_article(self, body: JSON) -> None:
        first = self._draws.randrange(1, 900)
        body["language"] = [self._draws.choice(_LANGUAGES)]
        body["publicationVersion"] = self.pick("PublicationVersion")
        body["articleProcessingCharge"] = self.pick("RIOXXTermsAPC")
        body["freeToRead"] = {"startDate": self.date()}
        body["journal"] = {
            "ISSN": f"{self._draws.randrange(1000, 9999)}-{self._draws.randrange(1000, 9999)}",
            "fullTitle": "Journal of Samples",
            "journalVolume": str(self._draws.randrange(1, 90)),
            "journalIssue": str(self._draws.randrange(1, 12)),
            "firstPage": str(first),
            "lastPage": str(first + self._draws.randrange(1, 40)),
        }

    def _make_thesis(self, body: JSON) -> None:
        body["objectDate"].append({"dateValue": timestamp_of(self._now - _DAY), "dateType": "awarded"})
        body["objectOrganisationRole"] = [self._organisation_role("awardingInstitution")]
        body["language"] = [self._draws.choice(_LANGUAGES)]
        body["qualificationLevel"] = self._draws.choice(("doctoral", "masters"))
        body["qualificationName"] = self._draws.choice(("PhD", "MPhil", "DPhil", "MRes"))

    def _some(self, make: Callable[[], JSON], least: int, most: int) -> list[JSON]:
        """Make items that differ, since each maker draws a UUID or a large number."""
        return [make() for _ in range(self._draws.randint(least, most))]

    def _person_role(self) -> JSON:
        given, family = self._draws.choice(_GIVEN), self._draws.choice(_FAMILY)
        person: JSON = {
            "personUUID": self.uuid(),
            "personIdentifier": [
                {
                    "personIdentifierValue": self._orcid(),
                    "personIdentifierType": self.pick("PersonIdentifierType"),
                }
            ],
            "personGivenNames": given,
            "personFamilyNames": family,
            "personMail": f"person.{self._draws.randrange(10_000)}@kirkfell.example",
        }
        if self._draws.random() < 0.5:
            person["personOrganisationUnit"] = {
                "organisationUnitUUID": self.uuid(),
                "organisationUnitName": self._draws.choice(_UNITS),
                "organisation": self._organisation(),
            }
        return {"person": person, "role": self.pick("PersonRole")}

    def _orcid(self) -> str:
        return "-".join(f"{self._draws.randrange(10_000):04}" for _ in range(4))

    def _organisation(self) -> JSON:
        place = self._draws.randrange(len(_PLACES))
        return {
            "organisationJiscId": place + 1,
            "organisationName": f"University of {_PLACES[place]}",
            "organisationType": self.pick("OrganisationType"),
            "organisationAddress": f"1 College Lane, {_PLACES[place]}",
        }

    def _organisation_role(self, role: str) -> JSON:
        return {"organisation": self._organisation(), "role": role}

    def _description(self) -> JSON:
        subject, observations = self._draws.choice(_SUBJECTS), self._draws.randrange(10**9)
        text = f'{subject}: {observations} observations.\nSee the "read me".'
        return {"descriptionValue": text, "descriptionType": self.pick("DescriptionType")}

    def _rights(self) -> JSON:
        name, identifier = self._draws.choice(_LICENCES)
        return {
            "rightsHolder": [f"University of {self._draws.choice(_PLACES)}"],
            "licence": [
                {"licenceName": name, "licenceIdentifier": identifier, "licenseStartDate": self.date()}
            ],
            "access": [{"accessType": self.pick("AccessType")}],
        }

    def _identifier(self, scheme: str) -> JSON:
        return {"identifierValue": f"10.5072/{self._draws.randrange(10**9)}", "identifierType": scheme}

    def _coverage(self) -> JSON:
        point = {
            "latitude": round(self._draws.uniform(49.9, 60.9), 6),
            "longitude": round(self._draws.uniform(-8.6, 1.8), 6),
        }
        place = {"geolocationPlace": self._draws.choice(_PLACES), "geolocationPoint": point}
        return {"geospatialCoverage": [place | {"coordinateReferenceSystem": "WGS 84"}]}

    def _file(self) -> JSON:
        file_uuid = self.uuid()
        name = (
            f"{self._draws.choice(_KEYWORDS)}-{self._draws.randrange(1000)}.{self._draws.choice(_EXTENSIONS)}"
        )
        return {
            "fileUUID": file_uuid,
            "fileIdentifier": f"file-{file_uuid[:8]}",
            "fileName": name,
            "fileSize": self._draws.randrange(10**10),
            "fileChecksum": [
                {
                    "checksumUUID": self.uuid(),
                    "checksumType": "md5",
                    "checksumValue": f"{self._draws.getrandbits(128):032x}",
                }
            ],
            "fileCompositionLevel": "0",
            "fileDateModified": [self.date()],
            "fileHasMimeType": True,
            "fileUse": self.pick("FileUse"),
            "fileUploadStatus": self.pick("UploadStatus"),
            "fileStorageStatus": self.pick("StorageStatus"),
            "fileStorageLocation": f"https://files.example/{file_uuid}",
            "fileStoragePlatform": {
                "storagePlatformUUID": self.uuid(),
                "storagePlatformName": "Object store",
                "storagePlatformType": self.pick("StorageType"),
                "storagePlatformCost": "£0.02 per GB and month",
            },
        }
