"""What a sandbox writes is for nobody but its user: there are messages in it."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boto3
import httpx
import pytest

from rdss_sandbox.installed_extensions import list_ports
from tests.sandbox.cli.conftest import Ran
from tests.taken_out import list_taken_out

PORTS = (f"--{name}-port=0" for name in ("aws", "control", *dict(list_ports())))
UP = (*PORTS, "--detach", "--json")
HEADERS = {"client-id": "3381af92-2b9e-11e3-b191-71861300734c", "x-project-id": "p"}


def modes(folder: Path) -> dict[str, int]:
    """Of everything in a folder that may be for others, by its name."""
    found = (folder, *folder.rglob("*"))
    return {
        str(path): stat.S_IMODE(path.stat().st_mode)
        for path in found
        if not path.is_symlink() and stat.S_IMODE(path.stat().st_mode) & 0o077
    }


def used(said: dict[str, Any]) -> None:
    """Have something of everything written down."""
    keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "region_name": said["region"]}
    kinesis = boto3.client("kinesis", endpoint_url=said["aws"], **keys)
    for number in range(20):
        kinesis.put_record(StreamName="input", Data=b'{"a": 1}', PartitionKey=str(number))
    kinesis.split_shard(StreamName="input", ShardToSplit="shardId-000000000000", NewStartingHashKey="9")
    if queues := said["ports"].get("queues"):
        httpx.put(f"{queues}/v2/queues/q", headers=HEADERS)
    if topics := said["ports"].get("topics"):
        publish = {"cmd": "publish", "topic": "objects", "data": {"id": 1}}
        httpx.post(f"{topics}/topics/commands", json=publish)
    assert httpx.get(f"{said['control']}/messages").status_code == 200


@pytest.mark.usefixtures("elsewhere")
def test_directories_are_0700_and_files_0600(process: Callable[..., Ran], tmp_path: Path) -> None:
    """Logs, indexes, SQLite's own files, the token; under a umask that would leave all of it open."""
    before = os.umask(0)
    try:
        up = process("up", *UP)
        assert up.code == 0, up.err
        used(json.loads(up.out))
        written = {path.name for path in (tmp_path / ".sandbox").rglob("*")}
        assert {"messages.db", "events.log", "state.log", "running.json"} <= written
        assert ("queues.log" in written) == ("queues" not in list_taken_out())
        assert modes(tmp_path / ".sandbox") == {}
        sent = process("send", "-", stdin=process("message", "sample").out)
        assert sent.code == 0, sent.err
        assert modes(tmp_path / ".sandbox") == {}
    finally:
        os.umask(before)


@pytest.mark.slow
def test_what_an_earlier_version_left_open_is_closed(process: Callable[..., Ran], tmp_path: Path) -> None:
    """At the next start; what else lies in the directory is not ours to close."""
    assert process("up", *UP).code == 0
    assert process("down").code == 0
    data = tmp_path / ".sandbox" / "data"
    for path in (data, *data.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    other = data / "notes.txt"
    other.write_text("mine")
    other.chmod(0o644)
    assert process("up", *UP).code == 0
    assert modes(tmp_path / ".sandbox") == {str(other): 0o644}
