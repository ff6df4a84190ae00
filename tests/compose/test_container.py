"""The image of the emulator as it is built here, and ``SandboxContainer`` on the engine of this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from emulator.assembly.embedded import embedded
from emulator.rng import new_uuid
from emulator.settings.settings import Settings
from rdss_sandbox.client import Client
from rdss_sandbox.machine.docker_connection import connect
from rdss_sandbox.process import SandboxNotStartedError
from rdss_sandbox.shapes.messages import NewMessage
from rdss_sandbox.testing import SandboxContainer, container
from tests.waiting import wait_until

pytestmark = [pytest.mark.compose, pytest.mark.timeout(900), pytest.mark.xdist_group("compose")]


@pytest.fixture(scope="module")
def docker() -> Iterator[Any]:
    """A client of the engine; skipped where there is none."""
    from docker.errors import DockerException

    try:
        client = connect(os.environ)
        client.ping()
    except (DockerException, OSError) as error:
        pytest.skip(f"NO DOCKER ENGINE ({error}): no image was built, no container was run")
    yield client
    client.close()


@pytest.fixture(scope="module")
def image(docker: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The image, built as users build it, under a name of its own."""
    name = f"rdss-sandbox-test-{new_uuid()[:8]}:local"
    ran = subprocess.run(
        [sys.executable, "-m", "sandbox", "image", "--tag", name, "--json"],
        cwd=tmp_path_factory.mktemp("image"),
        capture_output=True,
        text=True,
        check=False,
        timeout=800,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert json.loads(ran.stdout) == {"image": name}
    yield name
    docker.images.remove(name, force=True)


def wait_until_gone(docker: Any, container_id: str) -> None:
    """Wait until the engine has removed a container, a minute at most."""
    wait_until(lambda: all(each.id != container_id for each in docker.containers.list(all=True)))


def test_a_container_is_a_sandbox(docker: Any, image: str, tmp_path: Path) -> None:
    """What a test writes is what it writes for ``Sandbox``; nothing is left of the container."""
    (tmp_path / "mine.yaml").write_text("streams: {mine: 2}\n")
    topology = str(tmp_path / "mine.yaml")
    given = {"seed": 7, "faults": ["duplicate"], "services": ["s3"], "clock": "2026-01-01T00:00:00Z"}
    with SandboxContainer(image, topology=topology, **given) as kit:
        identity = kit.container_id
        kit.send({"messageHeader": {"messageId": "m-1"}}, "mine")
        assert [each.message_id for each in kit.stream("mine").records()] == ["m-1"] * 2
        assert boto3.client("kinesis").describe_stream_summary(StreamName="mine")
        assert kit.reshard.split("mine").open_shards == 3
        assert kit.clock.read().time < 1_767_225_900
        assert (kit.seed, kit.client.status().seed) == (7, 7)
        # A program that is pointed at it is let in, and finds it at the addresses that the sandbox tells.
        told = subprocess.run(
            [sys.executable, "-m", "sandbox", "messages", "--json"],
            env=kit.environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert "m-1" in told.stdout, told.stderr
        with pytest.raises(AssertionError, match="m-1 was not processed: it is in mine"):
            kit.assert_processed_once(["m-1"])
    wait_until_gone(docker, identity)


async def test_it_begins_as_a_snapshot_in_a_coroutine_too(
    image: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that a sandbox of this machine saved, whose files only its user can read."""
    settings = Settings(data_dir=tmp_path / ".sandbox" / "data", aws_port=0, control_port=0, seed=1)
    with embedded(settings) as emulator, Client(emulator.control) as client:
        client.send(NewMessage("input", b"saved"))
        client.snapshots.save("lesson-3")
    monkeypatch.chdir(tmp_path)
    async with SandboxContainer(image, snapshot="lesson-3") as kit:
        assert [record.data for record in await kit.records("input")] == [b"saved"]


def test_it_ends_with_a_process_that_is_killed(docker: Any, image: str) -> None:
    program = (
        "import os, signal, sys\n"
        "from rdss_sandbox.testing import SandboxContainer\n"
        "with SandboxContainer(sys.argv[1]) as kit:\n"
        "    print(kit.container_id, flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program, image], capture_output=True, text=True, check=False, timeout=120
    )
    assert len(ran.stdout.strip()) == 64, ran.stderr
    wait_until_gone(docker, ran.stdout.strip())


def test_a_container_that_ends_says_why(image: str, tmp_path: Path) -> None:
    """What the sandbox in it said last."""
    (tmp_path / "mine.yaml").write_text("colour: blue\n")
    with (
        pytest.raises(SandboxNotStartedError, match="colour"),
        SandboxContainer(image, topology=str(tmp_path / "mine.yaml")),
    ):
        pass


def test_an_image_of_another_version_is_refused(image: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container, "VERSION", "99.0")
    with pytest.raises(SandboxNotStartedError, match=r"and this is 99\.0"), SandboxContainer(image):
        pass
