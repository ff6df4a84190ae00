"""Validation of messages against the contract: wrong fields, broken rules and the error code.

``jsonschema-rs`` decides within tens of microseconds. Only a message that it refuses
is walked again by ``schemas.rdss.violations`` for the details. The verdict follows the
specification's text, which has four rules more than the published 4.0.0 schema files:

- the messageType determines the form of the body,
- a dataset, an article, a thesis or dissertation meets the rules of its resource type,
- the position lies within the total, the total within 32 bits, and a part of a sequence carries text,
- the errorCode is one of the 14.

``as_published`` leaves these four out, and the formats of times, addresses and URIs, which no draft-06
validator has to check; the verdict on a message is then that of the files as they are.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any, Final

import jsonschema_rs
import msgspec

from schemas.brief import show
from schemas.contract import Verdict, Violation
from schemas.rdss import bodies
from schemas.rdss.catalogue import definition, load_schemas, reference
from schemas.rdss.error_codes import ErrorCode
from schemas.rdss.formats import FORMATS
from schemas.rdss.violations import ERROR_CODES, expired, violations

JSON = dict[str, Any]


VALID: Final = Verdict(valid=True, code=None, violations=())
PRECEDENCE: Final = (
    ErrorCode.GENERR007,
    ErrorCode.GENERR004,
    ErrorCode.GENERR010,
    ErrorCode.GENERR002,
    ErrorCode.GENERR003,
    ErrorCode.GENERR001,
)
"""The codes that a message alone can cause, the gravest first."""

_decode: Final = msgspec.json.Decoder().decode


def judge(
    raw: bytes, *, now: float | None = None, joined: bool = False, as_published: bool = False
) -> Verdict:
    """Validate the bytes of a message of any size; never raises.

    The expiry is compared with ``now``, in seconds since the epoch; None leaves it out.
    For a part of a sequence only the header is validated. ``joined`` says that the body
    is whole although the total is more than 1. The whole verdict, which begins with the
    size, is that of ``verdicts.judge``.
    """
    try:
        message = _decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        return _malformed(f"the bytes are not JSON in UTF-8: {error}")
    if not isinstance(message, dict):
        return _malformed(f"a message is a JSON object, and this is {show(message)}")
    if twice := _given_twice(raw):
        return _malformed(f"{twice} is given twice")
    return judge_message(message, now=now, joined=joined, as_published=as_published)


def refuse(code: ErrorCode, rule: str, why: str) -> Verdict:
    """The verdict on a message as a whole that breaks one rule."""
    return Verdict(valid=False, code=code, violations=(Violation("", rule, why),))


def _malformed(message: str) -> Verdict:
    return refuse(ErrorCode.GENERR007, "json", message)


def _given_twice(raw: bytes) -> str | None:
    """The name of a top-level field that occurs twice: JSON readers differ on which one counts."""
    if raw.count(b'"messageHeader"') < 2 and raw.count(b'"messageBody"') < 2:
        return None
    names = [name for name, _ in json.loads(raw, object_pairs_hook=list)]
    return next((name for name in names if names.count(name) > 1), None)


def judge_message(
    message: JSON, *, now: float | None = None, joined: bool = False, as_published: bool = False
) -> Verdict:
    """Validate a message that is already decoded; the arguments are those of ``judge``."""
    if _accepts(message, joined=joined, as_published=as_published) and not expired(message, now):
        return VALID
    found = list(violations(message, now=now, joined=joined, as_published=as_published))
    return Verdict(
        valid=False,
        code=min((code for code, _ in found), key=PRECEDENCE.index),
        violations=tuple(violation for _, violation in found),
    )


def _accepts(message: JSON, *, joined: bool, as_published: bool) -> bool:
    part = not joined and bodies.is_part(message)
    if part:
        accepted = is_valid("messages.Part", message, formats=not as_published)
    else:
        body = bodies.body_definition(message)
        accepted = body is not None and _meets(_message_with(body, formats=not as_published), message)
    if as_published:
        return accepted or (not part and is_valid("messages.AnyMessage", message, formats=False))
    if not accepted:
        return False
    header = message["messageHeader"]
    place = header["messageSequence"]
    total = place["total"]
    return (
        1 <= place["position"] <= total <= bodies.MOST_PARTS
        and (part or joined or total == 1)
        and ("errorCode" not in header or header["errorCode"] in ERROR_CODES)
    )


def is_valid(name: str, instance: object, *, formats: bool = True) -> bool:
    """Whether an instance meets a definition, named as in ``schemas.rdss.catalogue``."""
    return _meets(validator_for(name, formats=formats), instance)


@cache
def validator_for(name: str, *, formats: bool = True) -> jsonschema_rs.Draft202012Validator:
    """Compile the fast validator of a definition, once. Raises ``KeyError`` for an unknown name."""
    return _compile({"$ref": reference(name)}, formats=formats)


@cache
def _message_with(body: str, *, formats: bool) -> jsonschema_rs.Draft202012Validator:
    message = definition(reference("messages.AnyMessage"))
    return _compile(
        message | {"properties": message["properties"] | {"messageBody": {"$ref": reference(body)}}},
        formats=formats,
    )


def _compile(schema: JSON, *, formats: bool) -> jsonschema_rs.Draft202012Validator:
    registry = jsonschema_rs.Registry(list(load_schemas().items()))
    return jsonschema_rs.Draft202012Validator(
        schema,
        registry=registry,
        formats=dict(FORMATS),
        validate_formats=formats,
        ignore_unknown_formats=False,
    )


def _meets(validator: jsonschema_rs.Draft202012Validator, instance: object) -> bool:
    try:
        return validator.is_valid(instance)
    except ValueError:
        # A lone surrogate, or nesting deeper than any definition: no valid message has either.
        return False
