"""The violations of a message, field by field, with the error code of each."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from schemas.brief import show
from schemas.contract import MOST_FOUND, Violation
from schemas.message_timestamps import instant
from schemas.rdss import bodies
from schemas.rdss.catalogue import definition, reference, uuid_fields
from schemas.rdss.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from schemas.rdss.explanation import Flaw, Path

JSON = dict[str, Any]


Found = tuple[ErrorCode, Violation]
EXPIRED: Final = "expired"
"""The rule of the violation of a message whose time has passed."""


def violations(message: JSON, *, now: float | None, joined: bool, as_published: bool) -> Iterator[Found]:
    """Yield the violations of a refused message with their codes, those of the header first.

    Of each kind ``MOST_FOUND`` are looked for; the gravest code is among them.
    """
    yield from _of_message(message)
    header = message.get("messageHeader")
    if isinstance(header, dict):
        yield from _of_header(header, as_published=as_published)
        if expiry := expired(message, now):
            yield expiry
        if not as_published:
            yield from _beyond_the_schema(message)
    if "messageBody" in message and (joined or not bodies.is_part(message)):
        yield from _of_body(message, joined=joined, as_published=as_published)


def _of_message(message: JSON) -> Iterator[Found]:
    for name, code in (("messageHeader", ErrorCode.GENERR004), ("messageBody", ErrorCode.GENERR001)):
        if name not in message:
            yield code, Violation(f"/{name}", "required", "is required and missing")
    header = message.get("messageHeader", {})
    if not isinstance(header, dict):
        yield ErrorCode.GENERR004, Violation("/messageHeader", "type", f"{show(header)} is not an object")
    for name in message.keys() - {"messageHeader", "messageBody"}:
        path = pointer((name,))
        yield ErrorCode.GENERR001, Violation(path, "additionalProperties", "is not a field of this object")


def _of_header(header: JSON, *, as_published: bool) -> Iterator[Found]:
    for flaw in _flaws("header.Header", header, as_published=as_published):
        if flaw.is_uuid:
            code = ErrorCode.GENERR010
        elif flaw.path == ("messageType",) and flaw.rule == "enum":
            code = ErrorCode.GENERR002
        else:
            code = ErrorCode.GENERR004
        yield code, _violation("messageHeader", flaw)


def expired(message: JSON, now: float | None) -> Found | None:
    """The violation of a message that had expired at ``now``; None also without a readable expiry."""
    header = message.get("messageHeader")
    timings = header.get("messageTimings") if isinstance(header, dict) else None
    text = timings.get("expirationTimestamp") if isinstance(timings, dict) else None
    until = instant(text) if isinstance(text, str) else None
    if now is None or until is None or until >= now:
        return None
    path = "/messageHeader/messageTimings/expirationTimestamp"
    return ErrorCode.GENERR003, Violation(path, EXPIRED, f"{show(text)} has passed")


ERROR_CODES: Final = frozenset(str(code) for code in ErrorCode)


def _beyond_the_schema(message: JSON) -> Iterator[Found]:
    """Check rules that the published schemas lack: a position within the total, a known error code."""
    place, total = bodies.position_in_sequence(message), bodies.total(message)
    if not 1 <= place <= total:
        path = "/messageHeader/messageSequence/position"
        yield ErrorCode.GENERR004, Violation(path, "position", f"{place} is not within the total of {total}")
    if total > bodies.MOST_PARTS:
        path = "/messageHeader/messageSequence/total"
        yield (
            ErrorCode.GENERR004,
            Violation(path, "total", f"{total} is more than {bodies.MOST_PARTS:,} parts"),
        )
    code = message["messageHeader"].get("errorCode")
    if isinstance(code, str) and code and code not in ERROR_CODES:
        text = f"{show(code)} is none of the {len(ErrorCode)} error codes"
        yield ErrorCode.GENERR004, Violation("/messageHeader/errorCode", "errorCode", text)


def _of_body(message: JSON, *, joined: bool, as_published: bool) -> Iterator[Found]:
    body = message["messageBody"]
    if not as_published and not joined and bodies.total(message) > 1:
        text = f"{show(body)} is not the text of a part of a sequence"
        yield ErrorCode.GENERR001, Violation("/messageBody", "part", text)
        return
    named = bodies.body_definition(message)
    found = _fewest_flaws(named, body, as_published=as_published) if named else []
    paths = {flaw.path for flaw in found if flaw.is_uuid}
    for flaw in found:
        yield ErrorCode.GENERR010 if flaw.is_uuid else ErrorCode.GENERR001, _violation("messageBody", flaw)
    # Looked for by themselves: their code is graver, and has to be found behind any number of other flaws.
    for path, value in islice(_wrong_uuids(body), MOST_FOUND):
        if path not in paths:
            text = f"{show(value)} is not a UUID in lower case of version 1 to 5"
            yield ErrorCode.GENERR010, Violation(pointer(("messageBody", *path)), "pattern", text)


def _fewest_flaws(named: str, body: object, *, as_published: bool) -> list[Flaw]:
    """The flaws under the body's own definition; as published, under the definition with fewer flaws."""
    own = _flaws(named, body, as_published=as_published)
    if not as_published or named not in bodies.KINDS.values():
        return own
    return min(own, _flaws(bodies.ANY_OBJECT, body, as_published=True), key=len)


_UUID: Final = re.compile(definition(reference("primitives.UUID"))["pattern"].strip("^$"))


def _wrong_uuids(body: object) -> Iterator[tuple[Path, object]]:
    """Yield every value in a UUID field that is not a UUID, also inside of unknown fields."""
    fields = uuid_fields()
    waiting: list[tuple[Path, object]] = [((), body)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, dict):
            children: Iterator[tuple[str | int, object]] = iter(value.items())
        elif isinstance(value, list):
            children = iter(enumerate(value))
        else:
            continue
        for name, child in children:
            if name in fields and not (isinstance(child, str) and _UUID.fullmatch(child)):
                yield (*path, name), child
            elif isinstance(child, dict | list):
                waiting.append(((*path, name), child))


def _flaws(name: str, instance: object, *, as_published: bool) -> list[Flaw]:
    from schemas.rdss.explanation import flaws

    return flaws(name, instance, formats=not as_published)


def _violation(part: str, flaw: Flaw) -> Violation:
    return Violation(pointer((part, *flaw.path)), flaw.rule, flaw.message)


def pointer(path: Path) -> str:
    """The JSON Pointer (RFC 6901) of a path.

    >>> pointer(("messageBody", "objectFile", 0, "a/b"))
    '/messageBody/objectFile/0/a~1b'
    """
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)
