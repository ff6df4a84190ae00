"""Which digital objects a message publishes, under which objectUUID ("Digital Object Versioning").

An answer to a request publishes no version, and a part of a sequence has no body that can be read by itself.
"""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import Any, Final

import msgspec

from schemas.contract import Peek, PublishedObject
from schemas.rdss.versions import IS_PREVIOUS_VERSION_OF, named_versions

_UPDATE: Final = "MetadataUpdate"
_TYPES: Final = frozenset({"MetadataCreate", _UPDATE})


class RdssObjects:
    """The digital objects of MetadataCreate and MetadataUpdate."""

    def read(self, raw: bytes, peek: Peek, /) -> PublishedObject | None:
        if peek.message_type not in _TYPES or (peek.part is not None and peek.part.total > 1):
            return None
        message = msgspec.json.decode(raw)
        if message["messageHeader"].get("correlationId") is not None:
            return None
        body = message["messageBody"]
        named = named_versions(body)
        previous = frozenset(each.lower() for each in named.previous)
        linked = bool(previous or named.following)
        return PublishedObject(
            body["objectUUID"].lower(), peek.message_type == _UPDATE, previous, linked, _digest(body)
        )


def _digest(body: dict[str, Any]) -> bytes:
    """A digest of an object however it is written, and whatever was published after it."""
    related = [
        each
        for each in body.get("objectRelatedIdentifier", ())
        if each.get("relationType") != IS_PREVIOUS_VERSION_OF
    ]
    text = json.dumps({**body, "objectRelatedIdentifier": related}, sort_keys=True)
    return blake2b(text.encode(), digest_size=8).digest()
