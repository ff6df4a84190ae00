"""A text of a message and its headers that a fault changed becomes the content of a publish again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from emulator.amqp.message_headers import change_content, write_text
from emulator.amqp.wire.field_tables import Field, Table
from emulator.amqp.wire.properties import Properties
from schemas.asyncapi.contract import AsyncApiContract
from tests.schemas.asyncapi.documents import load_text

_DOCUMENT = """
asyncapi: 3.0.0
info: {title: calls, version: 1.0.0}
channels:
  calls:
    bindings: {amqp: {is: queue, queue: {name: calls}}}
    messages:
      call:
        headers: {type: object, properties: {correlation_id: {type: string}, type: {type: string}, n: {}}}
        payload: {type: object}
"""


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> AsyncApiContract:
    """A document that names two properties of AMQP, and a header."""
    return load_text(tmp_path_factory.mktemp("calls"), _DOCUMENT)


def _write(correlation: str, table: Table) -> bytes:
    properties = Properties()
    properties.set_text("correlation_id", correlation)
    properties.set_text("app_id", "a client")
    properties.set_headers(table)
    return properties.encode()


def _change(calls: AsyncApiContract, properties: bytes, **headers: Any) -> Properties:
    """Change headers of a message, and remove those that are None."""
    text = json.loads(write_text(calls, b"{}", properties))
    changed = {**text["x-sandbox-headers"], **headers}
    text["x-sandbox-headers"] = {name: value for name, value in changed.items() if value is not None}
    body, encoded = change_content(calls, json.dumps(text).encode(), properties)
    assert body == b"{}"
    found = Properties(encoded)
    assert found.text("app_id") == "a client"
    return found


@pytest.mark.parametrize(
    ("value", "as_property", "as_header"),
    [
        ("c-2", "c-2", None),
        (17, None, Field("I", 17)),
        ("c" * 300, None, Field("S", b"c" * 300)),
        (None,) * 3,
    ],
)
def test_a_property_is_changed_where_it_is(
    value: object, as_property: str | None, as_header: Field | None, calls: AsyncApiContract
) -> None:
    """What a property cannot hold is a header of its name, as publishers write it."""
    found = _change(calls, _write("c-1", {}), correlation_id=value)
    assert found.text("correlation_id") == as_property
    assert found.headers().get("correlation_id") == as_header


def test_a_header_is_changed_where_it_is(calls: AsyncApiContract) -> None:
    """In the table, though a property has its name; what the change left alone keeps its type."""
    table = {"n": Field("b", 1), "partition-key": Field("S", b"k"), "type": Field("S", b"a")}
    found = _change(calls, _write("c", table), type="b", n=1)
    assert found.headers() == {**table, "type": Field("S", b"b")}
    assert found.text("type") is None


@pytest.mark.parametrize("value", [1 << 70, {"": None}, {"n" * 300: 1}])
def test_what_amqp_cannot_write_leaves_headers_as_they_were(value: object, calls: AsyncApiContract) -> None:
    """A number that is too large, a null, and a name that is too long."""
    properties = _write("c", {"n": Field("S", b"1")})
    assert _change(calls, properties, n=value).encode() == properties
