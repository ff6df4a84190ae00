"""A served port of topics, and a client on a WebSocket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx
from websockets.asyncio.client import ClientConnection, connect

from emulator.clock import Clock
from emulator.events import Events
from emulator.faults.fault_engine import FaultEngine
from emulator.http.server import serve
from emulator.rng import Chance
from extensions.topics.engine.topic_definitions import Topic
from extensions.topics.http import TopicsApp
from extensions.topics.topic_configuration import TopicConfiguration
from extensions.topics.topics_service import ObjectSources, TopicService
from rdss_sandbox.shapes.faults import NewFault

SECONDS = 60


KEYED = TopicConfiguration(topics=(Topic(name="orders", keys=("/id",), logged=True, expiration=0),))


class NoStreams:
    """Streams of which there are none."""

    def shards(self) -> list[Any]:
        return []

    def on_records(self, _callback: Callable[[str, str], None]) -> Callable[[], None]:
        return lambda: None


class Client:
    """A WebSocket on which JSON goes both ways."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket

    async def say(self, cmd: str, **headers: Any) -> None:
        await self.socket.send(json.dumps({"cmd": cmd, **headers}))

    async def hear(self) -> dict[str, Any]:
        async with asyncio.timeout(SECONDS):
            return dict(json.loads(await self.socket.recv()))

    async def ask(self, cmd: str, **headers: Any) -> dict[str, Any]:
        """Say it, and hear the next thing that comes."""
        await self.say(cmd, **headers)
        return await self.hear()

    async def closed(self) -> tuple[int | None, str | None]:
        """The code and reason with which the other end closed."""
        async with asyncio.timeout(SECONDS):
            await self.socket.wait_closed()
        return self.socket.close_code, self.socket.close_reason


class Port:
    """A served ``TopicsApp``; ``failures`` is what nobody foresaw."""

    def __init__(
        self, configuration: TopicConfiguration, clock: Clock, directory: Path | None = None, port: int = 0
    ) -> None:
        self.clock = clock
        self.port = port
        self.happened = Events(clock)
        self.fault_engine = FaultEngine(Chance(7), clock, self.happened)
        nothing: Any = NoStreams()
        self.service = TopicService(
            directory,
            clock=clock,
            events=self.happened,
            fault_engine=self.fault_engine,
            configured=configuration,
            feeding=ObjectSources(nothing, nothing, frozenset()),
        )
        self.failures: list[Exception] = []
        self.app = TopicsApp(self.service, self.failures.append)
        self.stack = AsyncExitStack()

    async def begin(self) -> None:
        self.server = await serve(
            self.app, "127.0.0.1", self.port, on_failure=self.failures.append, sockets=True
        )
        self.url = self.server.url
        self.http = await self.stack.enter_async_context(
            httpx.AsyncClient(base_url=self.url, trust_env=False, timeout=SECONDS)
        )

    async def connect(self, query: str = "", token: str = "") -> Client:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        url = f"ws://127.0.0.1:{self.server.port}/topics/ws{query}"
        socket = await self.stack.enter_async_context(
            connect(url, proxy=None, additional_headers=headers, open_timeout=SECONDS)
        )
        return Client(socket)

    async def post(self, *commands: dict[str, Any], **settings: Any) -> httpx.Response:
        return await self.http.post(
            "/topics/commands", json=commands[0] if len(commands) == 1 else list(commands), **settings
        )

    async def events(self, **query: str) -> AsyncIterator[dict[str, str]]:
        """The server-sent events of a subscription, each as its fields."""
        headers = {"last-event-id": query.pop("resume")} if "resume" in query else {}
        async with self.http.stream("GET", "/topics/messages", params=query, headers=headers) as answer:
            assert answer.status_code == 200, await answer.aread()
            fields: dict[str, str] = {}
            async for line in answer.aiter_lines():
                name, _, value = line.partition(": ")
                if name:
                    fields[name] = value
                elif fields:
                    yield fields
                    fields = {}

    def failed_commands(self) -> list[dict[str, Any]]:
        """What the events say of commands that failed."""
        return [event.fields for event in self.happened.since() if event.kind == "topic.command_failed"]

    def fault(self, type_: str, **settings: Any) -> None:
        self.fault_engine.add(NewFault(type_, channel=settings.pop("channel", "orders"), **settings))

    async def end(self) -> None:
        await self.stack.aclose()
        self.app.close()
        await self.server.close(1.0)
        self.service.close()
        self.fault_engine.close()
