"""Who may drive the sandbox, and who may not."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from emulator.client import Client, RefusedError
from emulator.embedded import Embedded, embedded
from emulator.settings import Settings


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:4570", "127.0.0.1.evil.example", "", "[::2]:1"]
)
def test_a_page_that_rebinds_its_name_is_refused(http: httpx.Client, host: str) -> None:
    """A request that names another host is answered with 403, to reads and writes alike."""
    for method, path in (("GET", "/status"), ("POST", "/reset")):
        answer = http.request(method, path, headers={"host": host})
        assert answer.status_code == 403
        assert answer.json()["error"]["code"] == "foreign_host"


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://localhost:3000", "file://", "http://127.0.0.1"]
)
def test_a_web_page_cannot_drive_the_sandbox(http: httpx.Client, origin: str) -> None:
    """A browser says which page it runs; any other than the sandbox's own is refused."""
    answer = http.post("/faults", json={"type": "duplicate"}, headers={"origin": origin})

    assert answer.status_code == 403
    assert answer.json()["error"]["code"] == "foreign_origin"
    assert http.get("/faults").json()["faults"] == []


def test_the_sandboxs_own_page_may(emulator: Embedded, http: httpx.Client) -> None:
    """The origin that is the address itself is no stranger."""
    assert http.get("/status", headers={"origin": emulator.control}).status_code == 200


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:4570", "127.0.0.1:1", "[::1]:4570"])
def test_the_names_of_this_machine_are_ours(http: httpx.Client, host: str) -> None:
    """Any name of loopback, with any port, since a container may map another one."""
    assert http.get("/health", headers={"host": host}).status_code == 200


def test_another_name_can_be_allowed() -> None:
    """In a compose network the sandbox is called by its service's name."""
    settings = Settings(aws_port=0, control_port=0, data_dir=None, allowed_hosts=("emulator",))
    with embedded(settings) as emulator:
        answer = httpx.get(f"{emulator.control}/health", headers={"host": "emulator:4570"}, trust_env=False)
    assert answer.status_code == 200


@pytest.fixture(scope="module")
def guarded() -> Iterator[str]:
    with embedded(Settings(aws_port=0, control_port=0, data_dir=None, token="secret")) as emulator:
        yield emulator.control


def test_with_a_token_nobody_gets_in_without_it(guarded: str) -> None:
    """401 without or with a wrong one; health alone is open, for those who wait for a start."""
    for token in (None, "wrong", "secret2"):
        with Client(guarded, token=token) as client, pytest.raises(RefusedError) as refused:
            client.status()
        assert (refused.value.status, refused.value.code) == (401, "token_needed")
    assert httpx.get(f"{guarded}/health", trust_env=False).status_code == 200


def test_with_the_token_any_name_will_do(guarded: str) -> None:
    """The token is the proof that it is no page."""
    headers = {"authorization": "Bearer secret", "host": "any.example"}

    assert httpx.get(f"{guarded}/status", headers=headers, trust_env=False).status_code == 200
    with Client(guarded, token="secret") as client:
        assert client.status().version
