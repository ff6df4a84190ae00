"""``sandbox mcp``, as the client of the SDK finds it over standard input and output."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from mcp import MCPError

from emulator.assembly.embedded import Embedded, embedded
from emulator.settings.settings import Settings
from rdss_sandbox.api.control_api import SUBJECTS
from rdss_sandbox.api.endpoint import list_endpoints
from rdss_sandbox.client import Client
from tests.extensions.mcp.connected_agent import ToolError, connect_agent

REFUSED: Sequence[tuple[str, dict[str, object], str]] = (
    ("stream", {"name": "nope"}, "no_such_stream: no stream is named 'nope'; there are: audit, error"),
    ("messages", {"filter": "nope:1"}, "bad_filter: filter: no field 'nope'; there are id,"),
    ("add_fault", {"fault": {"type": "nope"}}, "bad_fault: no fault type 'nope'; there are reshard,"),
    ("add_fault", {"fault": 7}, "bad_request: the body is 7: it is an object"),
    ("events", {"limit": "many"}, "bad_request: limit is 'many': it is a whole number"),
    ("stream", {}, "stream needs the argument 'name'; its arguments are: name"),
    ("status", {"of": "it"}, "status has no argument 'of'; its arguments are: none"),
    ("nope", {}, "there is no tool 'nope'"),
    ("docs_read", {"page": "../README.md"}, "there is no page '../README.md'; there are: access.md,"),
    ("docs_read", {"page": "certify.md", "heading": "Nope"}, "certify.md has no section 'Nope'; it has: "),
    ("docs_search", {"query": "a", "limit": 0}, "limit is a number from 1, and not 0"),
    ("certificate", {"folder": "nowhere"}, "is no certificate of this version"),
    ("certificate", {"folder": "nowhere", "wait": 31}, "wait is from 0 to 30 seconds, and not 31"),
)
"""A tool, its arguments, and what is said of them."""


@pytest.fixture
def emulator() -> Iterator[Embedded]:
    with embedded(Settings(aws_port=0, control_port=0, data_dir=None, seed=7)) as found:
        yield found


async def test_without_allow_changes_no_tool_changes_anything(emulator: Embedded, tmp_path: Path) -> None:
    """Of the control API only what is read with GET, and what judges bytes that are put nowhere."""
    changing = {each.name for subject in SUBJECTS for each in list_endpoints(subject) if each.method != "GET"}
    async with connect_agent("--control", emulator.control, directory=tmp_path) as agent:
        tools = await agent.list_tools()
        assert all(each.annotations.read_only_hint for each in tools.values())
        assert changing & {name.rpartition("_")[2] for name in tools} <= {"judge"}
        assert changing & tools.keys() == {"judge"}
        assert {"status", "streams", "messages", "events", "diagnosis", "scenarios_list"} <= tools.keys()
        assert {"certificate", "certify_list", "docs_search", "docs_read"} <= tools.keys()
        assert not {"certify_consumer", "certify_producer"} & tools.keys()
        with pytest.raises(ToolError, match="start the server with: sandbox mcp --allow-changes"):
            await agent.ask("add_fault", fault={"type": "duplicate"})
        with pytest.raises(ToolError, match="start the server with: sandbox mcp --allow-changes"):
            await agent.ask("certify_consumer", command=["touch", str(tmp_path / "touched")])
    assert not (tmp_path / "touched").exists()
    with Client(emulator.control) as client:
        assert client.faults() == ()


async def test_with_it_an_agent_sends_breaks_and_resets(emulator: Embedded, tmp_path: Path) -> None:
    """And what it did is seen by every other client of the sandbox."""
    async with connect_agent("--allow-changes", "--control", emulator.control, directory=tmp_path) as agent:
        tools = await agent.list_tools()
        assert not tools["send"].annotations.read_only_hint
        certify = tools["certify_consumer"].input_schema
        assert certify["required"] == ["command"]
        assert {"kinesis", "rabbitmq"} <= {*certify["properties"]["channel"]["enum"]}
        assert certify["properties"]["level"]["enum"] == ["bronze", "silver", "gold"]
        await agent.ask("add_fault", fault={"type": "duplicate", "limit": 1})
        await agent.ask("send_samples", wanted={"stream": "input", "count": 3})
        split = await agent.ask("reshard", name="input", change={"action": "split"})
        assert split["open_shards"] == 3
        await agent.ask("reshard", name="input", change={"action": "merge"})
        frozen = await agent.ask("change_clock", change={"action": "freeze"})
        assert frozen["speed"] == 0
        with Client(emulator.control) as client:
            assert client.messages(limit=0).total == 4
            assert [each.injected for each in client.faults()] == [1]
        found = await agent.ask("messages", filter="stream:input", limit=2)
        assert (len(found["messages"]), found["total"]) == (2, 4)
        assert (await agent.ask("remove_fault", name="duplicate"))["injected"] == 1
        await agent.ask("reset")
        with Client(emulator.control) as client:
            assert client.messages(limit=0).total == 0


async def test_what_is_refused_is_an_error_of_the_tool(emulator: Embedded, tmp_path: Path) -> None:
    """With the sentence of the control API and its code, and the server goes on."""
    async with connect_agent("--allow-changes", "--control", emulator.control, directory=tmp_path) as agent:
        for tool, arguments, sentence in REFUSED:
            with pytest.raises(ToolError) as refused:
                await agent.read(tool, **arguments)
            assert sentence in str(refused.value)
        assert (await agent.ask("version"))["version"]


async def test_every_reading_tool_is_answered(emulator: Embedded, tmp_path: Path) -> None:
    """Each that needs no argument, and as a resource each of the control API."""
    async with connect_agent("--control", emulator.control, directory=tmp_path) as agent:
        for name, tool in (await agent.list_tools()).items():
            assert tool.description, name
            if not tool.input_schema["required"] and not name.startswith("scenarios_"):
                assert await agent.ask(name), name
        resources = (await agent.client.list_resources()).resources
        titles = {str(each.uri): each.title for each in resources}
        assert titles["sandbox://docs/certify.md"] == "Certify a client"
        (read,) = (await agent.client.read_resource("sandbox://status")).contents
        assert json.loads(read.text)["control"] == emulator.control
        (page,) = (await agent.client.read_resource("sandbox://docs/diagnose.md")).contents
        assert page.text.startswith("# ")
        with pytest.raises(MCPError, match="there is no page 'sandbox://nope'"):
            await agent.client.read_resource("sandbox://nope")


async def test_a_sandbox_may_come_after_the_agent(tmp_path: Path) -> None:
    """Without one, each call says how to start it; the documentation is there all the same."""

    async def sandbox(*words: str) -> None:
        command = [sys.executable, "-m", "sandbox", *words]
        await asyncio.to_thread(subprocess.run, command, cwd=tmp_path, check=True, capture_output=True)

    async with connect_agent(directory=tmp_path) as agent:
        with pytest.raises(ToolError, match="no sandbox was started here; start one with: sandbox up"):
            await agent.ask("status")
        (found, *_) = await agent.ask("docs_search", query="every-shard-read parents-before-children")
        assert found["page"] == "certify.md"
        await sandbox("up", "--detach", "--aws-port", "0", "--control-port", "0", "--amqp", "none")
        try:
            assert (await agent.ask("status"))["streams"]
            assert len((await agent.ask("scenarios_list"))["scenarios"]) > 10
        finally:
            await sandbox("down")
        with pytest.raises(ToolError, match="start one with: sandbox up"):
            await agent.ask("status")


def test_it_ends_when_it_is_told_to(tmp_path: Path) -> None:
    """By SIGTERM, though the agent's program keeps its standard input open."""
    asked = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}
    command = [sys.executable, "-m", "sandbox", "mcp"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        line = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": asked}
        print(json.dumps(line), file=server.stdin, flush=True)
        assert "--allow-changes" in json.loads(server.stdout.readline())["result"]["instructions"]
        server.terminate()
        assert server.wait(30) == 130
