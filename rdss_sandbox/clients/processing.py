"""Asynchronous messages and simulated external systems, through the control API."""

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
    """Messages and simulated systems; methods raise as those of ``Client``."""

    def __init__(self, ask: Callable[..., Any]) -> None:
        self._ask = ask

    def search(self, **wanted: Any) -> tuple[AsyncMessage, ...]:
        """The newest messages that match; the arguments are the query of ``GET /processing/messages``."""
        found: AsyncMessagePage = self._ask(AsyncMessagePage, "GET", _MESSAGES, query=wanted)
        return found.messages

    def receive(self, new: NewAsyncMessage) -> AsyncMessageDetail:
        """Hand over a message, as a source system does. It is persisted when this returns."""
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
        """Set the next answers of a system and return every system."""
        path = f"/processing/systems/{quote(system, safe='')}/script"
        found: OutsideSystemList = self._ask(OutsideSystemList, "PUT", path, body=script)
        return found.systems


class AsyncProcessing:
    """The methods of ``Processing`` that the TUI uses, for asyncio."""

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
