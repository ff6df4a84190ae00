"""Verdicts of the published schemas that hold without them: digests over changes to instances of ours.

``python -m tests.schemas.rdss.verdict_digests`` writes the file anew, where the published schemas are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any, Final

import msgspec

from schemas.rdss.catalogue import terms
from schemas.rdss.samples import Samples
from tests.schemas.rdss.conftest import PUBLISHED, PublishedSchemas
from tests.schemas.rdss.published_cases import PROJECT, WHOLE_MESSAGES, changes, our_name, parts_of

FILE: Final = Path(__file__).with_name("verdict_digests.json")
_SEEDS: Final = 12


class Verdicts(msgspec.Struct, frozen=True):
    """The verdicts on an ``instance`` of a definition and every small change to it.

    ``digest`` is the SHA-256 of a 0 or 1 for each of the ``cases``, the instance first.
    """

    instance: Any
    cases: int
    valid: int
    digest: str


def read_verdicts() -> dict[str, Verdicts]:
    """What is known of each definition, by its full name."""
    return msgspec.json.decode(FILE.read_bytes(), type=dict[str, Verdicts])


def judge_changes(instance: Any, is_valid: Callable[[Any], bool]) -> Verdicts:
    """Judge an instance and every small change to it."""
    bits = [is_valid(each) for each in (instance, *changes(instance))]
    return Verdicts(instance, len(bits), sum(bits), sha256(bytes(bits)).hexdigest())


def find_instances(published: PublishedSchemas) -> dict[str, Any]:
    """The richest instance of ours of each definition, of those that the published schemas take."""
    files = {our_name(file, name): (file, name) for file, name in published.names()}
    found: dict[str, list[Any]] = {}
    for full, instance in (*_make_parts(), *_make_objects()):
        if full in files and published.is_valid(*files[full], instance):
            found.setdefault(full, []).append(instance)
    return {full: max(each, key=lambda one: len(msgspec.json.encode(one))) for full, each in found.items()}


def _make_parts() -> Iterator[tuple[str, Any]]:
    yield from parts_of("projects.Project", PROJECT)
    for seed in range(_SEEDS):
        samples = Samples(seed)
        messages = [samples.message(type_) for type_ in terms("MessageType")]
        messages += [samples.message("MetadataRead", kind) for kind in terms("ResourceType")[:2]]
        messages += [samples.message("MetadataCreate", kind) for kind in terms("ResourceType")]
        for message, full in product(messages, WHOLE_MESSAGES):
            yield from parts_of(full, message)


def _make_objects() -> Iterator[tuple[str, Any]]:
    """Objects of the kinds that have fields of their own, with all of these."""
    yield from parts_of("objects.Article", _make_body("article") | _OF_ARTICLES)
    yield from parts_of("objects.Dataset", _make_body("dataset") | _OF_DATASETS)
    awarded = {"dateType": "awarded", "dateValue": "2018-01-01T00:00:00Z"}
    institution = _UNIT["organisation"]
    roles = [{"organisation": institution, "role": "awardingInstitution"}]
    thesis = _OF_THESES | {"objectDate": [awarded], "objectOrganisationRole": roles}
    yield from parts_of("objects.ThesisDissertation", _make_body("thesisDissertation") | thesis)
    yield "characteristics.AwardedDate", awarded
    yield "parties.AwardingInstitution", roles[0]
    yield "parties.OrganisationUnit", _UNIT


def _make_body(kind: str) -> dict[str, Any]:
    body: dict[str, Any] = Samples(1).message("MetadataCreate", kind)["messageBody"]
    return body | {"language": ["en"]}


_OF_DATASETS: Final = {
    "version": "1.0.0",
    "coverage": {
        "geospatialCoverage": [
            {
                "geolocationPlace": "the reef",
                "geolocationPoint": {"latitude": 1.5, "longitude": 2},
                "geolocationPolygon": [{"latitude": 0, "longitude": 0}],
                "coordinateReferenceSystem": "WGS 84",
            }
        ],
        "temporalCoverageStart": "2018-01-01T00:00:00Z",
        "temporalCoverageEnd": "2019-01-01T00:00:00Z",
    },
}
_OF_ARTICLES: Final = {
    "publicationVersion": "VoR",
    "articleProcessingCharge": "paid",
    "freeToRead": {"startDate": "2018-01-01T00:00:00Z", "endDate": "2019-01-01T00:00:00Z"},
    "journal": {
        "ISSN": "2049-3630",
        "fullTitle": "Reefs",
        "journalVolume": "1",
        "journalIssue": "2",
        "firstPage": "3",
        "lastPage": "4",
    },
}
_OF_THESES: Final = {
    "qualificationName": "PhD",
    "qualificationLevel": "doctoral",
}
_UNIT: Final[dict[str, Any]] = {
    "organisationUnitUUID": "5680e8e0-28a5-4b20-948e-fd0d08781e0b",
    "organisationUnitName": "Biology",
    "organisation": {"organisationJiscId": 1, "organisationName": "F"},
}


def write_digests() -> None:
    """Judge by the published schemas, and keep what they say."""
    schemas = PublishedSchemas(PUBLISHED, formats=True)
    files = {our_name(file, name): (file, name) for file, name in schemas.names()}
    known = {
        full: judge_changes(instance, partial(schemas.is_valid, *files[full]))
        for full, instance in sorted(find_instances(schemas).items())
    }
    FILE.write_bytes(msgspec.json.format(msgspec.json.encode(known), indent=1) + b"\n")


if __name__ == "__main__":
    write_digests()
