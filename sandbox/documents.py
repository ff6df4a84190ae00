"""Messages in files as people have them: whole, one a line, or the published header or body of one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any, Literal

import msgspec

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


def judge_document(raw: bytes, *, now: float | None = None, strict: bool = False) -> Verdict:
    """The verdict on what the text is; a header or body alone is judged beside a valid counterpart."""
    value = _decode(raw) if is_json(raw) else None
    match kind_of(value):
        case "header":
            message = {"messageHeader": value, "messageBody": _body_for(value)}
            return _within("/messageHeader", judge_message(message, now=now, strict=strict))
        case "body":
            message = {"messageHeader": _header_for(value), "messageBody": value}
            return _within("/messageBody", judge_message(message, strict=strict))
    return judge(raw, now=now, strict=strict)


def _each(source: str, lines: Iterable[tuple[int, bytes]]) -> Iterator[Document]:
    for number, line in lines:
        yield Document(source, number, line.strip())


def _within(prefix: str, verdict: Verdict) -> Verdict:
    """The verdict with paths from the part that was judged."""
    inside = tuple(v._replace(path=v.path.removeprefix(prefix)) for v in verdict.violations)
    return verdict._replace(violations=inside)


def _body_for(header: Any) -> Any:
    sequence = header.get("messageSequence")
    if isinstance(sequence, dict) and isinstance(total := sequence.get("total"), int) and total > 1:
        return "a part of a body"
    answers = header.get("messageType") == "MetadataRead" and header.get("messageClass") == "Document"
    return _sample(header.get("messageType"), "dataset" if answers else None)["messageBody"]


def _header_for(body: Any) -> Any:
    if "packageUUID" in body:
        return _sample("PreservationEvent", None)["messageHeader"]
    kind = "MetadataDelete" if body.keys() == {"objectUUID"} else "MetadataCreate"
    return _sample(kind, None)["messageHeader"]


@cache
def _sample(message_type: object, resource_type: str | None) -> dict[str, Any]:
    try:
        return Samples(1).message(str(message_type), resource_type)
    except ValueError:
        return Samples(1).message("MetadataDelete")


def is_json(text: bytes) -> bool:
    """Whether the text is JSON in UTF-8."""
    try:
        _decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True
