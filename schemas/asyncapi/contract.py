"""A contract that an AsyncAPI document declares."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Final

from schemas.asyncapi.around import DeclaredHeaders, find_header_names, read_headers
from schemas.asyncapi.declarations import Channel, Declared, Location
from schemas.asyncapi.decoration import decorate, redrive, undecorate
from schemas.asyncapi.fields import list_labels, list_mixed, make_fields
from schemas.asyncapi.message_payloads import Payload
from schemas.asyncapi.peek import Looker
from schemas.asyncapi.verdicts import DeclaredJudge
from schemas.contract import Changes, Code, Content, Failures, Judge, Peek, Samples
from schemas.personal import Personal


class AsyncApiContract:
    """See ``schemas.contract.Contract``; ``channels`` are those of the document.

    Where the document does not declare what becomes of refused messages, the codes and their queues are ours.
    ``identified`` says whether every message has an id, not in a header where no channel carries any.
    """

    media_type: Final[str]
    envelope: Final = None
    stamp: Final = None
    sequences: Final = None
    versions: Final = None
    objects: Final = None
    documents: Final = None
    decorate = staticmethod(decorate)
    undecorate = staticmethod(undecorate)
    redrive = staticmethod(redrive)

    def __init__(self, declared: Declared, read_again: Callable[[Path], AsyncApiContract]) -> None:
        self._read_again = read_again
        self.declared: Final = declared
        self.name: Final = declared.name
        self.release: Final = declared.release
        self.channels: Final[tuple[Channel, ...]] = declared.channels
        self.max_bytes: Final = declared.max_bytes
        contents = {message.content_type for message in declared.messages}
        self.media_type = contents.pop() if len(contents) == 1 else "application/octet-stream"
        codes = declared.codes
        locations = list(declared.locations.values())
        names = find_header_names(declared)
        self.headers: Final = None if names is None else DeclaredHeaders(names)
        parts = ("payload",) if names is None else ("payload", "header")
        expires = any(each.expires and each.expires.part in parts for each in locations)
        self.codes: Final[Mapping[str, Code]] = {
            str(code): code for reason, code in codes.items() if expires or reason != "expired"
        }
        self.failures: Final = Failures(
            system=codes["failed"],
            rollback=codes["not-undone"],
            unsent=codes["unsent"],
            unknown=codes["unexplained"],
            misaddressed=codes["misaddressed"],
        )
        self.expired: Final[Code | None] = codes["expired"] if expires else None
        self.oversize: Final[Code] = codes["oversize"]
        self.rejects: Final = declared.reject is not None or any(each.reject for each in declared.channels)
        self.identified: Final = all(
            each.id and each.id.part in (*parts, "key", "bytes") for each in locations
        )
        self.kinds: Final = tuple(
            value for message in declared.messages for value in (message.values or (message.name,))
        )
        labels = list_labels(declared)
        mixed = list_mixed(declared, labels)
        self.fields: Final = make_fields(declared, self.kinds, labels, tuple(self.codes))
        self._payloads: Final = {message.name: Payload(message) for message in declared.messages}
        own = [field for field in self.fields if field.label]
        self.looker: Final = Looker(
            declared,
            self._payloads,
            {name: location for name, (location, _) in labels.items()},
            numbers={field.name for field in own if field.kind == "number"},
            plain={name for name, (_, schema) in labels.items() if schema["type"] != "boolean"} - mixed,
            later={field.name for field in own if not field.indexed},
        )
        self._sources: Final = any(each.source for each in locations)

    def __reduce__(self) -> tuple[Callable[[Path], AsyncApiContract], tuple[Path]]:
        """A contract is sent to another process as the place of its document."""
        return self._read_again, (self.declared.document,)

    @cached_property
    def without_headers(self) -> AsyncApiContract:
        if self.headers is None:
            return self
        channels = tuple(replace(each, amqp=None) for each in self.channels)
        return AsyncApiContract(replace(self.declared, channels=channels), self._read_again)

    @property
    def peek(self) -> Looker:
        return self.looker

    def identity(self, peek: Peek) -> str | None:
        part = peek.part
        if part is not None:
            return f"{part.sequence}/{part.position}"
        if self._sources and peek.message_id is not None:
            return f"{getattr(peek, 'source', None) or ''} {peek.message_id}"
        return peek.message_id

    def body(self, raw: bytes, /) -> bytes:
        return read_headers(raw).data

    @cached_property
    def by_digest(self) -> AsyncApiContract | None:
        if self.identified:
            return None
        digest = Location("bytes")
        locations = {
            name: replace(each, id=digest, source=None) for name, each in self.declared.locations.items()
        }
        return AsyncApiContract(replace(self.declared, locations=locations), self._read_again)

    @cached_property
    def judge(self) -> Judge:
        return DeclaredJudge(self.declared, self._payloads, self.looker)

    @cached_property
    def contents(self) -> Mapping[str, Content]:
        from schemas.asyncapi.contents import make_contents

        return make_contents(self._payloads, headers=self.headers is not None)

    @cached_property
    def personal(self) -> Personal:
        from schemas.asyncapi.declared_marks import DeclaredPersonal

        return DeclaredPersonal(self.declared, self.peek)

    @cached_property
    def samples(self) -> Samples | None:
        """None where no message can be made."""
        from schemas.asyncapi.samples import DeclaredSamples

        made = DeclaredSamples(self)
        return made if made.kinds else None

    @cached_property
    def changes(self) -> Changes:
        from schemas.asyncapi.changes import DeclaredChanges

        return DeclaredChanges(self)
