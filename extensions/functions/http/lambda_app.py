"""Lambda on the AWS port: a request is read by the model, done, and answered as AWS answers it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from emulator.http.asgi import ClientGoneError, Headers, HttpScope, Receive, Send, answer, whole_body
from emulator.kinesis import Scope
from emulator.listeners.aws.credentials import caller_of
from emulator.rng import new_uuid
from extensions.functions.engine.errors import InvocationCutError, LambdaError
from extensions.functions.http.rest import lambda_rest

_MOST_BODY_BYTES: Final = 72 << 20
"""An archive of the largest size, in base64."""


class LambdaReply(NamedTuple):
    """An answer that is more than a document: its status, headers and body."""

    status: int
    headers: Headers
    body: bytes


Operation: TypeAlias = Callable[[Scope, dict[str, Any]], Awaitable[dict[str, Any] | LambdaReply | None]]
"""Does an operation for an account and region. Raises LambdaError."""


class LambdaApp:
    """The ASGI application. An operation that is not among ``operations`` is unknown here."""

    def __init__(self, operations: Mapping[str, Operation], failed: Callable[[Exception], None]) -> None:
        self._operations = operations
        self._failed = failed

    async def __call__(self, scope: HttpScope, receive: Receive, send: Send) -> None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        body = await whole_body(receive, _MOST_BODY_BYTES)
        try:
            reply = await self._do(scope, headers, body)
        except InvocationCutError as error:
            raise ClientGoneError from error
        except LambdaError as error:
            reply = _refuse(error)
        except Exception as error:  # noqa: BLE001 -- the client gets AWS's error, the events get the reason
            self._failed(error)
            wrong = "The service encountered an internal error."
            reply = _refuse(LambdaError("ServiceException", wrong, 500, Type="Service"))
        ids = [(b"x-amzn-requestid", new_uuid().encode())]
        await answer(send, reply.status, [*ids, *reply.headers], reply.body)

    async def _do(self, scope: HttpScope, headers: dict[bytes, bytes], body: bytes) -> LambdaReply:
        caller = caller_of(headers.get(b"authorization"), scope["query_string"])
        if caller is None:
            raise LambdaError("MissingAuthenticationTokenException", "Missing Authentication Token", 403)
        where = Scope(caller.account, caller.region)
        rest = lambda_rest()
        name, request = rest.read(scope, headers, body)
        if name not in self._operations:
            raise LambdaError("UnknownOperationException", f"{name} is not in this sandbox.", 404)
        found = await self._operations[name](where, request)
        if isinstance(found, LambdaReply):
            return found
        document = b"" if found is None else msgspec.json.encode(found)
        return LambdaReply(rest.status_of(name), [(b"content-type", b"application/json")], document)


def _refuse(error: LambdaError) -> LambdaReply:
    shape = lambda_rest().model.shapes.get(error.code)
    # Exceptions spell it in either way, and what stands before the service in lower case.
    name_of_text = "Message" if shape and "Message" in shape.members else "message"
    body = msgspec.json.encode({**error.fields, name_of_text: error.message})
    kind = (b"x-amzn-errortype", error.code.encode())
    return LambdaReply(error.status, [(b"content-type", b"application/json"), kind], body)
