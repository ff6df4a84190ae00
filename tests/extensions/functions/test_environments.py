"""The processes of functions: what they are given, how they end, and what is said of it."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from botocore.exceptions import ClientError

from emulator.clock import Clock
from extensions.functions.runtime.environment import Environment, Program
from extensions.functions.runtime.function_logs import FunctionLogs
from tests.extensions.functions.conftest import Aws
from tests.waiting import wait_until

COUNTS = """
import os, sys
print("init")
calls = 0
def handler(event, context):
    global calls
    calls += 1
    print("call", calls)
    print("to stderr", file=sys.stderr)
    return {"calls": calls, "pid": os.getpid(), "left": context.get_remaining_time_in_millis(),
            "id": context.aws_request_id, "event": event}
"""


def test_an_environment_is_warm_for_the_next_invocation(aws: Aws) -> None:
    """The module is imported once; the event and the context come as AWS's."""
    aws.make("warm", COUNTS, Timeout=5)
    first, second = (json.loads(aws.invoke("warm", b'{"a": [1]}')[0]) for _ in range(2))
    assert (first["calls"], second["calls"]) == (1, 2)
    assert first["pid"] == second["pid"] != os.getpid()
    assert first["event"] == {"a": [1]}
    assert 4000 < first["left"] <= 5000
    assert first["id"] != second["id"]


def sleeping_environment() -> Environment:
    """An environment whose process never asks for an invocation."""
    program = Program(["sleep", "3600"], dict(os.environ), "/", "started", "1", "arn", 60.0, 128)
    return Environment(program, FunctionLogs(Clock()), Clock())


@pytest.mark.parametrize("steps", range(12))
def test_an_environment_that_is_closed_while_it_starts_leaves_no_process(steps: int) -> None:
    """However far the start has come."""

    async def close_after() -> None:
        environment = sleeping_environment()
        invocation = asyncio.create_task(environment.invoke(b"{}", "1"))
        for _ in range(steps):
            await asyncio.sleep(0)
        await environment.close()
        assert (await asyncio.wait_for(invocation, 5)).error == "Unhandled"

    others = _children()
    asyncio.run(close_after())
    assert _children() <= others


def test_a_close_that_is_cancelled_has_ended_the_process() -> None:
    """The loop may end behind it, and nothing would wait for the process then."""

    async def cancel_close() -> None:
        environment = sleeping_environment()
        invocation = asyncio.create_task(environment.invoke(b"{}", "1"))
        while not environment.usable:  # noqa: ASYNC110 -- nothing tells of the start alone
            await asyncio.sleep(0)
        closing = asyncio.create_task(environment.close())
        await asyncio.sleep(0)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        assert _children() <= others
        await asyncio.wait_for(invocation, 5)

    others = _children()
    asyncio.run(cancel_close())


def test_an_environment_whose_start_was_cancelled_takes_nothing_more() -> None:
    """Its process may become ready for an invocation that nobody waits for."""

    async def cancel_start() -> bool:
        environment = sleeping_environment()
        invocation = asyncio.create_task(environment.invoke(b"{}", "1"))
        while not environment.usable:  # noqa: ASYNC110 -- nothing tells of the start alone
            await asyncio.sleep(0)
        invocation.cancel()
        with pytest.raises(asyncio.CancelledError):
            await invocation
        usable = environment.usable
        await environment.close()
        return usable

    assert not asyncio.run(cancel_start())


def _children() -> set[str]:
    found = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    return {child for each in found for child in each.read_text().split()}


def test_the_log_tail_is_what_the_invocation_wrote(aws: Aws) -> None:
    """START, its lines, END and REPORT, and CloudWatch Logs has them too."""
    aws.make("tail", COUNTS)
    answer = aws.lambda_.invoke(FunctionName="tail", Payload=b"{}", LogType="Tail")
    lines = base64.b64decode(answer["LogResult"]).decode().splitlines()
    assert [line.split()[0] for line in lines] == ["START", "init", "call", "to", "END", "REPORT"]
    assert "Init Duration" in lines[-1]
    found = aws.client("logs").filter_log_events(logGroupName="/aws/lambda/tail", filterPattern="REPORT")
    assert len(found["events"]) == 1
    with pytest.raises(ClientError, match="log group does not exist"):
        aws.client("logs").filter_log_events(logGroupName="/aws/lambda/none")


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("def handler(event, context):\n    raise KeyError('lost')\n", "KeyError"),
        ("import os\ndef handler(event, context):\n    os._exit(3)\n", "Runtime.ExitError"),
        (
            "import os, signal\ndef handler(event, context):\n    os.kill(os.getpid(), 9)\n",
            "Runtime.ExitError",
        ),
        ("import there_is_none\ndef handler(event, context): pass\n", "Runtime.ImportModuleError"),
        ("def other(event, context): pass\n", "Runtime.HandlerNotFound"),
        ("def handler(event, context):\n    while True: pass\n", "Sandbox.Timedout"),
        ("def handler(event, context):\n    return bytearray(1 << 30) and 1\n", "MemoryError"),
        ("def handler(event, context):\n    return object()\n", "TypeError"),
        ("def handler(event, context):\n    return 'x' * (7 << 20)\n", "Function.ResponseSizeTooLarge"),
        ("raise SystemExit(1)\n", "Runtime.ExitError"),
    ],
)
def test_a_failure_is_told_and_the_next_invocation_works(aws: Aws, source: str, kind: str) -> None:
    """The answer names the error, and the function goes on in another process if it must."""
    name = f"fails-{abs(hash(source))}"
    aws.make(name, source, Timeout=1)
    for _ in range(2):
        payload, error = aws.invoke(name)
        assert error == "Unhandled"
        assert json.loads(payload)["errorType"] == kind


@pytest.mark.parametrize("module", ["token", "selectors"])
def test_a_handler_may_be_called_as_a_module_of_the_library(aws: Aws, module: str) -> None:
    """Also as one that is imported before it."""
    source = "def handler(event, context):\n    return 'mine'\n"
    aws.make(f"named-{module}", source, f"{module}.py", Handler=f"{module}.handler")
    assert aws.invoke(f"named-{module}") == (b'"mine"', "")


def test_a_handler_that_is_called_as_a_built_in_module_is_refused_as_aws_does(aws: Aws) -> None:
    aws.make("built-in", "def handler(event, context): pass\n", "time.py", Handler="time.handler")
    assert json.loads(aws.invoke("built-in")[0])["errorType"] == "Runtime.BuiltInModuleConflict"


def test_a_time_out_ends_what_the_handler_started_too(aws: Aws) -> None:
    """No process of the function is left."""
    source = (
        "import subprocess, sys\ndef handler(event, context):\n"
        "    child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "    print('child', child.pid)\n    child.wait()\n"
    )
    aws.make("children", source, Timeout=1)
    payload, _ = aws.invoke("children")
    assert "Task timed out after 1.00 seconds" in json.loads(payload)["errorMessage"]
    found = aws.client("logs").filter_log_events(logGroupName="/aws/lambda/children", filterPattern="child")
    pid = int(found["events"][0]["message"].split()[1])
    wait_until(lambda: not _is_running(pid))


def _is_running(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as told:  # noqa: PTH123 -- a zombie has no other file
            return told.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_invocations_at_the_same_time_have_environments_of_their_own(aws: Aws) -> None:
    """Each process has one at a time."""
    source = "import os, time\ndef handler(event, context):\n    time.sleep(0.3)\n    return os.getpid()\n"
    aws.make("parallel", source)
    with ThreadPoolExecutor(4) as threads:
        pids = list(threads.map(lambda _: aws.invoke("parallel")[0], range(4)))
    assert len(set(pids)) == 4


def test_a_handler_reaches_the_sandbox_with_an_sdk_that_is_told_nothing(aws: Aws) -> None:
    """By the variables of its environment."""
    source = (
        "import boto3\ndef handler(event, context):\n"
        "    return boto3.client('kinesis').describe_stream_summary(StreamName='input')"
        "['StreamDescriptionSummary']['StreamName']\n"
    )
    aws.make("reaches", source, Timeout=30)
    assert aws.invoke("reaches")[0] == b'"input"'


def test_an_event_is_answered_at_once_and_retried(aws: Aws) -> None:
    """Twice, after a minute and two of the sandbox's clock; then the dead letter queue has it."""
    sqs = aws.client("sqs")
    url = sqs.create_queue(QueueName="dead")["QueueUrl"]
    aws.make(
        "events",
        "def handler(event, context):\n    print('tried', event['n'])\n    raise ValueError\n",
        DeadLetterConfig={"TargetArn": "arn:aws:sqs:us-east-1:000000000000:dead"},
    )
    answer = aws.lambda_.invoke(FunctionName="events", InvocationType="Event", Payload=b'{"n": 7}')
    assert answer["StatusCode"] == 202
    logs, clock = aws.client("logs"), aws.emulator.components.clock

    def count() -> int:
        found = logs.filter_log_events(logGroupName="/aws/lambda/events", filterPattern="tried")
        return len(found["events"])

    wait_until(lambda: "/aws/lambda/events" in str(logs.describe_log_groups()))
    wait_until(lambda: count() == 1)
    began = clock.elapsed()

    def pass_time() -> bool:
        clock.advance(10)
        return count() == 3

    wait_until(pass_time)
    assert clock.elapsed() - began >= 60 + 120
    found = wait_until(lambda: sqs.receive_message(QueueUrl=url).get("Messages"))
    assert json.loads(found[0]["Body"]) == {"n": 7}


def test_an_event_of_a_function_that_may_not_run_goes_to_its_dead_letters(aws: Aws) -> None:
    """At once, when no environment is reserved for it."""
    sqs = aws.client("sqs")
    url = sqs.create_queue(QueueName="stopped")["QueueUrl"]
    target = {"TargetArn": "arn:aws:sqs:us-east-1:000000000000:stopped"}
    aws.make("stopped", COUNTS, DeadLetterConfig=target)
    aws.lambda_.put_function_concurrency(FunctionName="stopped", ReservedConcurrentExecutions=0)
    aws.lambda_.invoke(FunctionName="stopped", InvocationType="Event", Payload=b'{"n": 8}')
    found = wait_until(lambda: sqs.receive_message(QueueUrl=url).get("Messages"))
    assert json.loads(found[0]["Body"]) == {"n": 8}


def test_a_dry_run_invokes_nothing(aws: Aws) -> None:
    aws.make("dry", COUNTS)
    assert aws.lambda_.invoke(FunctionName="dry", InvocationType="DryRun")["StatusCode"] == 204
    assert json.loads(aws.invoke("dry")[0])["calls"] == 1


def test_an_event_that_is_no_json_is_refused(aws: Aws) -> None:
    aws.make("json", COUNTS)
    with pytest.raises(ClientError, match="Could not parse request body"):
        aws.invoke("json", b"{")


def test_a_bootstrap_of_any_kind_is_a_runtime(aws: Aws) -> None:
    """Whatever speaks the Runtime API: here a script of the shell, in a runtime of its own."""
    assert shutil.which("curl"), "curl is asked by the script"
    script = """#!/bin/sh
api=http://$AWS_LAMBDA_RUNTIME_API/2018-06-01/runtime/invocation
while true; do
  head=$(mktemp)
  event=$(curl -sS -D "$head" "$api/next") || exit 0
  id=$(grep -i lambda-runtime-aws-request-id "$head" | tr -d '\\r' | cut -d' ' -f2)
  curl -sS -o /dev/null "$api/$id/response" -d "{\\"echo\\": $event}"
done
"""
    aws.make("shell", script, "bootstrap", Runtime="provided.al2023", Timeout=20)
    assert json.loads(aws.invoke("shell", b'{"a": 1}')[0]) == {"echo": {"a": 1}}


NODE = """
export const handler = async (event, context) => {
  console.log("in node");
  if (event.fail) throw new TypeError("as asked");
  return { doubled: event.n * 2, name: context.functionName, left: context.getRemainingTimeInMillis() > 0 };
};
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("node") is None, reason="there is no Node on this machine")
def test_a_handler_in_node_is_invoked_as_one_in_python(aws: Aws) -> None:
    aws.make("node", NODE, "index.mjs", Runtime="nodejs20.x", Handler="index.handler", Timeout=20)
    assert json.loads(aws.invoke("node", b'{"n": 21}')[0]) == {"doubled": 42, "name": "node", "left": True}
    payload, error = aws.invoke("node", b'{"fail": true}')
    assert (json.loads(payload)["errorType"], error) == ("TypeError", "Unhandled")


def test_a_slow_function_delays_no_other_request(aws: Aws) -> None:
    """The port answers while it runs."""
    aws.make("slow", "import time\ndef handler(event, context):\n    time.sleep(2)\n", Timeout=10)
    done = threading.Event()

    def invoke() -> None:
        aws.invoke("slow")
        done.set()

    thread = threading.Thread(target=invoke)
    thread.start()
    aws.client("kinesis").list_streams()
    assert not done.is_set()
    thread.join()
