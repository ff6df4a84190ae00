"""Asynchronous messages of a sandbox, looked at and acted on through its control API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from rdss_sandbox.shapes.processing import (
    Answer,
    AsyncMessage,
    AsyncMessageDetail,
    AsyncMessagePage,
    NewAsyncMessage,
    OutsideSystem,
    OutsideSystemList,
    Restart,
    Script,
)

_MESSAGES = "/processing/messages"


class Processing:
    """Messages and simulated systems; every method raises as ``Client`` does."""

    def __init__(self, ask: Callable[..., Any]) -> None:
        self._ask = ask

    def search(self, **wanted: Any) -> tuple[AsyncMessage, ...]:
        """The newest messages that are as wanted: see the query of ``GET /processing/messages``."""
        found: AsyncMessagePage = self._ask(AsyncMessagePage, "GET", _MESSAGES, query=wanted)
        return found.messages

    def receive(self, new: NewAsyncMessage) -> AsyncMessageDetail:
        """Hand over a message; it is persisted when this returns."""
        taken: AsyncMessageDetail = self._ask(AsyncMessageDetail, "POST", _MESSAGES, body=new)
        return taken

    def show(self, number: int) -> AsyncMessageDetail:
        found: AsyncMessageDetail = self._ask(AsyncMessageDetail, "GET", f"{_MESSAGES}/{number}")
        return found

    def restart(self, number: int, how: Restart) -> AsyncMessageDetail:
        path = f"{_MESSAGES}/{number}/restart"
        restarted: AsyncMessageDetail = self._ask(AsyncMessageDetail, "POST", path, body=how)
        return restarted

    def cancel(self, number: int) -> AsyncMessageDetail:
        cancelled: AsyncMessageDetail = self._ask(AsyncMessageDetail, "POST", f"{_MESSAGES}/{number}/cancel")
        return cancelled

    def answer(self, number: int, answer: Answer) -> AsyncMessageDetail:
        path = f"{_MESSAGES}/{number}/answer"
        answered: AsyncMessageDetail = self._ask(AsyncMessageDetail, "POST", path, body=answer)
        return answered

    def systems(self) -> tuple[OutsideSystem, ...]:
        found: OutsideSystemList = self._ask(OutsideSystemList, "GET", "/processing/systems")
        return found.systems

    def script(self, system: str, script: Script) -> tuple[OutsideSystem, ...]:
        """Have a system answer so from now on; every system afterwards."""
        path = f"/processing/systems/{quote(system, safe='')}/script"
        found: OutsideSystemList = self._ask(OutsideSystemList, "PUT", path, body=script)
        return found.systems


class AsyncProcessing:
    """What the TUI asks of ``Processing``, for asyncio."""

    def __init__(self, ask: Callable[..., Any]) -> None:
        self._ask = ask

    async def search(self, **wanted: Any) -> tuple[AsyncMessage, ...]:
        found: AsyncMessagePage = await self._ask(AsyncMessagePage, "GET", _MESSAGES, query=wanted)
        return found.messages

    async def show(self, number: int) -> AsyncMessageDetail:
        found: AsyncMessageDetail = await self._ask(AsyncMessageDetail, "GET", f"{_MESSAGES}/{number}")
        return found

    async def restart(self, number: int, how: Restart) -> AsyncMessageDetail:
        path = f"{_MESSAGES}/{number}/restart"
        restarted: AsyncMessageDetail = await self._ask(AsyncMessageDetail, "POST", path, body=how)
        return restarted

    async def cancel(self, number: int) -> AsyncMessageDetail:
        path = f"{_MESSAGES}/{number}/cancel"
        cancelled: AsyncMessageDetail = await self._ask(AsyncMessageDetail, "POST", path)
        return cancelled

    async def systems(self) -> tuple[OutsideSystem, ...]:
        found: OutsideSystemList = await self._ask(OutsideSystemList, "GET", "/processing/systems")
        return found.systems
