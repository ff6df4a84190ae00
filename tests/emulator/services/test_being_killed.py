"""What moto's services acknowledged survives kill -9 at any instant, under a load on all of them at once."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import pytest

from emulator.clock import stopwatch
from emulator.rng import Chance
from rdss_sandbox.process import sandbox_process
from sandbox.profiles import localstack_profile
from tests.emulator.services.load import Clients, load, prepare, read_everything

SEED = 20_261_122
FEW, MANY = 3, 200
LEAST, MOST = 10, 150
"""How many acknowledgements a process lives to give."""


class Expected:
    """What must be there: of each key the value acknowledged last, or one asked for later."""

    def __init__(self) -> None:
        self.acknowledged = 0
        self._done: dict[tuple[str, str], str | None] = {}
        self._asked: dict[tuple[str, str], list[str | None]] = {}
        self._lock = threading.Lock()

    def note(self, word: str, service: str, key: str, value: str | None) -> None:
        with self._lock:
            if word == "asked":
                self._asked.setdefault((service, key), []).append(value)
                return
            self._asked.pop((service, key), None)
            self._done[service, key] = value
            self.acknowledged += 1

    def compare(self, found: dict[str, dict[str, str]]) -> list[str]:
        """What is not as it must be. What was found must be there from now on; messages were deleted."""
        has = {(service, key): value for service, values in found.items() for key, value in values.items()}
        wrong = []
        for place in self._done.keys() | self._asked.keys() | has.keys():
            allowed = [self._done.get(place), *self._asked.get(place, ())]
            if has.get(place) not in allowed:
                wrong.append(f"{place}: {has.get(place)}, not one of {allowed}")
        self._done = {place: value for place, value in has.items() if place[0] != "sqs"}
        self._asked = {}
        return wrong


def survive(directory: Path, deaths: int, *options: str, seed: int = SEED) -> None:
    """Start, compare, load and kill a sandbox again and again, on one directory and one port."""
    draws = Chance(seed).draws("deaths")
    expected = Expected()
    port, clients = 0, None
    for death in range(deaths + 1):
        given = ("--data-dir", str(directory), "--aws-port", str(port), *options)
        with sandbox_process(*given) as sandbox:
            port = urlsplit(sandbox.aws).port or 0
            clients = clients or Clients(sandbox.aws)
            if death:
                assert expected.compare(read_everything(clients)) == [], f"after death {death}"
            if death < deaths:
                last = expected.acknowledged + draws.randrange(LEAST, MOST)

                def note(*what: str | None, pid: int = sandbox.pid, last: int = last) -> None:
                    expected.note(*what)
                    if expected.acknowledged == last:
                        os.kill(pid, signal.SIGKILL)

                load(clients, seed + death, note)
    assert expected.acknowledged >= deaths * LEAST


@pytest.mark.slow
def test_a_few_deaths(tmp_path: Path) -> None:
    survive(tmp_path, FEW)


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("half", range(2))
def test_two_hundred_deaths(tmp_path: Path, half: int) -> None:
    """A hundred in each half, with draws of its own, so that two workers share them."""
    survive(tmp_path, MANY // 2, seed=SEED + half * MANY)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_moto_by_itself_loses_it_all() -> None:
    """The same load and the same death in moto's own server: nothing that it acknowledged is there."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    expected = Expected()
    with moto_server(port) as process:
        clients = Clients(url)

        def note(*what: str | None) -> None:
            expected.note(*what)
            if expected.acknowledged == MOST:
                process.kill()

        load(clients, SEED, note)
    assert expected.acknowledged >= MOST
    with moto_server(port):
        prepare(clients)
        assert {name: values for name, values in read_everything(clients).items() if values} == {}


FORGOTTEN: Final = ("s3", "sqs", "sns", "ssm")
"""What is compared with LocalStack: its DynamoDB wants an engine that no package registry has."""


@pytest.mark.compose
@pytest.mark.xdist_group("compose")
@pytest.mark.timeout(900)
def test_localstack_by_itself_loses_it_all(
    localstack_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same load and the same death in LocalStack, which is asked to keep what it holds, and does not."""
    monkeypatch.setattr(localstack_profile, "_SERVICES", ",".join(("kinesis", *FORGOTTEN)))
    # Another LocalStack may run in the home, so this one has files of its own.
    shutil.copytree(localstack_home / "files" / "usr", tmp_path / "files" / "usr", symlinks=True)
    (tmp_path / "environment").symlink_to(localstack_home / "environment")
    environment = {**os.environ, "PERSISTENCE": "1"}
    expected = Expected()
    others = find_localstacks()
    with localstack_profile.started(tmp_path, environment, print) as url:
        (found,) = find_localstacks() - others

        def note(*what: str | None) -> None:
            expected.note(*what)
            if expected.acknowledged >= MOST:
                with suppress(ProcessLookupError):
                    os.killpg(found, signal.SIGKILL)

        load(Clients(url), SEED, note, FORGOTTEN)
    assert expected.acknowledged >= MOST
    with localstack_profile.started(tmp_path, environment, print) as url:
        clients = Clients(url)
        prepare(clients, FORGOTTEN)
        assert not any(read_everything(clients, FORGOTTEN).values())


def find_localstacks() -> set[int]:
    """The process ids of the LocalStacks that this process has started and that still run."""
    lists = [path.read_text().split() for path in Path("/proc/self/task").glob("*/children")]
    children = {int(pid) for ours in lists for pid in ours}
    return {pid for pid in children if b"localstack.runtime" in Path(f"/proc/{pid}/cmdline").read_bytes()}


@contextmanager
def moto_server(port: int) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-c", "from moto.server import main; main()", "-p", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            deadline = stopwatch() + 180
            while stopwatch() < deadline and process.poll() is None:
                with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                    break
            yield process
        finally:
            process.kill()


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_deaths_with_fsync(tmp_path: Path) -> None:
    survive(tmp_path, FEW, "--fsync")
