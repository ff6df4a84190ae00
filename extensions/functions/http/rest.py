"""Reads requests of a service that speaks REST and JSON, as botocore's model of it says."""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error as BadBase64Error
from collections.abc import Iterator
from functools import cache
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qs, unquote

import msgspec

from emulator.http.asgi import HttpScope
from emulator.listeners.aws.request_validation import describe_broken
from emulator.listeners.aws.service_model import Operation, ServiceModel, Shape, read_model
from extensions.functions.engine.errors import LambdaError

_FIELD: Final = re.compile(r"\{(\w+)\+?\}")
_UNREADABLE: Final = "Could not parse request body into json: {}"


class Route(NamedTuple):
    """An operation, and how its path is recognised: a pattern, and what its query must say."""

    name: str
    operation: Operation
    pattern: re.Pattern[str]
    query: str


class Rest(NamedTuple):
    """The routes of a service and its model."""

    routes: tuple[Route, ...]
    model: ServiceModel

    def read(self, scope: HttpScope, headers: dict[bytes, bytes], body: bytes) -> tuple[str, dict[str, Any]]:
        """The name of the operation and its request. Raises LambdaError."""
        found = self._find(scope)
        if found is None:
            raise LambdaError("UnknownOperationException", "", 404)
        route, fields = found
        shape = self.model.shapes[route.operation.request]
        request = self._read_body(shape, body)
        query = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        for member, (place, name) in shape.places.items():
            if place == "uri":
                given = [fields[name]]
            elif place == "querystring":
                given = query.get(name, [])
            else:
                given = [value.decode("latin-1") for value in [headers.get(name.lower().encode())] if value]
            if given:
                request[member] = _convert(given, self.model.shapes[shape.members[member]])
        broken = describe_broken(request, route.operation.request, self.model.shapes)
        if broken:
            raise LambdaError("ValidationException", broken)
        return route.name, request

    def status_of(self, name: str) -> int:
        """The HTTP status of an operation's answer."""
        return self.model.operations[name].status

    def _find(self, scope: HttpScope) -> tuple[Route, dict[str, str]] | None:
        path = scope["raw_path"].decode("latin-1").rstrip("/")
        query = scope["query_string"].decode("latin-1")
        for route in self.routes:
            matched = route.pattern.fullmatch(path) if route.operation.method == scope["method"] else None
            if matched and route.query in query:
                return route, {name: unquote(value) for name, value in matched.groupdict().items()}
        return None

    def _read_body(self, shape: Shape, body: bytes) -> dict[str, Any]:
        if shape.payload:
            return {shape.payload: body}
        try:
            read: Any = msgspec.json.decode(body) if body else {}
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise LambdaError("InvalidRequestContentException", _UNREADABLE.format(error)) from error
        if not isinstance(read, dict):
            raise LambdaError("InvalidRequestContentException", _UNREADABLE.format("it is no object"))
        return self._read_structure(read, shape)

    def _read_structure(self, given: dict[str, Any], shape: Shape) -> dict[str, Any]:
        """The members that the shape has. Raises LambdaError for one of another type."""
        return {
            name: self._read_value(given[name], self.model.shapes[member], name)
            for name, member in shape.members.items()
            if given.get(name) is not None
        }

    def _read_value(self, given: Any, shape: Shape, name: str) -> Any:
        _check_type(given, shape.kind, name)
        if shape.kind == "structure":
            return self._read_structure(given, shape)
        if shape.kind == "list":
            member = self.model.shapes[shape.member]
            return [self._read_value(each, member, name) for each in given]
        if shape.kind == "map":
            value = self.model.shapes[shape.value]
            return {key: self._read_value(each, value, name) for key, each in given.items()}
        if shape.kind == "blob":
            return _decode_blob(given, name)
        return given


@cache
def lambda_rest() -> Rest:
    """Lambda's own. Its model is read at the first call."""
    model = read_model("lambda/2015-03-31")
    return Rest(tuple(_make_routes(model)), model)


def _make_routes(model: ServiceModel) -> Iterator[Route]:
    for name, operation in model.operations.items():
        path, _, query = operation.path.partition("?")
        pattern = _FIELD.sub(r"(?P<\1>[^/]+)", path.rstrip("/"))
        yield Route(name, operation, re.compile(pattern), query)


_TYPES: Final[dict[str, type | tuple[type, ...]]] = {
    "structure": dict,
    "map": dict,
    "list": list,
    "string": str,
    "blob": str,
    "integer": int,
    "long": int,
    "double": (int, float),
    "float": (int, float),
    "timestamp": (int, float),
    "boolean": bool,
}


def _check_type(given: Any, kind: str, name: str) -> None:
    """Raise LambdaError for a value of JSON that cannot be of this kind."""
    if not isinstance(given, _TYPES[kind]) or (isinstance(given, bool) and kind != "boolean"):
        text = f"{name} is no {kind}: it is of the type {type(given).__name__}"
        raise LambdaError("SerializationException", text)


def _decode_blob(given: str, name: str) -> bytes:
    try:
        return b64decode(given, validate=True)
    except (BadBase64Error, ValueError) as error:
        raise LambdaError("SerializationException", f"{name} is no base64") from error


def _convert(given: list[str], shape: Shape) -> Any:
    """What a path, a query or a header says, as the shape has it."""
    if shape.kind == "list":
        return given
    if shape.kind in {"integer", "long"}:
        try:
            return int(given[0])
        except ValueError as error:
            raise LambdaError("SerializationException", f"{given[0]!r} is no number") from error
    return given[0] == "true" if shape.kind == "boolean" else given[0]
