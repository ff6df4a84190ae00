"""The one call of moto's own API that works here, for clients of moto's server: reset."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from emulator.http.asgi import HttpScope, Receive, Send, answer, whole_body

_PLACE: Final = "/moto-api"
_RESET: Final = ("POST", "/moto-api/reset")
_DONE: Final = b'{"status": "ok"}'


def is_moto_api(path: str) -> bool:
    """Whether a path belongs to moto's own API. Most of it can stop the process or write files."""
    return path == _PLACE or path.startswith(_PLACE + "/")


async def answer_moto_api(
    scope: HttpScope, receive: Receive, send: Send, reset: Callable[[], object]
) -> None:
    """Call ``reset``, which empties the sandbox, for ``POST /moto-api/reset``. Answer 404 to the rest."""
    await whole_body(receive)
    if (scope["method"], scope["path"]) != _RESET:
        await answer(send, 404, [], b"")
        return
    await asyncio.to_thread(reset)
    await answer(send, 200, [(b"content-type", b"application/json")], _DONE)
