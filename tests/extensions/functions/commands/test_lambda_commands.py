"""``sandbox lambda``: a handler in a file runs on a stream or a queue, and its lines are seen."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from emulator.assembly.embedded import Embedded
from emulator.channels.aws_session import aws_session

Ask = Callable[..., Any]
Start = Callable[..., "subprocess.Popen[str]"]
HANDLER = """\
import base64, os, sys

def handler(event, context):
    for record in event["Records"]:
        data = base64.b64decode(record["kinesis"]["data"]).decode()
        print(os.environ.get("GREETING", "got"), data, flush=True)
        if data == "poison":
            raise ValueError("poison")
"""


@pytest.fixture
def start(emulator: Embedded) -> Iterator[Start]:
    """Starts a command that runs until a signal; what still runs at the end is killed."""
    running: list[subprocess.Popen[str]] = []

    def begin(*arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "sandbox", "lambda", *arguments, "--control", emulator.control]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        running.append(process)
        return process

    yield begin
    for process in running:
        process.kill()
        process.communicate()


def client_of(emulator: Embedded, service: str) -> Any:
    return aws_session("us-east-1").client(service, endpoint_url=emulator.aws)


def put(emulator: Embedded, *data: str) -> None:
    records = [{"Data": each.encode(), "PartitionKey": "one"} for each in data]
    client_of(emulator, "kinesis").put_records(StreamName="input", Records=records)


def read_until(process: subprocess.Popen[str], wanted: str) -> list[str]:
    """What a command prints, up to a line with these words."""
    assert process.stdout is not None
    lines: list[str] = []
    for line in process.stdout:
        lines.append(line)
        if wanted in line:
            return lines
    raise AssertionError(f"it ended without {wanted!r}: {lines} {process.communicate()}")


def stop(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """End a command as Ctrl-C does: its exit code, what it printed then, and its standard error."""
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    return process.returncode, out, err


def test_a_handler_runs_is_loaded_again_and_is_gone_at_the_end(
    ask: Ask, emulator: Embedded, start: Start
) -> None:
    """Records are handed to it, a change of its file counts for the next, Ctrl-C leaves nothing behind."""
    Path("loader.py").write_text(HANDLER)
    put(emulator, "first")
    process = start("run", "loader.py:handler", "--stream", "input", "--env", "GREETING=hello")
    assert "hello first\n" in read_until(process, "REPORT")
    Path("loader.py").write_text(HANDLER.replace("GREETING", "OTHER"))
    put(emulator, "second")
    assert "got second\n" in read_until(process, "REPORT")
    listed = ask("lambda", "list").out
    assert ("loader.handler" in listed, "stream/input (Enabled)" in listed) == (True, True)

    code, _, err = stop(process)
    assert (code, err) == (0, "loader reads the stream input; Ctrl-C ends it\n")
    assert json.loads(ask("lambda", "list", "--json").out) == {"functions": []}


def test_a_poison_record_is_isolated_at_a_queue(emulator: Embedded, start: Start) -> None:
    """With --bisect, the destination is told of that record alone."""
    Path("loader.py").write_text(HANDLER)
    sqs = client_of(emulator, "sqs")
    url = sqs.create_queue(QueueName="failed")["QueueUrl"]
    put(emulator, "one", "poison", "two")
    arn = "arn:aws:sqs:us-east-1:000000000000:failed"
    process = start("run", "loader.py:handler", "--bisect", "--retries", "0", "--on-failure", arn)
    read_until(process, "got two")
    (message,) = sqs.receive_message(QueueUrl=url, WaitTimeSeconds=20)["Messages"]
    assert json.loads(message["Body"])["KinesisBatchInfo"]["batchSize"] == 1
    assert stop(process)[0] == 0


def test_a_queue_is_read_and_lines_are_json(emulator: Embedded, start: Start) -> None:
    """--queue has the messages of SQS handed over; with --json each line is an object."""
    Path("worker.py").write_text("def handle(event, context):\n    print(event['Records'][0]['body'])\n")
    sqs = client_of(emulator, "sqs")
    url = sqs.create_queue(QueueName="jobs")["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody="a job")
    process = start("run", "worker.py:handle", "--queue", "jobs", "--json")
    lines = [json.loads(line) for line in read_until(process, "a job")]
    assert (lines[-1]["message"], "$LATEST" in lines[-1]["stream"]) == ("a job", True)
    assert stop(process)[0] == 0


def test_what_is_kept_is_invoked_and_its_log_read(ask: Ask, start: Start) -> None:
    """--keep leaves the function: invoke prints its answer, 1 tells of an error, logs has what it wrote."""
    Path("adder.py").write_text("def add(event, context):\n    print('adding')\n    return event['a'] + 1\n")
    process = start("run", "adder.py:add", "--keep")
    assert process.stderr is not None
    assert "adder reads the stream" in process.stderr.readline()
    assert stop(process)[0] == 0

    answered = ask("lambda", "invoke", "adder", '{"a": 1}')
    assert (answered.code, answered.out, "adding\n" in answered.err) == (0, "2\n", True)
    failed = ask("lambda", "invoke", "adder", "{}", "--json")
    said = json.loads(failed.out)
    assert (failed.code, said["error"], said["answer"]["errorType"]) == (1, "Unhandled", "KeyError")
    assert ask("lambda", "logs", "adder").out.count("adding\n") == 2

    follower = start("logs", "adder", "--follow", "--json")
    read_until(follower, "KeyError")
    assert ask("lambda", "invoke", "adder", '{"a": 41}').out == "42\n"
    read_until(follower, "REPORT")
    assert stop(follower)[0] == 0


def test_an_earlier_run_that_was_killed_is_no_obstacle(emulator: Embedded, start: Start, ask: Ask) -> None:
    """The next run takes the place of what it left, and reads the stream from its beginning."""
    Path("loader.py").write_text(HANDLER)
    put(emulator, "first")
    killed = start("run", "loader.py:handler")
    read_until(killed, "got first")
    killed.kill()
    process = start("run", "loader.py:handler")
    read_until(process, "got first")
    assert stop(process)[0] == 0
    assert json.loads(ask("lambda", "list", "--json").out) == {"functions": []}


def test_a_function_of_somebody_else_is_left_alone(ask: Ask, emulator: Embedded) -> None:
    """A file of the name of a function that this command did not make is refused."""
    Path("loader.py").write_text(HANDLER)
    client_of(emulator, "lambda").create_function(
        FunctionName="loader",
        Runtime="python3.11",
        Handler="loader.handler",
        Role="arn:aws:iam::000000000000:role/any",
        Code={"S3Bucket": "hot-reload", "S3Key": str(Path.cwd())},
    )
    ran = ask("lambda", "run", "loader.py:handler")
    assert (ran.code, ran.err) == (2, "sandbox: there is a function loader already; rename the file\n")
    assert "loader" in ask("lambda", "list").out


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["run", "nowhere.py:handler"], 2, "there is no file nowhere.py"),
        (["run", "loader.py"], 2, "loader.py is no FILE:FUNCTION"),
        (["run", "loader.rb:handler"], 2, "loader.rb is no file of Python or JavaScript"),
        (["run", "loader.py:handler", "--stream", "nowhere"], 2, "Stream nowhere under account"),
        (["run", "loader.py:handler", "--queue", "nowhere"], 2, "queue does not exist"),
        (["run", "loader.py:handler", "--queue", "q", "--stream", "s"], 2, "--stream or --queue, not both"),
        (["run", "loader.py:handler", "--env", "NAME"], 2, "NAME is no NAME=VALUE"),
        (["run", "loader.py:handler", "--on-failure", "nobody"], 2, "nobody"),
        (["run", "loader.py:handler", "--filter", "{"], 2, "Invalid filter pattern definition."),
        (["invoke", "nobody"], 2, "Function not found"),
        (["invoke", "nobody", "no JSON"], 2, "Could not parse request body into json"),
        (["invoke", "no name!"], 2, "no name!"),
        (["logs", "nobody"], 2, "Function not found"),
    ],
)
def test_what_cannot_be(ask: Ask, arguments: list[str], code: int, said: str) -> None:
    """One line that says why, the exit code, and nothing left in the sandbox."""
    Path("loader.py").write_text(HANDLER)
    ran = ask("lambda", *arguments)
    assert (ran.code, ran.out, ran.err.count("\n")) == (code, "", 1)
    assert said in ran.err
    assert json.loads(ask("lambda", "list", "--json").out) == {"functions": []}


def test_the_list_of_commands_needs_no_sdk() -> None:
    """``sandbox --help`` and the group's own help import no boto3, so that both are quick."""
    code = (
        "import sys; from sandbox.cli import main; main(('--help',)); main(('lambda', '--help'));"
        " sys.exit('boto3' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0
