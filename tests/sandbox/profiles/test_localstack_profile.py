"""LocalStack as a process of ours: installed once, started, waited for, stopped with all that it started."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import httpx
import pytest

from sandbox.profiles.in_process import CannotStartError
from sandbox.profiles.localstack_profile import install, started

STAND_IN = """#!{python}
import http.server, json, os, pathlib, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
pathlib.Path("seen.json").write_text(json.dumps({{**os.environ, "child": str(child.pid)}}))
answers = iter([500, 500])
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(next(answers, 200))
        self.end_headers()
host, port = os.environ["GATEWAY_LISTEN"].split(":")
http.server.HTTPServer((host, int(port)), Handler).serve_forever()
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An installation whose LocalStack is a server of a few lines, and starts another process."""
    python = tmp_path / "environment" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(STAND_IN.format(python=sys.executable))
    python.chmod(0o755)
    return tmp_path


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_it_is_waited_for_and_stopped_with_what_it_started(home: Path) -> None:
    """Until Kinesis answers, on loopback alone; every place that it writes to is in its directory."""
    said: list[str] = []
    environment = os.environ | {"AWS_ENDPOINT_URL": "http://elsewhere", "SANDBOX_SEED": "7"}
    with started(home, environment, said.append) as url:
        assert httpx.post(url, content=b"{}").status_code == 200
        seen = json.loads((home / "seen.json").read_text())
        assert is_running(int(seen["child"]))
    assert not is_running(int(seen["child"]))
    with pytest.raises(httpx.ConnectError):
        httpx.get(url)
    assert seen["GATEWAY_LISTEN"].startswith("127.0.0.1:")
    for place in ("FILESYSTEM_ROOT", "TMPDIR", "HOME"):
        assert Path(seen[place]).is_relative_to(home)
    assert not {"AWS_ENDPOINT_URL", "SANDBOX_SEED"} & set(seen)
    assert url in said[0]


def test_one_that_ends_is_named_with_its_last_words(home: Path) -> None:
    """And where the rest is."""
    (home / "environment" / "bin" / "python").write_text("#!/bin/sh\necho no such engine\nexit 1\n")
    with (
        pytest.raises(CannotStartError, match=r"no such engine; see .*localstack\.log"),
        started(home, os.environ, lambda _: None),
    ):
        pass


def test_without_node_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is fetched."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CannotStartError, match="install nodejs and npm"):
        install(tmp_path / "home", lambda _: None)
    assert list((tmp_path / "home").iterdir()) == []
