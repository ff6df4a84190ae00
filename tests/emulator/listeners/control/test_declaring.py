"""One declaration and one handler are an endpoint: what a call of the client says reaches the handler."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Annotated, Any

import httpx
import msgspec
import pytest
from starlette.responses import StreamingResponse

from emulator.listeners.control import control_app
from emulator.listeners.control.endpoint_routing import handles
from rdss_sandbox.api.endpoint import GET, PUT, Mode, Subject, download
from rdss_sandbox.api.parameters import Matching
from rdss_sandbox.transports import Awaiting, RefusedError

NAMES = ["plain", "a/b", "..", ".", "%2e", "a?b#c", "ä ö", "a\\b", "{key}", "&=+;"]


class Heard(msgspec.Struct, frozen=True):
    """What a handler was given."""

    given: dict[str, Any]


class Thing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A thing."""

    size: int


class Box(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Several things."""

    things: tuple[Thing, ...]


class Things(Subject[Mode], at="/things/{shelf}"):
    """Things on a shelf."""

    shelf: str

    def __init__(self, transport: Mode, shelf: str) -> None:
        super().__init__(transport)
        self.shelf = shelf

    @GET("/one/{name}", Heard, lambda heard: heard.given)
    def show(
        self,
        name: str,
        *,
        matching: Matching = "",
        few: Annotated[int, msgspec.Meta(le=9)] = 3,
        new: bool = False,
    ) -> dict[str, Any]:
        """Show a thing."""

    @GET("/below/{key:path}", Heard, lambda heard: heard.given)
    def below(self, key: str) -> dict[str, Any]:
        """Show what is below a key."""

    @PUT("", Heard, lambda heard: heard.given, wrap=Box, status=201)
    def fill(self, *things: Thing) -> dict[str, Any]:
        """Put things in place of all."""

    @download("/export", "text/plain", errors={})
    def export(self, times: int = 2) -> Iterator[bytes]:
        """All of them."""


class ThingHandlers:
    @handles(Things.show)
    def show(self, **given: Any) -> Heard:
        return Heard(given)

    @handles(Things.below)
    async def below(self, **given: Any) -> Heard:
        return Heard(given)

    @handles(Things.fill)
    def fill(self, **given: Any) -> Heard:
        return Heard(given)

    @handles(Things.export)
    def export(self, times: int, **_: Any) -> StreamingResponse:
        return StreamingResponse(b"x" for _ in range(times))


@pytest.fixture
async def transport() -> AsyncIterator[Awaiting]:
    sending = Awaiting("http://localhost", None, None)
    await sending.http.aclose()
    app = control_app([ThingHandlers()], "1")
    sending.http = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost")
    yield sending
    await sending.http.aclose()


@pytest.mark.parametrize("name", NAMES)
async def test_a_variable_arrives_as_it_is(transport: Awaiting, name: str) -> None:
    """Whatever is in it, as a name and as a key with slashes."""
    things = Things(transport, name)
    assert (await things.show(name))["name"] == name
    for key in (name, f"in/{name}/out"):
        assert await things.below(key) == {"shelf": name, "key": key}


async def test_the_query_arrives_with_the_defaults_of_the_declaration(transport: Awaiting) -> None:
    """Its names in Python are not always those on the wire; what is bad is refused."""
    things = Things(transport, "top")
    default = {"shelf": "top", "name": "n", "matching": "", "few": 3, "new": False}
    assert await things.show("n") == default
    given = {"matching": "size>1 & more", "few": 9, "new": True}
    assert await things.show("n", **given) == default | given
    answer = await transport.http.get("/things/top/one/n?filter=a&few=1")
    assert answer.json()["given"] == default | {"matching": "a", "few": 1}
    with pytest.raises(RefusedError, match="few"):
        await things.show("n", few=10)
    with pytest.raises(TypeError, match="colour"):
        await things.show("n", colour="blue")  # type: ignore[call-arg]


async def test_the_body_is_what_the_arguments_are_wrapped_in(transport: Awaiting) -> None:
    """None at all are a body too."""
    things = Things(transport, "top")
    assert (await things.fill(Thing(1), Thing(2)))["things"] == {"things": [{"size": 1}, {"size": 2}]}
    assert (await things.fill())["things"] == {"things": []}
    answer = await transport.http.put("/things/top", json={"things": []})
    assert answer.status_code == 201


async def test_a_download_comes_in_pieces(transport: Awaiting) -> None:
    """Of an async client as an async iterator."""
    assert b"".join([piece async for piece in Things(transport, "top").export(times=4)]) == b"xxxx"
