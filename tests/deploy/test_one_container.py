"""The Compose file of one sandbox, from the image that a workflow publishes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import httpx
import yaml

from rdss_sandbox.machine.docker_connection import IMAGE
from tests.ci_schemas import check_schema
from tests.deploy.conftest import TOKEN
from tests.docs.pages import blocks
from tests.docs.settings_page import of_sandbox

ROOT: Final = Path(__file__).parents[2]
FILE: Final = ROOT / "deploy" / "compose.yaml"
PAGE: Final = ROOT / "docs" / "how-to" / "server.md"
_VARIABLE: Final = re.compile(r"\$\{(\w+)(?::[-?]([^}]*))?\}")


def _service() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(FILE.read_text(encoding="utf-8"))["services"]["sandbox"]
    return found


def test_it_is_a_compose_file_of_the_image_as_it_is() -> None:
    """Its ports are the image's, on loopback; its user, command and health check are the image's own."""
    check_schema("compose-spec", FILE)
    service = _service()
    image = (ROOT / "compose" / "Dockerfile").read_text(encoding="utf-8")
    (exposed,) = re.findall(r"^EXPOSE (.*)$", image, re.MULTILINE)
    assert service["ports"] == [f"127.0.0.1:{port}:{port}" for port in exposed.split()]
    assert not service.keys() & {"user", "entrypoint", "command", "healthcheck", "privileged"}
    assert service["volumes"] == ["data:/data"]
    assert "VOLUME /data" in image


def test_nothing_can_be_written_but_the_volume() -> None:
    service = _service()
    assert (service["read_only"], service["tmpfs"], service["cap_drop"]) == (True, ["/tmp"], ["ALL"])
    assert service["security_opt"] == ["no-new-privileges:true"]


def test_the_line_of_the_page_runs_it_the_same_way() -> None:
    """``docker run`` of docs/how-to/server.md: its options are what the file says, on loopback."""
    (block,) = (each for each in blocks(PAGE) if each.text.startswith("docker run"))
    words = shlex.split(block.text.replace("\\\n", " ").partition("\n")[0])
    options = {word: value for word, value in pairwise(words) if word.startswith("--")}
    assert "--read-only" in words
    assert (options["--tmpfs"], options["--cap-drop"]) == ("/tmp", "ALL")
    assert [options["--security-opt"]] == _service()["security_opt"]
    assert (options["--env"], options["--volume"]) == ("SANDBOX_TOKEN", "sandbox:/data")
    published = {value for word, value in pairwise(words) if word == "--publish"}
    assert published < {*_service()["ports"]}
    assert words[-1] == IMAGE


def test_its_variables_are_settings_and_the_token_has_no_default() -> None:
    """A default that stands in a public file would be everybody's."""
    variables = _service()["environment"]
    settings = {f"SANDBOX_{name.upper()}" for name in of_sandbox()}
    assert variables.keys() - settings == {"TMPDIR"}
    assert variables["SANDBOX_TOKEN"].startswith("${SANDBOX_TOKEN:?")


def test_what_it_runs_answers(start: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    """With its variables as Compose fills them in, and the image's command."""

    def fill(match: re.Match[str]) -> str:
        return TOKEN if match[1] == "SANDBOX_TOKEN" else match[2]

    variables = {name: _VARIABLE.sub(fill, value) for name, value in _service()["environment"].items()}
    running = start(["up"], variables | {"TMPDIR": str(tmp_path)}, tmp_path)
    headers = {"authorization": f"Bearer {TOKEN}"}
    assert httpx.get(f"{running['control']}/health").status_code == 200
    assert httpx.get(f"{running['control']}/status", headers=headers).json()["seed"] == 0
