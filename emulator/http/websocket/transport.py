"""The transport of a connection as uvicorn's protocol sees it."""

from __future__ import annotations

import asyncio
from typing import Any

from emulator.http.bounds.turns import Inflow, Turns

_WRITTEN_AT_ONCE = 1 << 16
_APPLICATION_BUSY = "the application has not taken what came"


class JoiningTransport(asyncio.Transport):
    """Writes what comes in one turn of the loop with one call of the kernel, and pauses the ``inflow``.

    uvicorn writes each message one by one. A call of the kernel costs more than all the rest.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        super().__init__()
        self.real = transport
        self.inflow: Inflow
        self._loop = asyncio.get_running_loop()
        self._unwritten: list[bytes] = []
        self._size = 0

    def open_inflow(self, turns: Turns, take: Any) -> Inflow:
        """Have ``take`` process what the transport reads."""
        self.inflow = Inflow(turns, self.real, take)
        return self.inflow

    def write(self, data: Any) -> None:
        if not self._unwritten:
            self._loop.call_soon(self.flush)
        self._unwritten.append(data)
        self._size += len(data)
        if self._size > _WRITTEN_AT_ONCE:
            self.flush()

    def flush(self) -> None:
        pieces, self._unwritten, self._size = self._unwritten, [], 0
        if pieces and not self.real.is_closing():
            self.real.writelines(pieces)

    def close(self) -> None:
        self.flush()
        self.real.close()

    def abort(self) -> None:
        self.real.abort()

    def is_closing(self) -> bool:
        return self.real.is_closing()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self.real.get_extra_info(name, default)

    def pause_reading(self) -> None:
        self.inflow.hold(_APPLICATION_BUSY)

    def resume_reading(self) -> None:
        self.inflow.release(_APPLICATION_BUSY)
