"""An agent with no model behind it, which knows nothing but what it reads by the tools of ``sandbox mcp``."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from emulator.assembly.embedded import Embedded, embedded
from emulator.settings.settings import Settings
from rdss_sandbox.aws_environment import aws_environment
from rdss_sandbox.client import Client
from rdss_sandbox.shapes.messages import WantedSamples
from tests.extensions.mcp.connected_agent import ConnectedAgent, ToolError, connect_agent
from tests.taken_out import ROOT
from tests.waiting import wait_until

NAIVE = ROOT / "tests/sandbox/certify/clients/naive_consumer.py"


@pytest.fixture
def emulator() -> Iterator[Embedded]:
    with embedded(Settings(aws_port=0, control_port=0, data_dir=None, seed=7)) as found:
        yield found


@pytest.fixture
def program(emulator: Embedded, tmp_path: Path) -> Path:
    """The naive consumer, which has read the sandbox's stream for a while, and left what was there before."""
    path = tmp_path / "consumer.py"
    shutil.copyfile(NAIVE, path)
    environment = {**os.environ, **aws_environment(emulator.aws, "us-east-1"), "SANDBOX_STREAM": "input"}
    with Client(emulator.control) as client:
        client.send_samples(WantedSamples(stream="input", count=5))
        with subprocess.Popen([sys.executable, path], env=environment, stdout=subprocess.DEVNULL) as consumer:
            wait_until(lambda: client.readers().readers)
            consumer.kill()
    return path


def list_processes() -> str:
    return subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout


async def certify(agent: ConnectedAgent, program: Path) -> Any:
    began = await agent.ask(
        "certify_consumer",
        command=[sys.executable, str(program)],
        level="bronze",
        group="delivery",
        seed=7,
        patience="3s",
        no_shrink=True,
    )
    while (found := await agent.ask("certificate", folder=began["folder"])).get("ready") is False:
        pass
    return found


async def find_programs(agent: ConnectedAgent, wrong: list[str], about: str) -> AsyncIterator[str]:
    """The programs of the documentation that stand behind its words on everything that is wrong."""
    for section in await agent.ask("docs_search", query=" ".join([*wrong, about])):
        text = await agent.read("docs_read", page=section["page"], heading=section["heading"])
        if all(f"`{each}`" in text for each in wrong):
            behind = max(text.index(f"`{each}`") for each in wrong)
            for found in re.findall(r"```python\n(.*?)```", text[behind:], re.DOTALL):
                yield found


@pytest.mark.timeout(600)
async def test_it_takes_the_naive_consumer_to_bronze(
    emulator: Embedded, program: Path, tmp_path: Path
) -> None:
    """The diagnosis and the certificate say what is wrong, and the documentation what is right."""
    async with connect_agent("--allow-changes", "--control", emulator.control, directory=tmp_path) as agent:
        findings = (await agent.ask("diagnosis", later=60))["findings"]
        assert "skipped-at-start" in {each["rule"] for each in findings}
        certificate = await certify(agent, program)
        wrong = [each["id"] for each in certificate["clauses"] if each["verdict"] == "fail"]
        assert certificate["level"] is None
        assert {"nothing-lost", "nothing-twice"} <= set(wrong)
        async for found in find_programs(agent, wrong, " ".join(each["advice"] for each in findings)):
            await asyncio.to_thread(program.write_text, found, encoding="utf-8")
            certificate = await certify(agent, program)
            if certificate["level"] == "bronze":
                break
        assert certificate["level"] == "bronze"


async def test_a_client_that_cannot_be_started_is_told(emulator: Embedded, tmp_path: Path) -> None:
    """By the command's own sentence; and so is an option that it does not take."""
    async with connect_agent("--allow-changes", "--control", emulator.control, directory=tmp_path) as agent:
        began = await agent.ask("certify_consumer", command=[str(tmp_path / "nothing")])
        with pytest.raises(ToolError, match="nothing"):
            await agent.ask("certificate", folder=began["folder"])
        began = await agent.ask("certify_producer", command=["true"], stage=["nope"])
        with pytest.raises(ToolError, match="--stage"):
            await agent.ask("certificate", folder=began["folder"])


async def test_a_certification_ends_with_the_agent(emulator: Embedded, tmp_path: Path) -> None:
    """Its client too: nothing that an agent started stays behind."""
    marked = tmp_path / "started"
    script = f"import pathlib, signal; pathlib.Path({str(marked)!r}).touch(); signal.pause()"
    async with connect_agent("--allow-changes", "--control", emulator.control, directory=tmp_path) as agent:
        began = await agent.ask("certify_consumer", command=[sys.executable, "-c", script])
        while not marked.exists():
            assert (await agent.ask("certificate", folder=began["folder"], wait=0.1))["ready"] is False
    assert str(tmp_path) not in list_processes()
