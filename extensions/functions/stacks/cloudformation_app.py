"""CloudFormation on the AWS port: forms are read, and XML is written, as botocore's model says."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import parse_qsl
from xml.sax.saxutils import escape

from emulator.http.asgi import HttpScope, Receive, Send, answer, whole_body
from emulator.http.daemon_threads import DaemonThreads
from emulator.kinesis import Scope
from emulator.listeners.aws.credentials import caller_of
from emulator.listeners.aws.error_bodies import service_error
from emulator.listeners.aws.request_validation import describe_broken
from emulator.listeners.aws.service_model import Shape, read_model
from emulator.rng import new_uuid
from extensions.functions.engine.errors import LambdaError
from extensions.functions.stacks.stack import BadStackError

_MOST_BODY_BYTES: Final = 4 << 20
_THREADS: Final = 16
_SPACE: Final = "http://cloudformation.amazonaws.com/doc/2010-05-15/"
_NOT_XML: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_Tree = dict[str, Any]
Operation = Callable[[Scope, dict[str, Any]], dict[str, Any]]
"""Does an operation for an account and region. Raises LambdaError."""


class CloudFormationApp:
    """The ASGI application. An operation that is not among ``operations`` is unknown here."""

    def __init__(self, operations: Mapping[str, Operation], failed: Callable[[Exception], None]) -> None:
        self._operations = operations
        self._failed = failed
        self._model = read_model("cloudformation/2010-05-15")
        self._threads = DaemonThreads("cloudformation", _THREADS)

    async def __call__(self, scope: HttpScope, receive: Receive, send: Send) -> None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        body = await whole_body(receive, _MOST_BODY_BYTES)
        try:
            kind, written = b"text/xml", await self._do(scope, headers, body)
        except LambdaError as error:
            kind_of_error, text = service_error("cloudformation", headers, error.code, error.message)
            await answer(send, error.status, kind_of_error, text)
        except Exception as error:  # noqa: BLE001 -- the client gets AWS's error, the events get the reason
            self._failed(error)
            wrong = "The service encountered an internal error."
            await answer(send, 500, *service_error("cloudformation", headers, "InternalFailure", wrong))
        else:
            await answer(send, 200, [(b"content-type", kind)], written)

    async def _do(self, scope: HttpScope, headers: dict[bytes, bytes], body: bytes) -> bytes:
        caller = caller_of(headers.get(b"authorization"), scope["query_string"])
        if caller is None:
            raise BadStackError("Missing Authentication Token", "MissingAuthenticationToken")
        tree = _read_tree(body.decode("utf-8", "replace") or scope["query_string"].decode("latin-1"))
        name = str(tree.get("Action", ""))
        operation = self._model.operations.get(name)
        if operation is None or name not in self._operations:
            raise BadStackError(f"The action {name} is not in this sandbox.", "InvalidAction")
        request: dict[str, Any] = {}
        if operation.request:
            request = self._read(tree, self._model.shapes[operation.request]) or {}
            if broken := describe_broken(request, operation.request, self._model.shapes):
                raise BadStackError(broken)
        where = Scope(caller.account, caller.region)
        found = await self._threads.run(lambda: self._operations[name](where, request))
        result = ""
        if operation.response:
            inner = self._write(found, self._model.shapes[operation.response])
            result = f"<{name}Result>{inner}</{name}Result>"
        metadata = f"<ResponseMetadata><RequestId>{new_uuid()}</RequestId></ResponseMetadata>"
        return f'<{name}Response xmlns="{_SPACE}">{result}{metadata}</{name}Response>'.encode()

    def _read(self, given: Any, shape: Shape) -> Any:
        """What a form has of a shape; None where that is nothing. Raises BadStackError."""
        if shape.kind == "structure":
            tree = given if isinstance(given, dict) else {}
            read = {
                name: self._read(tree[name], self._model.shapes[member])
                for name, member in shape.members.items()
                if name in tree
            }
            return {name: value for name, value in read.items() if value is not None}
        if shape.kind == "list":
            members = given.get("member", {}) if isinstance(given, dict) else {}
            numbered = sorted((int(key), value) for key, value in members.items() if key.isdecimal())
            return [self._read(value, self._model.shapes[shape.member]) for _, value in numbered]
        if not isinstance(given, str):
            raise BadStackError("A member has members, and may have none", "MalformedInput")
        if shape.kind in {"integer", "long"}:
            if not re.fullmatch(r"-?\d{1,18}", given):
                raise BadStackError(f"{given!r} is no number", "MalformedInput")
            return int(given)
        return given == "true" if shape.kind == "boolean" else given

    def _write(self, value: Any, shape: Shape) -> str:
        if shape.kind == "structure":
            return "".join(
                f"<{name}>{self._write(value[name], self._model.shapes[member])}</{name}>"
                for name, member in shape.members.items()
                if value.get(name) is not None
            )
        if shape.kind == "list":
            member = self._model.shapes[shape.member]
            return "".join(f"<member>{self._write(each, member)}</member>" for each in value)
        if shape.kind == "timestamp":
            return (
                datetime.fromtimestamp(value, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            )
        return str(value).lower() if shape.kind == "boolean" else escape(_NOT_XML.sub("\ufffd", str(value)))


def _read_tree(form: str) -> _Tree:
    """The fields of a form by the parts of their names, which full stops divide. Raises BadStackError."""
    tree: _Tree = {}
    for name, value in parse_qsl(form, keep_blank_values=True):
        *parts, last = name.split(".")
        place = tree
        for part in parts:
            place = place.setdefault(part, {})
            if not isinstance(place, dict):
                raise BadStackError(f"{name} is given twice", "MalformedInput")
        place[last] = value
    return tree
