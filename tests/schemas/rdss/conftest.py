"""The published 4.0.0 schemas and examples, where a checkout of them lies beside the repository."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from schemas.rdss.formats import FORMATS, is_network_address
from schemas.rdss.samples import Samples

PUBLISHED = Path(__file__).parents[4] / "shared" / "reference" / "rdss-4.0.0"
_ADDRESSES = ("hostname", "ipv4", "ipv6")
BASE = "https://www.jisc.ac.uk/rdss/schema/"


class PublishedSchemas:
    """The published definitions; addressed as ``file.json`` and name.

    Their formats are those of ours, and an address is any that the text allows; without ``formats``, the
    files are as they are.
    """

    def __init__(self, folder: Path, *, formats: bool) -> None:
        self._formats = formats
        self.documents: dict[str, dict[str, Any]] = {
            str(file.relative_to(folder / "schemas")): json.loads(file.read_text())
            for file in sorted((folder / "schemas").rglob("*.json"))
        }
        # Collection.collectionObject refers to a definition that 4.0.0 renamed, so nothing compiles it.
        research = self.documents["research_object.json"]["definitions"]
        research["Object"] = {"$ref": "#/definitions/ResearchObject"}
        self._registry = jsonschema_rs.Registry(
            [(f"{BASE}{name}/", document) for name, document in self.documents.items()],
            draft=jsonschema_rs.Draft6,
        )
        self._compiled: dict[tuple[str, str], jsonschema_rs.Draft6Validator] = {}

    def names(self) -> list[tuple[str, str]]:
        """Every definition but the one that is only there to mend the dangling reference."""
        return [
            (file, name)
            for file, document in self.documents.items()
            for name in document["definitions"]
            if (file, name) != ("research_object.json", "Object")
        ]

    def is_valid(self, file: str, name: str, instance: object) -> bool:
        if (file, name) not in self._compiled:
            self._compiled[file, name] = jsonschema_rs.Draft6Validator(
                {"$ref": f"{BASE}{file}/#/definitions/{name}"},
                registry=self._registry,
                formats={**FORMATS, **dict.fromkeys(_ADDRESSES, is_network_address)},
                validate_formats=self._formats,
                ignore_unknown_formats=False,
            )
        return self._compiled[file, name].is_valid(instance)


@pytest.fixture(scope="session")
def published_folder() -> Path:
    if not PUBLISHED.is_dir():
        pytest.skip(f"the published schemas are not there: {PUBLISHED}")
    return PUBLISHED


@pytest.fixture(scope="session")
def published(published_folder: Path) -> PublishedSchemas:
    return PublishedSchemas(published_folder, formats=True)


@pytest.fixture(scope="session")
def published_as_they_are(published_folder: Path) -> PublishedSchemas:
    return PublishedSchemas(published_folder, formats=False)


@pytest.fixture(scope="session")
def example(published_folder: Path) -> bytes:
    """The published example of a whole message."""
    return (published_folder / "messages" / "example_message.json").read_bytes()


@pytest.fixture
def samples() -> Samples:
    return Samples(7)


@pytest.fixture
def message(samples: Samples) -> dict[str, Any]:
    """A valid MetadataCreate with a dataset."""
    return samples.message("MetadataCreate", "dataset")
