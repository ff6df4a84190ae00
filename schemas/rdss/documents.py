"""A text in a user's file as a message: a whole one, or a single header or body as in the specification."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import msgspec

from schemas.contract import Verdict
from schemas.json_texts import is_json
from schemas.rdss.catalogue import terms
from schemas.rdss.envelope import serialise
from schemas.rdss.samples import Samples
from schemas.rdss.validation import judge_message
from schemas.rdss.verdicts import judge_unsent

Kind = Literal["message", "header", "body"]

_decode = msgspec.json.Decoder().decode


def kind_of(value: object) -> Kind:
    """The kind of a decoded text: a message has ``messageHeader`` or ``messageBody``.

    A header or body alone is recognised by its characteristic fields.
    """
    if not isinstance(value, dict) or {"messageHeader", "messageBody"} & value.keys():
        return "message"
    if {"messageId", "messageType"} & value.keys():
        return "header"
    return "body" if {"objectUUID", "packageUUID", "objectTitle"} & value.keys() else "message"


_JSON_TYPES = {
    list: "an array",
    str: "a string",
    int: "a number",
    float: "a number",
    bool: "true or false",
    type(None): "null",
}


class RdssDocuments:
    """See ``schemas.contract.Documents``; ``as_published`` is said in ``schemas.rdss.validation``."""

    def __init__(self, *, as_published: bool = False) -> None:
        self._as_published = as_published

    def explain(self, raw: bytes) -> str | None:
        """The reason why the text is not a message, header or body; None when it is one.

        Any object with ``messageHeader`` or ``messageBody`` is a message, even an invalid one: the
        specification has error codes for its faults.
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

    def judge(self, raw: bytes, *, now: float | None = None) -> Verdict:
        """Validate the text by its kind; a header or body alone is completed by a valid counterpart first."""
        value: Any = _decode(raw) if is_json(raw) else None
        judge = partial(judge_message, as_published=self._as_published)
        match kind_of(value):
            case "header":
                message = {"messageHeader": value, "messageBody": body_for(value, Samples(1))}
                return _within("/messageHeader", judge(message, now=now))
            case "body":
                message = {"messageHeader": header_for(value, Samples(1)), "messageBody": value}
                return _within("/messageBody", judge(message))
        return judge_unsent(raw, now=now, as_published=self._as_published)

    def complete(self, raw: bytes, *, seed: int, now: float) -> bytes:
        """Complete a single header or body with a new counterpart."""
        value: Any = _decode(raw) if is_json(raw) else None
        match kind_of(value):
            case "header":
                return _join(raw, serialise(body_for(value, Samples(seed, now=now))))
            case "body":
                return _join(serialise(header_for(value, Samples(seed, now=now))), raw)
        return raw


def _join(header: bytes, body: bytes) -> bytes:
    return b'{"messageHeader":%b,"messageBody":%b}' % (header, body)


def _within(prefix: str, verdict: Verdict) -> Verdict:
    """The verdict with paths that start at the header or body."""
    inside = tuple(v._replace(path=v.path.removeprefix(prefix)) for v in verdict.violations)
    return verdict._replace(violations=inside)


def body_for(header: dict[str, Any], samples: Samples) -> Any:
    """Make a body that is valid with this header; its form follows from the messageType."""
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
    """Make a header that is valid with this body; its messageType is guessed from the body's fields."""
    if "packageUUID" in body:
        return samples.message("PreservationEvent")["messageHeader"]
    kind = "MetadataDelete" if body.keys() == {"objectUUID"} else "MetadataCreate"
    return samples.message(kind)["messageHeader"]
