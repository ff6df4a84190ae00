from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from sandbox.cli.options.extras import require
from sandbox.cli.output.exit_codes import CommandFailedError, Exit
from sandbox.cli.output.printing import json_option, print_json

if TYPE_CHECKING:
    from sandbox.aws_endpoint import AwsEndpoint
    from sandbox.demo.demo_verdict import Result
    from sandbox.demo.demonstration import DemoTarget, Pipeline, Plan, Progress

_WITHOUT_SPARK: Final = "sandbox demo --no-pipeline leaves Spark out"


@click.command()
@click.option("--seed", type=int, default=1, metavar="N", help="The seed of everything random.")
@click.option(
    "--from",
    "source",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Send the messages in the files of this folder.",
)
@click.option("--no-pipeline", is_flag=True, help="Leave out Spark, and with it the need for Java.")
@json_option
def demo(seed: int, source: Path | None, no_pipeline: bool, as_json: bool) -> int:
    """Send messages through faults and a reshard, and judge what arrived.

    Starts a sandbox of its own, sends 2,000 messages of all types, sequences and bad messages through
    Kinesis and 200 through AMQP, with duplicates, delays, oversize messages, splits and a merge on the way,
    and writes tables with Spark. Everything is left in runs/demo/. With --from, whole messages go out byte
    for byte; a file with only a header or only a body is completed with a sample of the other. What is
    valid must arrive once, and the rest be rejected with the code that it deserves. Exit code 0 only if
    every line of the table holds.
    """
    _require_extras(pipeline=not no_pipeline)
    import json

    from emulator.clock import stopwatch
    from sandbox.demo.show import show
    from sandbox.judging.run_index import write_index
    from sandbox.judging.runs import new_folder, point_latest
    from sandbox.visible_output import make_console, progress_bar

    pipeline = None if no_pipeline else _pipeline()
    folder, began = new_folder("demo"), stopwatch()
    with progress_bar() as progress:
        result = _run(_plan(seed, source), folder, progress, pipeline)
    seconds = round(stopwatch() - began, 1)
    summary = {"verdict": result.verdict, "seconds": seconds, **result.summary}
    (folder / "summary.json").write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
    point_latest(folder)
    write_index()
    if as_json:
        print_json(summary)
    show(result, folder, make_console(stderr=as_json))
    return {"pass": Exit.PASS, "fail": Exit.FAIL}.get(result.verdict, Exit.INCONCLUSIVE)


def _require_extras(*, pipeline: bool) -> None:
    """Raise CommandFailedError, in one line, for all that is missing."""
    try:
        require("messages", *(["pipeline"] if pipeline else []))
    except CommandFailedError as error:
        if not pipeline:
            raise
        raise CommandFailedError(f"{error} ; {_WITHOUT_SPARK}", Exit.ENVIRONMENT) from error


def _plan(seed: int, source: Path | None) -> Plan:
    from sandbox.demo.demonstration import make_plan

    return make_plan(seed, source.resolve() if source else None)


def _run(plan: Plan, folder: Path, progress: Progress, pipeline: Pipeline | None) -> Result:
    from emulator.channels.channel import ChannelUnavailableError
    from rdss_sandbox.client import UnreachableError
    from sandbox.demo.demonstration import demonstrate

    try:
        with _sandbox(folder, plan.seed) as place:
            return demonstrate(plan, place, progress, pipeline)
    except (ChannelUnavailableError, UnreachableError) as error:
        message = f"no verdict, for the sandbox stopped answering: {error}; what it left is in {folder}"
        raise CommandFailedError(message, Exit.INCONCLUSIVE) from error


@contextmanager
def _sandbox(folder: Path, seed: int) -> Iterator[DemoTarget]:
    """Start a separate sandbox for the demonstration on free ports, for the time of the context."""
    from sandbox.aws_endpoint import AwsEndpoint
    from sandbox.demo.demonstration import DemoTarget
    from sandbox.profiles import in_process
    from sandbox.profiles.running import trust_authority

    options = ["--aws-port", "0", "--control-port", "0", "--topology", "default"]
    options += ["--amqp", "embedded", "--amqp-port", "0"]
    options += ["--host", "127.0.0.1", "--region", "us-east-1", "--data-dir", "data", "--seed", str(seed)]
    with in_process.started(options, folder) as running:
        trust_authority(running)
        endpoint = AwsEndpoint(running.aws, running.region, running.token)
        yield DemoTarget(endpoint, running.control, folder, running.token, running.amqp)


def _pipeline() -> Pipeline:
    """The pipeline, if it can run here. Raises CommandFailedError if it cannot."""
    from sandbox.pipeline.spark import java

    try:
        java.require()
    except java.JavaMissingError as error:
        raise CommandFailedError(f"{error}; {_WITHOUT_SPARK}", Exit.ENVIRONMENT) from error
    return _tables


def _tables(endpoint: AwsEndpoint, to: Path, progress: Callable[[str, float], None]) -> Mapping[str, int]:
    from sandbox.pipeline.pipeline_run import run_once

    # Spark's processes sign requests too; a sandbox accepts any credentials.
    os.environ.setdefault("AWS_ACCESS_KEY_ID", "sandbox")
    os.environ.setdefault("AWS_SECRET_ACCESS_KEY", "sandbox")
    if endpoint.token:
        os.environ["AWS_SESSION_TOKEN"] = endpoint.token
    return run_once(endpoint_url=endpoint.url, source="streams", to=to, progress=progress)
