"""What is personal in RDSS messages: persons, addresses and free text, as ``definitions`` mark them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Final

from schemas.personal import NOWHERE, BodyForm, MarkedPlace, MarkedSchemas
from schemas.rdss.asyncapi_document import write_document
from schemas.rdss.peek import peek

_UNKNOWN: Final = BodyForm(NOWHERE, NOWHERE)


class RdssPersonal:
    """See ``schemas.personal.Personal``."""

    marked: Final = True

    @cached_property
    def places(self) -> Mapping[str, MarkedPlace]:
        """By the messageType."""
        components = write_document()["components"]
        schemas = MarkedSchemas({"components": components})
        return {
            kind: schemas.place([message["payload"]["schema"]])
            for kind, message in components["messages"].items()
        }

    def form(self, raw: bytes, key: str = "", /) -> BodyForm:
        place = self.places.get(peek(raw, key).message_type or "")
        return _UNKNOWN if place is None else BodyForm(place, NOWHERE)
