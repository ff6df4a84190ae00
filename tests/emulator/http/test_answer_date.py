"""``Date`` on every answer of every port, on the sandbox's clock."""

from __future__ import annotations

from collections.abc import Callable
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from emulator.assembly.embedded import embedded
from emulator.clock import Clock
from emulator.http.asgi import answer
from emulator.http.server import Server
from emulator.settings.settings import Settings
from rdss_sandbox.installed_extensions import list_ports

NOON = 1_790_000_000.0


def dated(answered: httpx.Response) -> float:
    (date,) = answered.headers.get_list("date")
    assert date.endswith(" GMT")
    return parsedate_to_datetime(date).timestamp()


@pytest.mark.parametrize("http2", [False, True], ids=["http1", "h2c"])
def test_the_date_is_what_the_clock_shows(served: Callable[..., Server], http2: bool) -> None:
    """To the second, and another one as soon as the clock is advanced."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await answer(send, 200, [], b"")

    clock = Clock(frozen_at=NOON + 0.9)
    server = served(app, clock=clock)
    with httpx.Client(base_url=server.url, http1=not http2, http2=http2, trust_env=False) as http:
        assert dated(http.get("/")) == NOON
        clock.advance(300.2)
        assert dated(http.get("/")) == NOON + 301


def test_an_application_that_dates_its_answer_is_left_alone(served: Callable[..., Server]) -> None:
    """There is one Date, whoever gives it."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await answer(send, 200, [(b"Date", b"Thu, 01 Jan 1970 00:00:00 GMT")], b"")

    assert dated(httpx.get(served(app).url, trust_env=False)) == 0


def test_what_is_refused_is_dated_too(served: Callable[..., Server]) -> None:
    """Also where no application was asked."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        raise ValueError

    server = served(app, clock=Clock(frozen_at=NOON), on_failure=lambda _: None)
    for path, status in (("/", 500), ("/" + "a" * 20_000, 414)):
        answered = httpx.get(server.url + path, trust_env=False)
        assert (answered.status_code, dated(answered)) == (status, NOON)


def test_every_port_dates_its_answers(tmp_path: Path) -> None:
    """AWS (Kinesis and the others), control and those of extensions show the sandbox's time."""
    settings = Settings(aws_port=0, control_port=0, data_dir=None)
    with embedded(settings, Clock(frozen_at=NOON)) as sandbox:
        for url in (
            f"{sandbox.aws}/health",
            f"{sandbox.aws}/",
            f"{sandbox.control}/version",
            f"{sandbox.control}/nothing",
            *(f"{sandbox.urls[name]}/nothing" for name, _ in list_ports()),
        ):
            assert dated(httpx.get(url, trust_env=False, timeout=30)) == NOON, url
