"""What ``SandboxContainer`` says where it cannot start; tests/compose/test_container.py starts one."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from rdss_sandbox.process import SandboxNotStartedError
from rdss_sandbox.testing import ConfigurationError, SandboxContainer


class EmptyEngine(BaseHTTPRequestHandler):
    """A Docker engine without an image, which can get none."""

    def do_GET(self) -> None:
        found = self.path.partition("?")[0].endswith("/version")
        self._answer(200, {"ApiVersion": "1.44"}) if found else self._answer(
            404, {"message": "No such image"}
        )

    def do_POST(self) -> None:
        self._answer(500, {"message": "pull access denied, repository does not exist"})

    def _answer(self, status: int, body: object) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def empty_engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("SANDBOX_IMAGE", raising=False)
    with ThreadingHTTPServer(("127.0.0.1", 0), EmptyEngine) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("DOCKER_HOST", f"tcp://127.0.0.1:{server.server_port}")
        yield
        server.shutdown()


def explanation(container: SandboxContainer) -> str:
    with pytest.raises(SandboxNotStartedError) as refused, container:
        pass
    assert refused.value.code == 3
    return str(refused.value)


@pytest.mark.usefixtures("empty_engine")
def test_an_image_that_is_not_built_is_told_with_the_command_that_builds_it() -> None:
    assert explanation(SandboxContainer()) == (
        "the engine has no image rdss-sandbox:local; build it with: sandbox image"
    )


@pytest.mark.usefixtures("empty_engine")
def test_an_image_that_cannot_be_pulled_is_told_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the variable too, as the compose profile takes it."""
    monkeypatch.setenv("SANDBOX_IMAGE", "theirs/sandbox:1")
    assert "theirs/sandbox:1: pull access denied" in explanation(SandboxContainer())
    assert "mine/sandbox:1: pull access denied" in explanation(SandboxContainer("mine/sandbox:1"))


@pytest.mark.parametrize("host", ["unix:///nowhere/docker.sock", "tcp://127.0.0.1:9"])
def test_an_engine_that_does_not_answer_is_told_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    monkeypatch.setenv("DOCKER_HOST", host)
    said = explanation(SandboxContainer())
    assert said.startswith("no Docker engine answers: ")
    assert said.endswith("DOCKER_HOST says where it is, and Sandbox needs none")
    assert "\n" not in said


def test_without_the_extra_the_line_that_installs_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "docker", None)
    said = explanation(SandboxContainer())
    assert said.startswith("docker is not installed; get it with: ")
    assert "[compose]" in said


def test_it_is_configured_as_a_sandbox_is() -> None:
    """What no sandbox can be is refused before docker is asked; outside of its block there is none."""
    with pytest.raises(ConfigurationError, match="no service s4"):
        SandboxContainer(services=["s4"])
    with pytest.raises(RuntimeError, match="use it in a with block"):
        _ = SandboxContainer().container_id
