"""The typed client: what it raises, and that it loses no event when the sandbox goes away for a while."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator

import httpx
import pytest

from emulator.assembly.embedded import Embedded
from emulator.clock import Clock
from emulator.http.asgi import HttpScope, Receive, Send, answer
from emulator.http.server import serve
from emulator.settings.settings import Settings
from rdss_sandbox.client import AsyncClient, Client, RefusedError, UnreachableError
from rdss_sandbox.shapes.access import StreamPermission
from rdss_sandbox.shapes.events import Event
from rdss_sandbox.shapes.faults import NewFault


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port


def test_nobody_there_is_said_with_the_address() -> None:
    """The address, the reason, and what to do."""
    url = f"http://127.0.0.1:{free_port()}"
    with Client(url) as client, pytest.raises(UnreachableError, match=f"{url} .*sandbox up"):
        client.status()


async def test_something_else_there_is_said() -> None:
    """Another server on the port is no sandbox, whatever it answers."""

    async def other(_scope: HttpScope, _receive: Receive, send: Send) -> None:
        await answer(send, 502, [(b"content-type", b"text/html")], b"<h1>Bad gateway</h1>")

    server = await serve(other, "127.0.0.1", 0)
    async with AsyncClient(server.url) as client:
        with pytest.raises(RefusedError, match="502; is it a sandbox"):
            await client.status()
    await server.close()


@pytest.fixture
async def sandbox() -> AsyncIterator[Embedded]:
    async with Embedded(Settings(aws_port=0, control_port=0, data_dir=None)) as emulator:
        yield emulator


async def test_names_are_taken_literally(sandbox: Embedded) -> None:
    """A name with a slash or a percent sign is looked for as it is, not as a path."""
    async with AsyncClient(sandbox.control) as client:
        for name in ("a/b", "..", "%2e", "a?b", "a#b"):
            with pytest.raises(RefusedError) as refused:
                await client.fault(name)
            assert (refused.value.status, refused.value.code) == (404, "no_such_fault")
            permitted = await client.access.permit(name, StreamPermission())
            assert permitted.access_key == name
            assert await client.access.forget(name) == permitted


async def test_both_clients_answer_alike(sandbox: Embedded) -> None:
    """The blocking and the awaiting client give the same answers."""
    async with AsyncClient(sandbox.control) as client:
        await client.add_fault(NewFault("duplicate"))
        with Client(sandbox.control) as blocking:
            assert await asyncio.to_thread(blocking.faults) == await client.faults()
            assert await asyncio.to_thread(blocking.events) == await client.events()
            assert await asyncio.to_thread(blocking.stream, "input") == await client.stream("input")


async def test_events_are_followed_across_a_restart(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The sandbox is stopped and started again on its data: the reader misses nothing and repeats nothing."""
    settings = Settings(aws_port=0, control_port=free_port(), data_dir=tmp_path_factory.mktemp("data"))
    seen: list[Event] = []
    connections: list[bool] = []
    reached = {"before": asyncio.Event(), "the last": asyncio.Event()}

    async def follow() -> None:
        async with AsyncClient(
            f"http://127.0.0.1:{settings.control_port}", pause=Clock(autojump=True).sleep
        ) as client:
            async for event in client.follow_events(on_connection=connections.append):
                seen.append(event)
                if event.kind in reached:
                    reached[event.kind].set()

    reader = asyncio.create_task(follow())
    async with Embedded(settings) as first:
        first.components.events.emit("before")
        async with asyncio.timeout(60):
            await reached["before"].wait()
    async with Embedded(settings) as second:
        second.components.events.emit("the last")
        async with asyncio.timeout(60):
            await reached["the last"].wait()
    reader.cancel()

    assert [event.id for event in seen] == list(range(1, len(seen) + 1))
    kinds = [event.kind for event in seen]
    assert kinds.index("before") < kinds.index("sandbox.stopped") < kinds.index("the last")
    assert connections.count(True) == 2
    assert False in connections


async def test_a_refusal_ends_the_following(sandbox: Embedded) -> None:
    """Only lost connections are tried again; a refusal is told."""
    async with AsyncClient(sandbox.control) as client:
        client.transport.http.headers["host"] = "evil.example"
        with pytest.raises(RefusedError):
            await anext(client.follow_events())


async def test_silence_is_a_lost_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that stops talking without closing is left after a while, and called again."""
    lost, again = asyncio.Event(), asyncio.Event()
    states: list[bool] = []

    def note(connected: bool) -> None:
        states.append(connected)
        if states[-2:] == [True, False]:
            lost.set()

    async def silent(_scope: HttpScope, _receive: Receive, send: Send) -> None:
        if lost.is_set():
            again.set()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b": connected\n\n", "more_body": True})
        await asyncio.Event().wait()

    monkeypatch.setattr("rdss_sandbox.transports._TIMEOUT", httpx.Timeout(0.05))
    server = await serve(silent, "127.0.0.1", 0)
    async with AsyncClient(server.url, pause=Clock(autojump=True).sleep) as client:

        async def follow() -> None:
            async for _ in client.follow_events(on_connection=note):
                pass

        reader = asyncio.create_task(follow())
        async with asyncio.timeout(60):
            await lost.wait()
            await again.wait()
        reader.cancel()
        await asyncio.gather(reader, return_exceptions=True)
    await server.close(0)
