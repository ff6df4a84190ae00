"""``sandbox lambda``: run a function of a file on a stream or a queue, invoke functions, read their logs."""

from __future__ import annotations

import json
import sys
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import click

from sandbox.cli.options.control_connection import connect, control_option, reach
from sandbox.cli.output.exit_codes import CommandFailedError, Exit
from sandbox.cli.output.printing import json_option, print_json, print_rows, print_styled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from extensions.functions.log_follower import LogFollower, WrittenLine
    from extensions.functions.watched_function import Connect
    from sandbox.cli.options.stopping import Stopping

_LOOK_SECONDS: Final = 0.2
_LONGEST_SECONDS: Final = 960
"""How long an invocation is waited for: longer than any function may take."""
_STYLES: Final[Mapping[str, dict[str, Any]]] = {
    "START RequestId": {"dim": True},
    "END RequestId": {"dim": True},
    "REPORT RequestId": {"fg": "cyan"},
    "INIT_REPORT": {"fg": "red"},
    "[ERROR]": {"fg": "red"},
}
"""How lines are shown, by their beginnings."""


@click.group("lambda")
def lambda_() -> None:
    """Run functions as AWS Lambda does, without Docker: sandbox lambda run FILE:FUNCTION.

    They read and write the sandbox's streams, queues and buckets. Clients of AWS Lambda see the same
    functions.
    """


def read_variables(
    _ctx: click.Context, _parameter: click.Parameter, given: tuple[str, ...]
) -> dict[str, str]:
    """The value of ``--env``, by the names of the variables."""
    if bad := next((each for each in given if not each.partition("=")[0] or "=" not in each), None):
        raise click.BadParameter(f"{bad} is no NAME=VALUE")
    return dict(each.split("=", 1) for each in given)


@lambda_.command()
@click.argument("handler", metavar="FILE:FUNCTION")
@click.option(
    "--stream", metavar="NAME", help="The stream to read.  [default: input, or the contract's first]"
)
@click.option("--queue", metavar="NAME", help="A queue of SQS to read in the place of a stream.")
@click.option(
    "--batch-size", type=click.IntRange(1, 10_000), metavar="N", help="The most records of an invocation."
)
@click.option(
    "--batching-window", type=click.IntRange(0, 300), metavar="N", help="Seconds to wait for a full batch."
)
@click.option(
    "--starting-position",
    type=click.Choice(["TRIM_HORIZON", "LATEST"]),
    help="Where to begin in a stream.  [default: TRIM_HORIZON]",
)
@click.option(
    "--retries", type=click.IntRange(-1, 10_000), metavar="N", help="Retries of a batch; -1 for no end."
)
@click.option("--bisect", is_flag=True, help="Split a batch that fails, to isolate the bad record.")
@click.option("--report-batch-item-failures", is_flag=True, help="The answer says which records failed.")
@click.option(
    "--parallel",
    type=click.IntRange(1, 10),
    metavar="N",
    help="Batches of a shard at a time, by partition key.",
)
@click.option(
    "--window", type=click.IntRange(0, 900), metavar="N", help="Seconds of a tumbling window, with state."
)
@click.option("--on-failure", metavar="ARN", help="A queue, topic or bucket that is told of failures.")
@click.option("--filter", "filters", multiple=True, metavar="PATTERN", help="Records that match; repeatable.")
@click.option(
    "--timeout", type=click.IntRange(1, 900), metavar="N", default=30, help="Seconds of an invocation."
)
@click.option(
    "--memory", type=click.IntRange(128, 10_240), metavar="N", default=256, help="Megabytes of the process."
)
@click.option(
    "--env", "variables", multiple=True, callback=read_variables, metavar="NAME=VALUE", help="A variable."
)
@click.option("--keep", is_flag=True, help="Leave the function and its mapping in the sandbox at the end.")
@control_option
@json_option
def run(
    *,
    handler: str,
    stream: str | None,
    queue: str | None,
    batch_size: int | None,
    batching_window: int | None,
    starting_position: str | None,
    retries: int | None,
    bisect: bool,
    report_batch_item_failures: bool,
    parallel: int | None,
    window: int | None,
    on_failure: str | None,
    filters: tuple[str, ...],
    timeout: int,
    memory: int,
    variables: dict[str, str],
    keep: bool,
    control: str | None,
    as_json: bool,
) -> None:
    """Run FUNCTION of FILE, Python or JavaScript, on what comes to a stream, and show what it writes.

    The function is named after its file, reads the file's folder, and is loaded again when a file there
    changes. Ctrl-C removes it and its mapping. It runs as a process of this machine, with your rights and
    without a container.
    """
    if stream and queue:
        raise click.UsageError("a function reads --stream or --queue, not both")
    if queue is None:
        starting_position = starting_position or "TRIM_HORIZON"
    asked = {
        "BatchSize": batch_size,
        "MaximumBatchingWindowInSeconds": batching_window,
        "StartingPosition": starting_position,
        "MaximumRetryAttempts": retries,
        "BisectBatchOnFunctionError": bisect or None,
        "FunctionResponseTypes": ["ReportBatchItemFailures"] if report_batch_item_failures else None,
        "ParallelizationFactor": parallel,
        "TumblingWindowInSeconds": window,
        "DestinationConfig": {"OnFailure": {"Destination": on_failure}} if on_failure else None,
        "FilterCriteria": {"Filters": [{"Pattern": each} for each in filters]} if filters else None,
    }
    mapping = {name: value for name, value in asked.items() if value is not None}
    settings = {"Timeout": timeout, "MemorySize": memory, "Environment": {"Variables": variables}}
    source = f"queue {queue}" if queue else f"stream {stream or _find_first(control)}"
    with _aws(control) as connected:
        _run(connected, handler, source, (settings, mapping), keep=keep, as_json=as_json)


def _find_first(control: str | None) -> str:
    with connect(control) as client:
        return client.status().topology.first


def _run(
    connected: Connect,
    spelled: str,
    source: str,
    settings: tuple[Mapping[str, Any], Mapping[str, Any]],
    *,
    keep: bool,
    as_json: bool,
) -> None:
    from extensions.functions.log_follower import LogFollower
    from extensions.functions.watched_function import (
        BadHandlerError,
        WatchedFunction,
        find_arn,
        read_handler,
    )
    from rdss_sandbox.questions.deadline import Deadline
    from sandbox.cli.options.stopping import Stopping

    arn = find_arn(connected, source)
    stopping = Stopping(Deadline(None))
    try:
        function = WatchedFunction(connected("lambda"), read_handler(spelled))
        follower = LogFollower(connected("logs"), function.name)
        for _ in follower.read():
            pass  # of a function of this name before
        with stopping.noting_signals():
            function.create(settings[0])
            try:
                function.read_from(arn, settings[1])
                click.echo(f"{function.name} reads the {source}; Ctrl-C ends it", err=True)
                _follow(follower, stopping, as_json=as_json)
            finally:
                if not keep:
                    function.remove()
                    _show_lines(follower, as_json=as_json)
    except BadHandlerError as error:
        raise CommandFailedError(str(error), Exit.USAGE) from error


def _follow(follower: LogFollower, stopping: Stopping, *, as_json: bool) -> None:
    """Show lines as they come, until a signal."""
    from emulator.clock import Clock

    clock = Clock()
    with stopping.ending_pauses(clock):
        while not stopping.wanted:
            _show_lines(follower, as_json=as_json)
            clock.wait(_LOOK_SECONDS, lambda: stopping.wanted)


def _show_lines(follower: LogFollower, *, as_json: bool) -> None:
    for line in follower.read():
        _show_line(line, as_json=as_json)


def _show_line(line: WrittenLine, *, as_json: bool) -> None:
    from rdss_sandbox.text.timestamps import timestamp

    if as_json:
        print_json({"time": timestamp(line.time), "stream": line.stream, "message": line.message})
        return
    style = next((style for start, style in _STYLES.items() if line.message.startswith(start)), {})
    print_styled(line.message.expandtabs(2), **style)


@lambda_.command()
@click.argument("name")
@click.option("--follow", is_flag=True, help="Go on as more comes, until Ctrl-C.")
@control_option
@json_option
def logs(*, name: str, follow: bool, control: str | None, as_json: bool) -> None:
    """Show what the function NAME wrote, oldest first: the latest 10,000 lines are kept."""
    from extensions.functions.log_follower import LogFollower
    from rdss_sandbox.questions.deadline import Deadline
    from sandbox.cli.options.stopping import Stopping

    with _aws(control) as connected:
        connected("lambda").get_function_configuration(FunctionName=name)
        follower = LogFollower(connected("logs"), name)
        _show_lines(follower, as_json=as_json)
        if follow:
            stopping = Stopping(Deadline(None))
            with stopping.noting_signals():
                _follow(follower, stopping, as_json=as_json)


@lambda_.command("list")
@control_option
@json_option
def list_(*, control: str | None, as_json: bool) -> None:
    """Show the functions of the sandbox, and what each reads."""
    with _aws(control) as connected:
        client = connected("lambda")
        pages = client.get_paginator("list_functions").paginate()
        functions = [each for page in pages for each in page["Functions"]]
        pages = client.get_paginator("list_event_source_mappings").paginate()
        mappings = [each for page in pages for each in page["EventSourceMappings"]]
    found = [
        {
            "name": each["FunctionName"],
            "runtime": each["Runtime"],
            "handler": each["Handler"],
            "timeout": each["Timeout"],
            "memory": each["MemorySize"],
            "reads": [
                {"source": mapping["EventSourceArn"], "state": mapping["State"]}
                for mapping in mappings
                if mapping["FunctionArn"].startswith(each["FunctionArn"])
            ],
        }
        for each in functions
    ]
    titles = ("function", "runtime", "handler", "timeout", "memory", "reads")
    print_rows({"functions": found}, titles, map(_row, found), as_json=as_json)


def _row(function: dict[str, Any]) -> tuple[object, ...]:
    reads = (f"{each['source'].rpartition(':')[2]} ({each['state']})" for each in function["reads"])
    limits = f"{function['timeout']} s", f"{function['memory']} MB"
    return function["name"], function["runtime"], function["handler"], *limits, ", ".join(reads) or "-"


@lambda_.command()
@click.argument("name")
@click.argument("event", default="{}")
@control_option
@json_option
def invoke(*, name: str, event: str, control: str | None, as_json: bool) -> int:
    """Invoke the function NAME with EVENT: JSON, or - for standard input.

    Its answer is on standard output, what it wrote on standard error; with --json both are one object. Exit
    code 1: the function failed.
    """
    payload = sys.stdin.buffer.read() if event == "-" else event.encode()
    with _aws(control) as connected:
        answer = connected("lambda").invoke(FunctionName=name, Payload=payload, LogType="Tail")
        body = answer["Payload"].read().decode(errors="replace")
    failed = answer.get("FunctionError")
    log = b64decode(answer["LogResult"]).decode(errors="replace").splitlines()
    if as_json:
        print_json({"answer": _read_json(body), "error": failed, "log": log})
    else:
        for line in log:
            click.echo(line, err=True)
        click.echo(body)
    return Exit.FAIL if failed else Exit.PASS


def _read_json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


@contextmanager
def _aws(control: str | None) -> Iterator[Connect]:
    """Connect to the AWS port of the running sandbox. What it refuses is raised as CommandFailedError."""
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError, ClientError, ParamValidationError

    from emulator.channels.aws_session import aws_session

    _, token = reach(control)
    with connect(control) as client:
        status = client.status()
    region = next((stream.arn.split(":")[3] for stream in status.streams), "us-east-1")
    session = aws_session(region, token)
    config = Config(read_timeout=_LONGEST_SECONDS, retries={"total_max_attempts": 1})

    def make(service: str) -> Any:
        made: Any = session.client(service, endpoint_url=status.aws, config=config)  # type: ignore[call-overload]
        return made

    try:
        yield make
    except ClientError as error:
        refusal = error.response["Error"]
        wrong = refusal.get("Message") or refusal["Code"]
        code = Exit.USAGE if error.response["ResponseMetadata"]["HTTPStatusCode"] < 500 else Exit.FAIL
        raise CommandFailedError(wrong, code) from error
    except ParamValidationError as error:
        raise CommandFailedError(" ".join(str(error).split()), Exit.USAGE) from error
    except BotoCoreError as error:
        raise CommandFailedError(str(error), Exit.ENVIRONMENT) from error
