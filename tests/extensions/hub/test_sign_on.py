"""A proxy that knows who calls: its header is believed, and that of nobody else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.extensions.hub.running_hub import RunningHub, start_hub

PEOPLE = """
[sign_on]
header = "X-Forwarded-Email"
proxies = ["{proxy}"]
add = true

[people.anna-berg]
token = "of-anna"
"""
ANNA = {"x-forwarded-email": "Anna.Berg@example.org"}


@pytest.fixture(scope="module", params=["127.0.0.1", "10.0.0.5"])
def hub(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHub]:
    """Behind a proxy at that address."""
    folder: Path = tmp_path_factory.mktemp("hub")
    (folder / "people.toml").write_text(PEOPLE.format(proxy=request.param), encoding="utf-8")
    with start_hub(folder) as found:
        yield found


def test_a_person_whom_the_proxy_names_needs_no_token(hub: RunningHub) -> None:
    """They are led to their own seat, new ones are added, and the seat of another stays shut."""
    believed = 'proxies = ["127.0.0.1"]' in (hub.folder / "people.toml").read_text(encoding="utf-8")
    host = hub.url.partition("://")[2].replace("127.0.0.1", "localhost")
    with httpx.Client(trust_env=False, base_url=hub.url) as browser:
        there = {"host": f"anna-berg.{host}", "accept": "text/html"}
        assert browser.get("/streams", headers={**ANNA, **there}).status_code == (200 if believed else 401)
        led = browser.get("/", headers={**ANNA, "host": host})
        assert led.status_code == (303 if believed else 404)
        assert browser.get("/streams", headers=there).status_code == 401
        if believed:
            assert led.headers["location"] == f"http://anna-berg.{host}/"
            led = browser.get("/", headers={"x-forwarded-email": "new@example.org", "host": host})
            assert led.headers["location"] == f"http://new.{host}/"
            other = {**there, "x-forwarded-email": "new@example.org"}
            assert browser.get("/streams", headers=other).status_code == 401
        assert {each.name for each in hub.seats.list().seats} == (
            {"anna-berg", "new"} if believed else {"anna-berg"}
        )
        assert browser.get("/hub/seats", headers=ANNA).status_code == 401
