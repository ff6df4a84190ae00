"""A mapping is configuration: what it can say, and what it says when it is wrong."""

from __future__ import annotations

import json
import uuid
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from sandbox.adaptor.example.small_repository import sample_deposits
from sandbox.adaptor.mapping_file import MappingError, as_mapping, read_mapping
from sandbox.template import NOTHING, TemplateError, TemplateScope, fill

ITEM = {
    "id": 7,
    "name": "Reef",
    "empty": "",
    "none": None,
    "open": True,
    "when": "2026-02-03",
    "people": [{"name": "Ada"}, {"name": "José"}],
}
PEOPLE = [{"n": "Ada", "of": 7}, {"n": "José", "of": 7}]
MINIMAL = {
    "application": "test",
    "tenantJiscID": 1,
    "source": {"changes": "/items", "items": "$.items", "id": "$.id", "modified": "$.modified"},
    "object": {"objectTitle": "$.name"},
}


def _filled(template: Any) -> Any:
    return fill(template, TemplateScope(ITEM, ITEM, uuid.NAMESPACE_URL))


@pytest.mark.parametrize(
    ("template", "made"),
    [
        ("$.name", "Reef"),
        ("as it is", "as it is"),
        ("$.people.1.name", "José"),
        ("$.people.7.name", NOTHING),
        ("$.none", NOTHING),
        ({"a": "$.empty", "b": {"c": "$.none"}}, NOTHING),
        ({"a": "$.empty", "b": 3}, {"b": 3}),
        ({"$first": ["$.empty", "$.name"]}, "Reef"),
        ({"$each": "$.people", "$make": {"n": "$.name", "of": "$$.id"}}, PEOPLE),
        ({"$each": "$.nobody", "$make": "$.name"}, NOTHING),
        ({"$when": "$.none", "$make": "x"}, NOTHING),
        ({"$when": "$.id", "$make": "x"}, "x"),
        ({"$term": "$.open", "$of": {"true": "open", "false": "closed"}}, "open"),
        ({"$term": "$.name", "$of": {"a": "b"}, "$else": "other"}, "other"),
        ({"$time": "$.when"}, "2026-02-03T00:00:00.000Z"),
        ({"$text": ["no ", "$.id"]}, "no 7"),
        ({"$list": ["$.none", "$.name"]}, ["Reef"]),
    ],
)  # fmt: skip
def test_what_a_template_makes(template: Any, made: Any) -> None:
    """Each operation gives what its line in the documentation says; what is not there is left out."""
    assert _filled(template) == made


def test_a_uuid_is_the_same_for_the_same_values() -> None:
    """The same person has the same UUID in every object, another person another."""
    first, again, other = (_filled({"$uuid": ["person", path]}) for path in ("$.name", "Reef", "$.id"))
    assert first == again != other
    assert uuid.UUID(first).version == 5


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ({"$term": "$.name", "$of": {"a": "b"}}, "'Reef'; the mapping knows a"),
        ({"$time": "$.name"}, "'Reef', which is not a time"),
        ({"$each": "$.name", "$make": "x"}, "'Reef', which is not a list"),
    ],
)
def test_an_item_that_does_not_fit_says_where(template: Any, said: str) -> None:
    """The path and what was found there."""
    with pytest.raises(TemplateError, match=said):
        _filled(template)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"tenantJiscID": "1539"}, r"\$.tenantJiscID: '1539' is not of type 'integer'"),
        ({"objects": {}}, "Additional properties are not allowed"),
        ({"object": {"objectUUID": "$.id"}}, "objectUUID"),
        ({"object": {"a": {"$ech": "$.x"}}}, r"\$\.object"),
        ({"object": {"a": "$name"}}, r"\$\.object"),
        ({"source": {"changes": "/"}}, "is a required property"),
    ],
)
def test_a_wrong_mapping_is_refused_with_the_place(change: dict[str, Any], said: str) -> None:
    """The file, the place in it and what is wrong, before anything is asked or sent."""
    with pytest.raises(MappingError, match=f"mine: .*{said}"):
        as_mapping(MINIMAL | change, "mine")


def test_the_same_mapping_in_toml(tmp_path: Path) -> None:
    """YAML and TOML say the same."""
    toml = tmp_path / "mapping.toml"
    toml.write_text(
        'application = "test"\ntenantJiscID = 1\n[source]\nchanges = "/items"\nitems = "$.items"\n'
        'id = "$.id"\nmodified = "$.modified"\n[object]\nobjectTitle = "$.name"\n',
        encoding="utf-8",
    )
    yaml = tmp_path / "mapping.yaml"
    yaml.write_text(json.dumps(MINIMAL), encoding="utf-8")
    assert read_mapping(toml) == read_mapping(yaml)


@pytest.mark.parametrize(("name", "text"), [("a.yaml", "a: [b"), ("a.toml", "a ="), ("a.yaml", None)])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str, text: str | None) -> None:
    """One line with the file's name, whether it is broken or not there."""
    path = tmp_path / name
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(MappingError, match=f"{name} cannot be read"):
        read_mapping(path)


def test_the_example_maps_each_of_its_deposits() -> None:
    """The worked example knows everything that its application holds."""
    mapping = read_mapping(Path(str(files("sandbox.adaptor.example") / "mapping.yaml")))
    for deposit in sample_deposits():
        assert mapping.object(deposit)["objectTitle"] == deposit["title"]
