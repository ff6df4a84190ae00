"""What the schemas of a document mark as personal, by the message."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Final

from schemas.asyncapi import avro
from schemas.asyncapi.declarations import Declared, Message
from schemas.contract import Peek
from schemas.personal import NOWHERE, BodyForm, MarkedPlace, MarkedSchemas, is_marked_anywhere

_DEFINED: Final = ("$schema", "$defs")


class DeclaredPersonal:
    """See ``schemas.personal.Personal``."""

    def __init__(self, declared: Declared, peek: Callable[[bytes, str], Peek]) -> None:
        self._peek = peek
        self._declared = declared
        self.marked: Final = any(
            is_marked_anywhere(schema)
            for each in declared.messages
            for schema in (each.payload, each.headers)
        )

    @cached_property
    def _forms(self) -> Mapping[str, BodyForm | None]:
        """By what messages say of their type."""
        forms: dict[str, BodyForm | None] = {}
        for message in self._declared.messages:
            form = _make_form(message)
            forms |= dict.fromkeys(message.values or (message.name,), form)
        return forms

    def form(self, raw: bytes, key: str = "", /) -> BodyForm | None:
        kind = self._peek(raw, key).message_type or ""
        if kind in self._forms:
            return self._forms[kind]
        sole = next(iter(self._forms.values())) if len(self._declared.messages) == 1 else None
        return sole or BodyForm(NOWHERE, NOWHERE)


def _make_form(message: Message) -> BodyForm | None:
    if message.content == "opaque":
        return None
    headers = _place(message.headers)
    if message.content == "json":
        return BodyForm(_place(message.payload), headers)
    if message.content == "text":
        return BodyForm(_place(message.payload), headers, bytes.decode, str.encode)
    as_json = message.content == "avro-json"
    return BodyForm(
        _place(avro.as_json_schema(message.payload)),
        headers,
        avro.make_decoder(message.payload, as_json=as_json),
        avro.make_encoder(message.payload, as_json=as_json),
    )


def _place(schema: Any) -> MarkedPlace:
    if not isinstance(schema, dict):
        return NOWHERE
    shared = {name: schema[name] for name in _DEFINED if name in schema}
    own = {name: value for name, value in schema.items() if name not in _DEFINED}
    return MarkedSchemas(shared).place([own])
