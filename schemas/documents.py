"""Messages in files as people have them: whole, one a line, or the published header or body of one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

import msgspec

from schemas.catalogue import terms
from schemas.samples import Samples
from schemas.validation import Verdict, judge, judge_message

Kind = Literal["message", "header", "body"]

_decode = msgspec.json.Decoder().decode


@dataclass(frozen=True, slots=True)
class Document:
    """One JSON text and where it was found: ``line`` counts from 1 where there is one a line, else None."""

    source: str
    line: int | None
    raw: bytes

    @property
    def place(self) -> str:
        return self.source if self.line is None else f"{self.source}:{self.line}"


def documents(source: str, lines: Iterable[bytes]) -> Iterator[Document]:
    """What the lines of a file hold: one a line when the first is JSON by itself, else one in all of them.

    A file that is neither is taken line by line where any of its lines is JSON, else as one malformed text.
    """
    numbered = ((number, line) for number, line in enumerate(lines, 1) if line.strip())
    first = next(numbered, (1, b""))
    if is_json(first[1]):
        following = next(numbered, None)
        if following is None:
            yield Document(source, None, first[1].strip())
        else:
            yield from _each(source, chain((first, following), numbered))
        return
    rest = [first, *numbered]
    whole = b"".join(line for _, line in rest).strip()
    if is_json(whole) or not any(is_json(line) for _, line in rest):
        yield Document(source, None, whole)
    else:
        yield from _each(source, rest)


def kind_of(value: object) -> Kind:
    """What a decoded text is: a message has header or body inside, either alone its own telling fields."""
    if not isinstance(value, dict) or {"messageHeader", "messageBody"} & value.keys():
        return "message"
    if {"messageId", "messageType"} & value.keys():
        return "header"
    return "body" if {"objectUUID", "packageUUID", "objectTitle"} & value.keys() else "message"


def why_no_message(raw: bytes) -> str | None:
    """Why the text is neither a message nor the header or body of one; None when it is.

    A message is an object with ``messageHeader`` or ``messageBody``, whatever else is wrong with it: what the
    specification gives an error code is a message still.
    """
    try:
        value = _decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return f"is not JSON ({error})" if raw else "is empty"
    if not isinstance(value, dict):
        return f"is {_JSON_TYPES[type(value)]} and not a message, which is an object with a messageHeader"
    if {"messageHeader", "messageBody"} & value.keys() or kind_of(value) != "message":
        return None
    return "is an object without messageHeader and messageBody, and so not a message"


_JSON_TYPES = {
    list: "an array",
    str: "a string",
    int: "a number",
    float: "a number",
    bool: "true or false",
    type(None): "null",
}


def judge_document(raw: bytes, *, now: float | None = None, as_published: bool = False) -> Verdict:
    """The verdict on what the text is; a header or body alone is judged beside a valid counterpart."""
    value: Any = _decode(raw) if is_json(raw) else None
    match kind_of(value):
        case "header":
            message = {"messageHeader": value, "messageBody": body_for(value, Samples(1))}
            return _within("/messageHeader", judge_message(message, now=now, as_published=as_published))
        case "body":
            message = {"messageHeader": header_for(value, Samples(1)), "messageBody": value}
            return _within("/messageBody", judge_message(message, as_published=as_published))
    return judge(raw, now=now, as_published=as_published)


def _each(source: str, lines: Iterable[tuple[int, bytes]]) -> Iterator[Document]:
    for number, line in lines:
        yield Document(source, number, line.strip())


def _within(prefix: str, verdict: Verdict) -> Verdict:
    """The verdict with paths from the part that was judged."""
    inside = tuple(v._replace(path=v.path.removeprefix(prefix)) for v in verdict.violations)
    return verdict._replace(violations=inside)


def body_for(header: dict[str, Any], samples: Samples) -> Any:
    """A body that is valid beside a header: of the form that its messageType demands."""
    sequence = header.get("messageSequence")
    if isinstance(sequence, dict) and isinstance(total := sequence.get("total"), int) and total > 1:
        return "a part of a body"
    kind = header.get("messageType")
    if kind == "MetadataRead":
        answer = header.get("messageClass") == "Document"
        message = samples.message("MetadataCreate" if answer else "MetadataDelete")
    else:
        message = samples.message(kind if kind in terms("MessageType") else "MetadataDelete")
    return message["messageBody"]


def header_for(body: dict[str, Any], samples: Samples) -> Any:
    """A header that is valid beside a body, of the messageType that it looks like."""
    if "packageUUID" in body:
        return samples.message("PreservationEvent")["messageHeader"]
    kind = "MetadataDelete" if body.keys() == {"objectUUID"} else "MetadataCreate"
    return samples.message(kind)["messageHeader"]


def is_json(text: bytes) -> bool:
    """Whether the text is JSON in UTF-8."""
    try:
        _decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True
