"""``sandbox run``: a command with a sandbox of its own, and nothing left of it."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from emulator.machine import process_ids
from tests.waiting import wait_until

_ENVIRONMENT = """
import boto3, json, os
print(json.dumps({
    "streams": boto3.client("kinesis").list_streams()["StreamNames"],
    "control": os.environ["SANDBOX_CONTROL"],
    "profile": os.environ.get("AWS_PROFILE"),
}))
"""

_TIDY_UP = """
import os, signal, urllib.request
signals = {signal.SIGINT, signal.SIGTERM}
signal.pthread_sigmask(signal.SIG_BLOCK, signals)
print("ready", flush=True)
came = 0
while signal.sigwait(signals) == signal.SIGINT:
    came += 1
    urllib.request.urlopen(os.environ["SANDBOX_CONTROL"] + "/health")
    print("tidied up", flush=True)
raise SystemExit(8 + came)
"""


def run(*words: str, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "sandbox", "run", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, **options)  # type: ignore[call-overload, no-any-return]


def test_the_command_finds_the_sandbox_by_its_environment(tmp_path: Path) -> None:
    """With the options that it was given; no profile leads it elsewhere, and no file is left here."""
    (tmp_path / "mine.toml").write_text("[streams]\nmine = 1\n")
    given = {**os.environ, "AWS_PROFILE": "mine"}
    ran = run("--topology", "mine.toml", "--", sys.executable, "-c", _ENVIRONMENT, cwd=tmp_path, env=given)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert (found["streams"], found["profile"]) == (["mine"], None)
    assert found["control"].startswith("http://127.0.0.1:")
    assert [each.name for each in tmp_path.iterdir()] == ["mine.toml"]


def test_the_command_trusts_a_sandbox_with_tls() -> None:
    """By its environment alone, as do commands of this program that it runs."""
    program = f"{_ENVIRONMENT}\nimport subprocess, sys\n"
    program += "subprocess.run([sys.executable, '-m', 'sandbox', 'readers'], stdout=sys.stderr, check=True)"
    ran = run("--tls", "self-signed", "--", sys.executable, "-c", program)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert "input" in found["streams"]
    assert found["control"].startswith("https://127.0.0.1:")


_OVER_AMQP = """
import os, pika
channel = pika.BlockingConnection(pika.URLParameters(os.environ["SANDBOX_AMQP_URL"])).channel()
print(channel.queue_declare("", exclusive=True).method.queue)
"""


def test_a_client_of_rabbitmq_finds_its_broker() -> None:
    """By SANDBOX_AMQP_URL, asked for or not; with none there is no broker, and no address of another one."""
    for asked in ([], ["--amqp"]):
        ran = run(*asked, "--", sys.executable, "-c", _OVER_AMQP)
        assert (ran.returncode, ran.stdout[:4]) == (0, "amq."), ran.stderr
    elsewhere = {**os.environ, "SANDBOX_AMQP_URL": "amqp://elsewhere/"}
    ran = run("--amqp", "none", "--", "sh", "-c", 'echo "<$SANDBOX_AMQP_URL>"', env=elsewhere)
    assert ran.stdout == "<>\n"


def test_the_command_meets_the_faults_that_were_asked_for() -> None:
    """From its first call: a fault by its type, or with its attributes; one that is not there is refused."""
    faults = ("--fault", "throttle", "--fault", '{"type": "duplicate", "toxicity": 0.5}')
    ran = run(*faults, "--", sys.executable, "-m", "sandbox", "fault", "list", "--json")
    found = json.loads(ran.stdout)["faults"]
    assert [(each["type"], each["toxicity"]) for each in found] == [("throttle", 1.0), ("duplicate", 0.5)]
    ran = run("--fault", "duplicat", "--", "true")
    assert (ran.returncode, ran.stderr.count("\n")) == (2, 1)
    assert "'duplicat'" in ran.stderr


@pytest.mark.parametrize(
    ("script", "code"), [("exit 7", 7), ("kill -9 $$", 137), ("sandbox-run-nothing", 127)]
)
def test_the_exit_code_is_the_commands(script: str, code: int) -> None:
    """Of one that a signal ended too, as a shell tells it."""
    assert run("--", "sh", "-c", script).returncode == code


def test_what_cannot_be_started_is_told_in_a_line() -> None:
    """The command, or the sandbox."""
    ran = run("--", "no-such-command")
    assert (ran.returncode, ran.stderr.count("\n")) == (3, 1)
    assert ran.stderr == "sandbox: no-such-command cannot be started: No such file or directory\n"
    ran = run("--topology", "nowhere.toml", "--", "true")
    assert (ran.returncode, ran.stderr.count("\n")) == (2, 1)
    assert "no topology 'nowhere.toml'" in ran.stderr


def test_what_follows_the_command_is_its_own_and_so_are_its_input_and_output() -> None:
    """Options without ``--`` before them, and bytes that are no text."""
    words = ("run", "--topology", "none", "sh", "-c", 'cat; exit "$2"', "sh", "--seed", "7")
    given = bytes(range(256)) * 4096
    ran = subprocess.run(
        [sys.executable, "-P", "-m", "sandbox", *words], input=given, capture_output=True, check=False
    )
    assert (ran.returncode, ran.stdout == given, ran.stderr) == (7, True, b"")


def test_an_option_that_is_none_is_not_taken_for_the_command() -> None:
    ran = run("--sed", "7", "--", "true")
    assert ran.returncode == 2
    assert "--sed" in ran.stderr


def test_a_signal_while_the_sandbox_starts_leaves_nothing(tmp_path: Path) -> None:
    """No directory, and the exit code of a command that the signal ended."""
    command = [sys.executable, "-P", "-m", "sandbox", "run", "--", "true"]
    process = subprocess.Popen(command, env={**os.environ, "TMPDIR": str(tmp_path)})
    wait_until(lambda: [*tmp_path.glob("rdss-sandbox-*/*")] or process.poll() is not None, seconds=120)
    process.send_signal(signal.SIGTERM)
    assert process.wait(120) == 128 + signal.SIGTERM
    assert [*tmp_path.iterdir()] == []


@pytest.mark.slow
def test_nothing_is_left_of_one_in_another_that_is_killed(tmp_path: Path) -> None:
    """Neither the inner command, nor what it started elsewhere, nor a sandbox or its directory."""
    temporary, told = tmp_path / "temporary", tmp_path / "told"
    temporary.mkdir()
    script = (
        f"setsid sleep 300 & curl -s $SANDBOX_CONTROL/status > {tmp_path}/status; "
        f"echo $! $$ > {told}.new; mv {told}.new {told}; wait"
    )
    again = [sys.executable, "-P", "-m", "sandbox", "run", "--"]
    process = subprocess.Popen(
        [*again, *again, "sh", "-c", script], env={**os.environ, "TMPDIR": str(temporary)}
    )
    wait_until(lambda: told.exists() or process.poll() is not None, seconds=240)
    assert len([*temporary.glob("rdss-sandbox-*")]) == 2
    process.kill()
    process.wait()
    left = [*map(int, told.read_text().split()), json.loads((tmp_path / "status").read_text())["pid"]]
    wait_until(lambda: all(process_ids.state(pid) in {None, "Z"} for pid in left), seconds=240)
    wait_until(lambda: not [*temporary.iterdir()], seconds=240)


@pytest.mark.slow
def test_ctrl_c_leaves_the_sandbox_to_the_command() -> None:
    """Which may tidy up with it, and decides what comes of the signal: it gets one."""
    pid, terminal = pty.fork()
    if pid == 0:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # tests in the background have it ignored
        command = [sys.executable, "-c", _TIDY_UP]
        os.execv(sys.executable, [sys.executable, "-P", "-m", "sandbox", "run", "--", *command])
    said = b""
    while b"ready" not in said:
        said += os.read(terminal, 1024)
    os.write(terminal, b"\x03")
    while b"tidied up" not in said:
        said += os.read(terminal, 1024)
    os.kill(pid, signal.SIGTERM)  # passed on, behind whatever Ctrl-C made of itself
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9
    os.close(terminal)


def test_a_signal_reaches_the_command_and_nothing_is_left(tmp_path: Path) -> None:
    """SIGTERM is the command's to answer; what it left running in another session ends too."""
    pids = tmp_path / "pids"
    script = (
        f"setsid sleep 300 & curl -s $SANDBOX_CONTROL/status > {tmp_path}/status; echo $! > {pids}.new; "
        f"trap 'exit 3' TERM; mv {pids}.new {pids}; while :; do sleep 0.05; done"
    )
    process = subprocess.Popen([sys.executable, "-P", "-m", "sandbox", "run", "--", "sh", "-c", script])
    wait_until(lambda: pids.exists() or process.poll() is not None, seconds=120)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 3
    left = int(pids.read_text())
    wait_until(lambda: process_ids.state(left) in {None, "Z"}, seconds=120)
    emulator = json.loads((tmp_path / "status").read_text())["pid"]
    assert process_ids.state(emulator) in {None, "Z"}
