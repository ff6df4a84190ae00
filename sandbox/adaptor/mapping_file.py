"""Mapping files in YAML or TOML: the address of an application's items and the template of their objects."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from rdss_sandbox.text.toml_text import read_toml
from sandbox.template import NOTHING, TemplateScope, fill, resolve

JSON = dict[str, Any]
Watermark = str | int | float
_NAMESPACE: Final = uuid.UUID("5e0c5a68-9b3d-5f51-8a44-0e0f6f0a7d11")


class MappingError(ValueError):
    """A wrong mapping file; the message has the place in it, the value, and what is allowed."""


@dataclass(frozen=True, slots=True)
class ItemSource:
    """The paths of the items in the application's HTTP API; see ``mapping.schema.json``."""

    changes: str
    items: str
    id: str
    modified: str
    start: Watermark
    next: str | None
    headers: dict[str, str]


@dataclass(frozen=True, slots=True)
class MappingFile:
    """A valid mapping file."""

    application: str
    tenant: int
    place: ItemSource
    hidden: tuple[tuple[str, tuple[Any, ...]], ...]
    template: JSON

    def is_hidden(self, item: JSON) -> bool:
        """Whether the application hides the item."""
        return any(resolve(path, item) in values for path, values in self.hidden)

    def object(self, item: JSON) -> JSON:
        """Build the digital object of an item, without its objectUUID. Raises ``TemplateError``."""
        namespace = uuid.uuid5(_NAMESPACE, f"{self.application} {self.tenant}")
        filled = fill(self.template, TemplateScope(item, item, namespace))
        return {} if filled is NOTHING else filled


def read_mapping(path: Path) -> MappingFile:
    """Read a mapping file. Raises ``MappingError``."""
    try:
        written = _parse(path, path.read_text(encoding="utf-8"))
    except OSError as error:
        raise MappingError(f"{path} cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise MappingError(f"{path} cannot be read: {' '.join(str(error).split())}") from error
    return as_mapping(written, str(path))


def as_mapping(written: Any, name: str) -> MappingFile:
    """Build a mapping from its decoded file; ``name`` is its name in errors. Raises ``MappingError``."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    error = best_match(Draft202012Validator(mapping_schema()).iter_errors(written))
    if error is not None:
        raise MappingError(f"{name}: {error.json_path}: {error.message}")
    source = written["source"]
    place = ItemSource(
        source["changes"],
        source["items"],
        source["id"],
        source["modified"],
        source.get("start", ""),
        source.get("next"),
        source.get("headers", {}),
    )
    hidden = tuple((each["path"], tuple(each["in"])) for each in written.get("hidden", ()))
    return MappingFile(written["application"], written["tenantJiscID"], place, hidden, written["object"])


def _parse(path: Path, text: str) -> Any:
    if path.suffix == ".toml":
        return read_toml(text)
    import yaml

    from schemas.plain_yaml import load

    try:
        return load(text)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


@cache
def mapping_schema() -> JSON:
    """The JSON Schema of mapping files."""
    text = (files("sandbox.adaptor") / "mapping.schema.json").read_text(encoding="utf-8")
    schema: JSON = json.loads(text)
    return schema
