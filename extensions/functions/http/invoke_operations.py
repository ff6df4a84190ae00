"""Invoke: for an answer, as an event that nobody waits for, or as a check alone."""

from __future__ import annotations

from base64 import b64encode
from typing import Any, Final

import msgspec

from emulator.kinesis import Scope
from emulator.rng import Draws
from extensions.functions.engine.errors import LambdaError
from extensions.functions.engine.functions import Functions
from extensions.functions.http.function_operations import find_place
from extensions.functions.http.lambda_app import LambdaReply
from extensions.functions.runtime.event_queue import EventQueue
from extensions.functions.runtime.invoker import Invoker

_MOST_EVENT_BYTES: Final = {"RequestResponse": 6_291_456, "Event": 1_048_576}
_TAIL_BYTES: Final = 4096
_JSON: Final = (b"content-type", b"application/json")


class InvokeOperations:
    """``draws`` choose between the versions of an alias that has weights."""

    def __init__(self, functions: Functions, invoker: Invoker, events: EventQueue, draws: Draws) -> None:
        self._functions = functions
        self._invoker = invoker
        self._events = events
        self._draws = draws

    async def invoke(self, scope: Scope, request: dict[str, Any]) -> LambdaReply:
        place, qualifier = find_place(scope, request)
        kind = request.get("InvocationType", "RequestResponse")
        payload: bytes = request.get("Payload", b"")
        _check_event(payload, kind)
        function, version = self._functions.resolve(place, qualifier)
        alias = function.aliases.get(qualifier)
        chosen = version.number
        if alias is not None:
            drawn = self._draws.random()
            for number, weight in alias.weights.items():
                drawn -= weight
                if drawn < 0:
                    chosen = number
                    break
        executed = (b"x-amz-executed-version", chosen.encode())
        if kind == "DryRun":
            return LambdaReply(204, [executed], b"")
        if kind == "Event":
            self._events.add(place, chosen, payload)
            return LambdaReply(202, [executed], b"")
        outcome, _ = await self._invoker.invoke(place, chosen, payload)
        headers = [_JSON, executed]
        if outcome.error:
            headers.append((b"x-amz-function-error", outcome.error.encode()))
        if request.get("LogType") == "Tail":
            tail = "\n".join((*outcome.log, "")).encode()[-_TAIL_BYTES:]
            headers.append((b"x-amz-log-result", b64encode(tail)))
        return LambdaReply(200, headers, outcome.payload)


def _check_event(payload: bytes, kind: str) -> None:
    """Raise LambdaError for an event that is too long, or no JSON."""
    most = _MOST_EVENT_BYTES.get(kind)
    if most is not None and len(payload) > most:
        text = f"Request must be smaller than {most} bytes for the InvokeFunction operation"
        raise LambdaError("RequestTooLargeException", text, 413, Type="User")
    try:
        if payload:
            msgspec.json.decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        text = f"Could not parse request body into json: Could not parse payload into json: {error}"
        raise LambdaError("InvalidRequestContentException", text, 400, Type="User") from error
