"""The payload of one message: how its bytes are read, and what is wrong with what they say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import islice
from typing import Any, Final

import jsonschema_rs
import msgspec

from schemas.asyncapi import avro
from schemas.asyncapi.declarations import Message
from schemas.asyncapi.json_schemas import MASK, compile_schema, list_required
from schemas.asyncapi.problems import write_pointer
from schemas.brief import show
from schemas.contract import MOST_FOUND, Violation

decode_json: Final[Callable[[bytes], Any]] = msgspec.json.Decoder().decode
UNREADABLE: Final = (msgspec.MsgspecError, ValueError, RecursionError)
"""What reading bytes raises that have not the form of the message."""
_DEEPEST_BRANCH: Final = 10


class Payload:
    """How messages of one kind are read and judged."""

    def __init__(self, message: Message) -> None:
        self.message: Final = message
        self.is_json: Final = message.content == "json"
        self._is_schema: Final = message.content in ("json", "text")

    @cached_property
    def decode(self) -> Callable[[bytes], Any]:
        """What reads the bytes; it raises one of ``UNREADABLE`` for those that have not the form."""
        if self.is_json:
            return decode_json
        if self.message.content == "text":
            return bytes.decode
        if self.message.content == "opaque":
            return bytes
        decode = avro.make_decoder(self.message.payload, as_json=self.message.content == "avro-json")

        def decode_avro(raw: bytes) -> Any:
            try:
                return decode(raw)
            except Exception as error:  # noqa: BLE001 -- fastavro raises whatever the bytes led it to
                raise ValueError(f"the bytes are not {self.message.name} in Avro: {error}"[:300]) from None

        return decode_avro

    @cached_property
    def _validator(self) -> jsonschema_rs.Validator | None:
        schema = self.message.payload
        return compile_schema(schema) if self._is_schema and schema not in (None, True) else None

    @cached_property
    def _header_validator(self) -> jsonschema_rs.Validator | None:
        schema = self.message.headers
        return compile_schema(schema) if schema not in (None, True) else None

    @cached_property
    def _is_valid(self) -> Callable[[Any], bool]:
        return self._validator.is_valid if self._validator else lambda _value: True

    def accepts(self, value: Any) -> bool:
        """Whether a value that was read meets the schema."""
        try:
            return self._is_valid(value)
        except ValueError:  # half a surrogate pair, or nesting that no schema has
            return False

    @cached_property
    def required(self) -> frozenset[str]:
        """The names that an object must have."""
        schema = self.message.payload
        return frozenset(
            list_required(schema, schema) if self._is_schema and isinstance(schema, dict) else ()
        )

    def find_violations(self, value: Any) -> Iterator[Violation]:
        """What is wrong with a value that was read."""
        return _list_violations(self._validator, value, "")

    def find_header_violations(self, headers: Any) -> Iterator[Violation]:
        """What is wrong with the headers of a message."""
        return _list_violations(self._header_validator, dict(headers), "$message.header#")


class Fitting:
    """Finds the first message whose schema the bytes meet, and the value that they say; None without one.

    A name that only a few messages require tells most quickly that a value is not one of them.
    """

    def __init__(self, payloads: Iterable[Payload]) -> None:
        self._payloads = tuple(payloads)
        self._only_json = all(payload.is_json for payload in self._payloads)
        often = Counter(name for payload in self._payloads for name in payload.required)
        self._rarest = [
            (min(sorted(payload.required), key=often.__getitem__, default=None), payload)
            for payload in self._payloads
        ]

    def __call__(self, raw: bytes) -> tuple[Payload, Any] | None:
        if not self._only_json:
            found = read_each(self._payloads, raw)
            return next((each for each in found if each[0].accepts(each[1])), None)
        try:
            value = decode_json(raw)
        except UNREADABLE:
            return None
        named = isinstance(value, dict)
        for name, payload in self._rarest:
            if (name is None or not named or name in value) and payload.accepts(value):
                return payload, value
        return None


def read_each(payloads: Iterable[Payload], raw: bytes) -> Iterator[tuple[Payload, Any]]:
    """The messages whose form the bytes have, each with the value that they say; JSON is read once."""
    try:
        as_json, is_json = decode_json(raw), True
    except UNREADABLE:
        as_json, is_json = None, False
    for payload in payloads:
        if payload.is_json:
            if is_json:
                yield payload, as_json
        else:
            try:
                value = payload.decode(raw)
            except UNREADABLE:
                continue
            yield payload, value


def _list_violations(
    validator: jsonschema_rs.Validator | None, value: Any, where: str
) -> Iterator[Violation]:
    if validator is None:
        return
    try:
        for error in islice(validator.iter_errors(value), MOST_FOUND):
            for each in _open_branches(error, _DEEPEST_BRANCH):
                yield _describe(each, where)
    except ValueError as error:  # half a surrogate pair, or nesting that no schema has
        yield Violation(where, "json", str(error).partition("\n")[0][:300])


def _open_branches(
    error: jsonschema_rs.ValidationError, left: int
) -> Iterator[jsonschema_rs.ValidationError]:
    """The errors of the alternative that has the fewest, in place of that none fits."""
    context: list[list[jsonschema_rs.ValidationError]] = getattr(error.kind, "context", [])
    nearest = min(context, key=len, default=[]) if left else []
    for each in nearest:
        yield from _open_branches(each, left - 1)
    if not nearest:
        yield error


def _describe(error: jsonschema_rs.ValidationError, where: str) -> Violation:
    rule, path = error.kind.name, tuple(error.instance_path)
    if rule == "required":
        return Violation(
            where + write_pointer((*path, str(error.kind.value))), rule, "is required and missing"
        )
    message = error.message.replace(MASK, show(error.instance))
    return Violation(where + write_pointer(path), rule, message[:500])
