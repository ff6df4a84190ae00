"""The commands that run applications, the adaptor and the file server, against an emulator."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import md5
from pathlib import Path
from typing import Any

import pytest

from emulator.clock import Clock
from sandbox.adaptor.example.small_repository import SmallRepository, sample_deposits
from schemas.rdss.envelope import serialise
from schemas.rdss.samples import Samples
from tests.taken_out import needs

Ask = Callable[..., Any]


@contextmanager
def _running(*arguments: str) -> Iterator[str]:
    """A command as a process that prints an address; what it said first."""
    command = [sys.executable, "-m", "sandbox", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()
            process.wait(60)


def _lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_the_adaptor_publishes_the_example_and_the_repository_takes_it(ask: Ask) -> None:
    """Three deposits, one confidential: two creates, received by the repository; none the next time."""
    with _running("adaptor", "example", "--port", "0") as url:
        adapted = ask("adaptor", "run", "--source", url, "--once", "--json")
        assert (adapted.code, len(_lines(adapted.out))) == (0, 2)
        again = ask("adaptor", "run", "--source", url, "--once")
        assert (again.code, again.out) == (0, "")
    ran = ask("application", "run", "repository", "--once")
    assert (ran.code, ran.err) == (0, "")
    assert [line.split()[0] for line in ran.out.splitlines()] == ["MetadataCreate"] * 2
    assert ask("application", "run", "repository", "--once").out == ""


def test_an_item_that_makes_no_message_is_told(ask: Ask) -> None:
    """With the error code on standard error, as a row of its own kind with --json, and counted."""
    untitled = sample_deposits()[0] | {"title": ""}
    with SmallRepository(Clock()).serving() as application:
        application.deposit(untitled)
        ran = ask("adaptor", "run", "--source", application.url, "--once", "--json")
    assert ran.code == 1
    (row,) = _lines(ran.out)
    assert row["rejected"]["code"] == "GENERR001"
    line, count = ran.err.splitlines()
    assert line.startswith(f"sandbox: item {row['rejected']['item']} makes no message: GENERR001: ")
    assert count == "sandbox: 1 item makes no message"


@needs("processing")
def test_a_repository_that_works_later_does_the_same(ask: Ask) -> None:
    """With --asynchronous every message is written down first; the deeds are the same, and once each."""
    with _running("adaptor", "example", "--port", "0") as url:
        ask("adaptor", "run", "--source", url, "--once")
    ran = ask("application", "run", "repository", "--asynchronous", "--once")
    assert (ran.code, ran.err) == (0, "")
    assert [line.split()[0] for line in ran.out.splitlines()] == ["MetadataCreate"] * 2
    assert ask("application", "run", "repository", "--asynchronous", "--once").out == ""


def test_the_preservation_system_fetches_over_https(ask: Ask, tmp_path: Path) -> None:
    """A file from a server that cuts every answer is packaged; the event is on the output channel."""
    content = b"reef" * 100_000
    (tmp_path / "served").mkdir()
    (tmp_path / "served" / "reef.csv").write_bytes(content)
    message = Samples(3).message("MetadataCreate", "dataset")
    while not message["messageBody"]["objectFile"]:
        message = Samples(message["messageHeader"]["tenantJiscID"]).message("MetadataCreate", "dataset")
    with _running("files", "served", "--cut-after", "150000") as url:
        (file, *_) = message["messageBody"]["objectFile"]
        checksum = {**file["fileChecksum"][0], "checksumValue": md5(content).hexdigest()}
        file |= {"fileSize": len(content), "fileStorageLocation": f"{url}/reef.csv"}
        message["messageBody"]["objectFile"] = [{**file, "fileChecksum": [checksum]}]
        Path("one.json").write_bytes(serialise(message))
        assert ask("send", "one.json").code == 0
        trust = str(Path(".sandbox", "files-authority.pem"))
        ran = ask("application", "run", "preservation", "--once", "--trust", trust, "--json")
    (deed,) = _lines(ran.out)
    assert deed["did"].endswith("with 1 files")
    (event,) = _lines(ask("receive", "--channel", "output", "--json").out)
    package = Path(".sandbox", "preservation", "packages", f"{event['messageBody']['packageUUID']}.zip")
    assert package.is_file()


def test_the_preservation_system_fetches_over_plain_http(ask: Ask, tmp_path: Path) -> None:
    """Where the metadata names HTTP as the platform; a line says what that risks."""
    (tmp_path / "served").mkdir()
    (tmp_path / "served" / "reef.csv").write_bytes(b"reef")
    message = Samples(3).message("MetadataCreate", "dataset")
    while not message["messageBody"]["objectFile"]:
        message = Samples(message["messageHeader"]["tenantJiscID"]).message("MetadataCreate", "dataset")
    (file, *_) = message["messageBody"]["objectFile"]
    checksum = file["fileChecksum"][0] | {"checksumType": "md5", "checksumValue": md5(b"reef").hexdigest()}
    platform = file["fileStoragePlatform"] | {"storagePlatformType": "HTTP"}
    with _running("files", "served", "--plain") as url:
        location = f"{url}/reef.csv"
        file |= {"fileSize": 4, "fileStorageLocation": location, "fileStoragePlatform": platform}
        message["messageBody"]["objectFile"] = [file | {"fileChecksum": [checksum]}]
        Path("one.json").write_bytes(serialise(message))
        ask("send", "one.json")
        ran = ask("application", "run", "preservation", "--once", "--json")
    assert url.startswith("http://")
    assert _lines(ran.out)[0]["did"].endswith("with 1 files")
    assert ran.err.startswith(
        f"sandbox: {location} comes over plain HTTP: whoever is on the way can read and "
    )


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("adaptor", "run", "--source", "http://127.0.0.1:9", "--once"), 3, "does not answer"),
        (("adaptor", "run", "--source", "x", "--mapping", "none.yaml"), 2, "none.yaml cannot be read"),
        (("application", "run", "repository", "--answers", "nowhere"), 2, "no stream 'nowhere'"),
    ],
)
def test_what_cannot_run_is_one_line(ask: Ask, arguments: tuple[str, ...], code: int, said: str) -> None:
    """What was wrong, with which value, and the exit code that says which kind."""
    ran = ask(*arguments)
    assert ran.code == code
    assert said in ran.err
    assert len(ran.err.splitlines()) == 1


@pytest.mark.slow
def test_the_rdss_topology_routes_between_processes(process: Ask, tmp_path: Path) -> None:
    """sandbox up --topology rdss: what an institution sends is received from the services' output."""
    ports = ("--aws-port", "0", "--control-port", "0", "--amqp", "none")
    up = process("up", *ports, "--topology", "rdss", "--detach", "--json")
    assert up.code == 0, up.err
    message = Samples(1).message("MetadataCreate", "dataset")
    message["messageHeader"]["tenantJiscID"] = 1539
    (tmp_path / "one.json").write_bytes(serialise(message))
    assert process("send", "one.json", "--channel", "institute_1539_input_dev").code == 0
    received = process(
        "receive", "--channel", "shared_services_output_dev", "--count", "1", "--follow", "--json"
    )
    history = json.loads(received.out)["messageHeader"]["messageHistory"]
    assert history[-1]["machineId"] == "rdss-institutional-content-based-router"
    assert process("down").code == 0


@pytest.mark.parametrize(
    "how", [(), pytest.param(("--asynchronous",), marks=needs("processing"))], ids=["at once", "later"]
)
def test_what_a_repository_refuses_is_told(ask: Ask, how: tuple[str, ...]) -> None:
    """A read of what is not there, a body that is none, and bytes: the code, queue and id, and the reason."""
    read = Samples(5).message("MetadataDelete")
    uuid = read["messageBody"]["objectUUID"]
    read["messageHeader"]["messageType"] = "MetadataRead"
    create = Samples(6).message("MetadataCreate", "dataset")
    create["messageBody"] = {}
    Path("refused.ndjson").write_bytes(serialise(read) + b"\n" + serialise(create) + b"\n")
    Path("bytes.json").write_bytes(b"\x1b[2Jno message")
    assert ask("send", "refused.ndjson").code == 0
    assert ask("send", "bytes.json", "--as-is").code == 0
    ran = ask("application", "run", "repository", "--once", *how)
    assert ran.out == ""
    *lines, last = sorted(ran.err.splitlines(), key=lambda line: "rejected" in line)
    said = {line.split()[1]: line for line in lines}
    read_id, create_id = (each["messageHeader"]["messageId"] for each in (read, create))
    assert said["APPERRMET003"] == (
        f"sandbox: APPERRMET003 moved {read_id} to the queue invalid: there is no object {uuid} to read"
    )
    assert said["GENERR001"].startswith(f"sandbox: GENERR001 moved {create_id} to the queue invalid: ")
    assert said["GENERR007"].startswith(
        "sandbox: GENERR007 moved a message without an id to the queue invalid"
    )
    assert last == "sandbox: 3 rejected: 3 in invalid"
    assert "\x1b" not in ran.err


def test_a_refusal_is_printed_for_programs(ask: Ask) -> None:
    """With --json a row of its own kind: which message, and why nothing came of it; by either application."""
    message = Samples(5).message("MetadataDelete")
    message["messageBody"]["objectUUID"] = "none"
    Path("one.json").write_bytes(serialise(message))
    assert ask("send", "one.json").code == 0
    for kind in ("repository", "preservation"):
        (row,) = _lines(ask("application", "run", kind, "--once", "--json").out)
        rejected = row["rejected"]
        assert (rejected["messageType"], rejected["code"]) == ("MetadataDelete", "GENERR010")
        assert rejected["messageId"] == message["messageHeader"]["messageId"]
        assert rejected["why"].startswith("/messageBody/objectUUID")
