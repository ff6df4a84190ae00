"""Starting and stopping a sandbox as people and scripts do: as processes."""

from __future__ import annotations

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import IO, Any

import boto3
import pika
import pytest

from rdss_sandbox.client import Client
from sandbox.profiles import running

Process = Callable[..., Any]
QUIET = ("--aws-port", "0", "--control-port", "0", "--amqp", "none")


def resident_bytes(pid: int) -> int:
    """What a process holds in memory, of the machine's own account."""
    fields = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in fields if line.startswith("VmRSS"))


def test_up_detached_then_every_command_finds_it_then_down(process: Process) -> None:
    """One JSON object on standard output once it is ready; status needs no address; down leaves nothing."""
    up = process("up", *QUIET, "--seed", "7", "--detach", "--json")
    assert (up.code, up.err) == (0, "")
    found = json.loads(up.out)
    assert found["seed"] == 7
    assert found["amqp"] is None

    kinesis = boto3.client(
        "kinesis",
        endpoint_url=found["aws"],
        region_name="us-east-1",
        aws_access_key_id="any",
        aws_secret_access_key="any",
    )
    kinesis.put_record(StreamName="input", Data=b"x", PartitionKey="k")
    status = json.loads(process("status", "--json").out)
    assert (status["pid"], status["messages"]) == (found["pid"], 1)
    assert "nothing answers on the AMQP port: it was started with --amqp none" in status["notes"]

    down = process("down", "--json")
    assert json.loads(down.out) == {"pid": found["pid"], "stopped": True}
    assert not Path(".sandbox/running.json").exists()
    assert process("status").code == 3
    assert process("down").code == 3


def test_the_line_to_paste_is_all_that_boto3_needs(process: Process) -> None:
    """As it is printed, on a line of its own, in a shell with nothing else set."""
    up = process("up", *QUIET, "--region", "eu-west-2", "--detach")
    assert up.code == 0
    (line,) = [line for line in up.err.splitlines() if line.startswith("export ")]

    program = "import boto3; print(boto3.client('kinesis').list_streams()['StreamNames'])"
    pasted = f"{line}\n{shlex.quote(sys.executable)} -c {shlex.quote(program)}"
    ran = subprocess.run(
        ["env", "-i", "bash", "--norc", "-c", pasted], capture_output=True, text=True, check=False, timeout=60
    )
    assert ran.stderr == ""
    assert ran.stdout.strip() == "['audit', 'error', 'input', 'invalid', 'output']"
    # Java and JavaScript read the region from AWS_REGION alone.
    assert "AWS_REGION=eu-west-2" in line.split()


def test_up_prints_the_line_that_the_readme_has() -> None:
    """With the usual ports and region they are the same, and the reader need not compare."""
    readme = Path(__file__).parents[3].joinpath("README.md").read_text(encoding="utf-8")
    usual = running.Running(
        aws="http://127.0.0.1:4566",
        control="http://127.0.0.1:4570",
        amqp=None,
        pid=1,
        profile="embedded",
        seed=1,
        region="us-east-1",
        data_dir="data",
    )

    assert usual.exports in readme.splitlines()


def test_in_front_of_aws_no_credentials_are_put_in_place_of_yours() -> None:
    """The profile aws works with the shell's own."""
    relayed = running.Running(
        aws="http://127.0.0.1:1",
        control="",
        amqp=None,
        pid=1,
        profile="aws",
        seed=1,
        region="us-east-1",
        data_dir="data",
    )

    assert "AWS_ACCESS_KEY_ID" not in relayed.exports


def test_without_rabbitmq_the_sandbox_answers_amqp_itself(process: Process, tmp_path: Path) -> None:
    """The banner and the status say so; pika connects, unconfigured, and gets its message back."""
    nowhere = {**os.environ, "PATH": str(tmp_path)}
    code = (
        "import emulator.rabbitmq.broker_process as r; r._ADMINISTRATORS = (); "
        "from sandbox.cli import main; main(['up'])"
    )
    ports = {f"SANDBOX_{name}_PORT": "0" for name in ("AWS", "CONTROL", "QUEUES", "TOPICS", "AMQP")}
    with subprocess.Popen(
        [sys.executable, "-c", code], stderr=subprocess.PIPE, text=True, env=nowhere | ports
    ) as started:
        assert started.stderr is not None
        said = ""
        while "next:" not in said:
            line = started.stderr.readline()
            assert line, said
            said += line
        status = process("status").out
        url = json.loads(process("status", "--json").out)["amqp"]
        with closing(pika.BlockingConnection(pika.URLParameters(url))) as connection:
            channel = connection.channel()
            channel.queue_declare("greetings", durable=True)
            channel.confirm_delivery()
            channel.basic_publish("", "greetings", b"hello", mandatory=True)
            assert channel.basic_get("greetings", auto_ack=True)[2] == b"hello"
        started.terminate()

    for text in (said, status):
        assert "the AMQP port is answered by the sandbox's own broker" in text
        assert "nothing answers" not in text
    assert f"AMQP     {url}" in said


def test_streams_take_the_time_that_up_was_told(process: Process) -> None:
    """By the sandbox's clock: frozen, a stream is CREATING until somebody advances it."""
    found = json.loads(process("up", *QUIET, "--transition-seconds", "30", "--detach", "--json").out)
    try:
        assert process("clock", "freeze").code == 0
        kinesis = boto3.client(
            "kinesis",
            endpoint_url=found["aws"],
            region_name="us-east-1",
            aws_access_key_id="any",
            aws_secret_access_key="any",
        )
        kinesis.create_stream(StreamName="mine", ShardCount=2)
        described = kinesis.describe_stream(StreamName="mine")["StreamDescription"]
        assert (described["StreamStatus"], described["Shards"]) == ("CREATING", [])
        assert process("clock", "advance", "30s").code == 0
        described = kinesis.describe_stream(StreamName="mine")["StreamDescription"]
        assert (described["StreamStatus"], len(described["Shards"])) == ("ACTIVE", 2)
    finally:
        process("down")


def test_a_second_up_is_refused(process: Process) -> None:
    """One line that says which process runs, exit code 3, and the first goes on."""
    first = json.loads(process("up", *QUIET, "--detach", "--json").out)

    for arguments in (QUIET, (*QUIET, "--detach")):
        second = process("up", *arguments)
        assert (second.code, second.out, second.err.count("\n")) == (3, "", 1)
        assert f"process {first['pid']}" in second.err
    assert json.loads(process("status", "--json").out)["pid"] == first["pid"]


def test_one_that_is_not_ready_in_time_is_ended(process: Process) -> None:
    """Exit code 4, and nothing runs here then."""
    ran = process("up", *QUIET, "--detach", "--timeout", "1ms")
    assert (ran.code, "not ready after 0.001 s" in ran.err) == (4, True)
    assert process("status").code == 3


@pytest.fixture
def closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which nobody can make a file; temporary files have one of their own."""
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o555)
    try:  # root may write to any folder, except for that of the kernel
        (folder / "made").touch()
    except OSError:
        pass
    else:
        folder = Path("/proc")
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.usefixtures("closed")
def test_a_sandbox_in_memory_starts_in_any_folder(process: Process) -> None:
    """It starts detached, every command finds it, and down ends it."""
    up = process("up", *QUIET, "--data-dir", ":memory:", "--detach", "--json")
    assert (up.code, up.err) == (0, "")
    status = json.loads(process("status", "--json").out)
    assert status["pid"] == json.loads(up.out)["pid"]
    assert process("logs", "sandbox").code == 0
    assert process("down").code == 0
    assert process("status").code == 3


def test_data_that_cannot_be_written_is_named_with_what_to_do(process: Process, closed: Path) -> None:
    """Where messages are to be kept, and cannot be."""
    up = process("up", *QUIET, "--data-dir", str(closed / "data"))
    assert (up.code, up.err.count("\n")) == (3, 1)
    assert up.err.startswith(f"sandbox: {closed}/data: ")
    assert up.err.endswith("; --data-dir names another folder, and --data-dir :memory: needs none\n")


@pytest.mark.parametrize("detach", [[], ["--detach"]])
def test_a_port_in_use_is_named(process: Process, detach: list[str]) -> None:
    """The port, and what to do; exit code 3; nothing is left that looks like a sandbox."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ran = process("up", "--aws-port", str(port), "--control-port", "0", "--amqp", "none", *detach)
    assert (ran.code, ran.out, ran.err.count("\n")) == (3, "", 1)
    assert f"port {port}" in ran.err
    assert process("status").code == 3


def test_data_in_use_is_named(process: Process, tmp_path: Path) -> None:
    """Another directory's sandbox on the same data: refused with the process that has it."""
    pid = json.loads(process("up", *QUIET, "--data-dir", str(tmp_path / "data"), "--detach", "--json").out)[
        "pid"
    ]
    Path(".sandbox/running.json").rename("hidden.json")

    ran = process("up", *QUIET, "--data-dir", str(tmp_path / "data"))
    assert (ran.code, ran.err.count("\n")) == (3, 1)
    assert f"in use by process {pid}" in ran.err
    Path("hidden.json").rename(".sandbox/running.json")


def test_what_a_killed_sandbox_left_is_not_taken_for_one(process: Process) -> None:
    """After kill -9: status says that it is gone, up starts anew, and every acknowledged record is there."""
    first = json.loads(process("up", *QUIET, "--detach", "--json").out)
    kinesis = boto3.client(
        "kinesis",
        endpoint_url=first["aws"],
        region_name="us-east-1",
        aws_access_key_id="any",
        aws_secret_access_key="any",
    )
    for n in range(20):
        kinesis.put_record(StreamName="input", Data=b"%d" % n, PartitionKey=str(n))
    os.kill(first["pid"], signal.SIGKILL)

    status = process("status")
    assert status.code == 3
    assert "is gone" in status.err
    assert json.loads(process("up", *QUIET, "--detach", "--json").out)["pid"] != first["pid"]
    assert json.loads(process("status", "--json").out)["messages"] == 20


def test_down_after_it_died_cleans_up(process: Process) -> None:
    """Nothing to stop is no failure when there was something."""
    found = json.loads(process("up", *QUIET, "--detach", "--json").out)
    os.kill(found["pid"], signal.SIGKILL)

    ran = process("down", "--json")
    assert (ran.code, json.loads(ran.out)["stopped"]) == (0, False)


@pytest.fixture
def foreground() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts ``sandbox up`` in the foreground; ended at the end of the test."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "sandbox", "up", *arguments]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def read_line(stream: IO[str] | None) -> str:
    assert stream is not None
    return stream.readline()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_in_the_foreground_it_runs_until_it_is_told_to_stop(
    foreground: Callable[..., subprocess.Popen[str]], number: signal.Signals
) -> None:
    """The JSON object when ready; Ctrl-C or a termination ends it with exit code 0 and nothing left."""
    process = foreground(*QUIET, "--json")
    found = json.loads(read_line(process.stdout))
    with Client(found["control"]) as client:
        assert client.status().pid == process.pid

    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, "", "")
    assert not Path(".sandbox/running.json").exists()


def test_for_people_it_says_what_to_type_next(foreground: Callable[..., subprocess.Popen[str]]) -> None:
    """Endpoints, exports and the next commands on standard error; nothing on standard output."""
    process = foreground(*QUIET, "--data-dir", ":memory:")
    said = read_line(process.stderr)
    while "sandbox down" not in said:
        said += read_line(process.stderr)
    found = running.read()
    assert found is not None
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)

    assert out == ""
    for text in (found.aws, found.control, "export AWS_ENDPOINT_URL=", "sandbox status", ":memory:"):
        assert text in said


def test_beyond_loopback_the_control_api_asks_for_a_token(process: Process) -> None:
    """The token is in what up prints; commands started here use it of their own accord."""
    found = json.loads(process("up", *QUIET, "--host", "0.0.0.0", "--detach", "--json").out)

    assert found["token"]
    assert process("status").code == 0
    assert process("status", "--control", found["control"]).code == 0
    Path(".sandbox/running.json").rename("hidden.json")
    refused = process("status", "--control", found["control"])
    assert (refused.code, refused.err.count("\n")) == (3, 1)
    assert "token" in refused.err
    Path("hidden.json").rename(".sandbox/running.json")


def test_an_idle_sandbox_is_small(process: Process) -> None:
    """Less than 100 MB resident, after its first questions too."""
    found = json.loads(process("up", *QUIET, "--detach", "--json").out)
    process("status")

    assert resident_bytes(found["pid"]) < 100_000_000


def test_limits_and_topology_reach_the_engine(process: Process, tmp_path: Path) -> None:
    """Options are those of the process that is started."""
    (tmp_path / "two.yaml").write_text("streams: {requests: 3}\n")
    process("up", *QUIET, "--topology", "two.yaml", "--limits", "strict", "--fsync", "--detach")

    status = json.loads(process("status", "--json").out)
    assert [(s["name"], s["open_shards"]) for s in status["streams"]] == [("requests", 3)]


@pytest.mark.parametrize("place", [[], ["--data-dir", ":memory:"]], ids=["on disk", "in memory"])
def test_logs_show_what_happened(process: Process, place: list[str]) -> None:
    """What was started detached, while it runs: an event a line, the newest last, or as JSON."""
    process("up", *QUIET, *place, "--detach")
    process("fault", "add", "latency", "--delay", "2s")

    lines = process("logs").out.splitlines()
    assert any("stream.created" in line and "stream=input" in line for line in lines)
    assert "sandbox.started" in process("logs", "--tail", "2").out
    assert lines[-1].split()[1:] == ["fault.added", "fault=latency", "type=latency", "channel=*"]
    (last,) = map(json.loads, process("logs", "--tail", "1", "--json").out.splitlines())
    assert (last["kind"], last["fault"]) == ("fault.added", "latency")


def test_logs_of_one_in_the_foreground_during_its_life_and_after_it(
    foreground: Callable[..., subprocess.Popen[str]], process: Process
) -> None:
    """It writes no file of its own; what it left on disk is shown when it has stopped, or was killed."""
    running_here = foreground(*QUIET, "--json")
    read_line(running_here.stdout)
    assert "sandbox.started" in process("logs").out
    running_here.kill()
    running_here.communicate(timeout=60)
    assert "sandbox.started" in process("logs").out

    again = foreground(*QUIET, "--json")
    read_line(again.stdout)
    again.send_signal(signal.SIGTERM)
    again.communicate(timeout=60)
    after = process("logs")
    assert (after.code, after.out.splitlines()[-1].split()[1:]) == (0, ["sandbox.stopped"])
    assert process("logs", "--follow").code == 3


def test_logs_go_on_as_more_happens(process: Process) -> None:
    """With --follow each event is shown when it comes."""
    process("up", *QUIET, "--detach")
    with subprocess.Popen(
        [sys.executable, "-m", "sandbox", "logs", "--follow"], stdout=subprocess.PIPE, text=True
    ) as following:
        while "sandbox.started" not in read_line(following.stdout):
            assert following.poll() is None
        process("fault", "add", "duplicate")
        assert "fault.added" in read_line(following.stdout)
        following.terminate()
