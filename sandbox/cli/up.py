"""``sandbox up``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from sandbox.cli.exit_codes import CommandFailedError, Exit
from sandbox.profiles.profile_table import PROFILES, load

if TYPE_CHECKING:
    from sandbox.profiles.running import Running

_REPEATED = {"allowed_hosts": "--allow-host", "allowed_origins": "--allow-origin", "targets": "--target"}


@click.command()
@click.option(
    "--profile",
    type=click.Choice(list(PROFILES)),
    help="What to run: see docs/profiles.md.  [default: embedded]",
)
@click.option("--upstream-aws", metavar="URL", help="Relay to this AWS endpoint.")
@click.option("--upstream-amqp", metavar="URL", help="Relay to this broker: amqp://user:password@host/")
@click.option(
    "--aws-port",
    type=int,
    metavar="N",
    help="The port for Kinesis, S3 and the other AWS services.  [default: 4566; 0: any free]",
)
@click.option(
    "--control-port", type=int, metavar="N", help="The port of the control API.  [default: 4570; 0: any free]"
)
@click.option(
    "--queues-port",
    type=int,
    metavar="N",
    help="The port of queues (Zaqar).  [default: 8888, or any free; 0: any free]",
)
@click.option(
    "--topics-port",
    type=int,
    metavar="N",
    help="The port of topics (AMPS).  [default: 9007, or any free; 0: any free]",
)
@click.option(
    "--topics", metavar="FILE", help="A file that defines topics and who may use them: see docs/topics.md."
)
@click.option(
    "--integration",
    metavar="FILE",
    help="A file that says how asynchronous messages are processed: see docs/processing.md.",
)
@click.option(
    "--amqp-port", type=int, metavar="N", help="The port of RabbitMQ, where it is installed.  [default: 5672]"
)
@click.option(
    "--amqp", type=click.Choice(["auto", "off"]), help="Whether to start RabbitMQ.  [default: auto]"
)
@click.option("--host", metavar="ADDRESS", help="The address to listen on.  [default: 127.0.0.1]")
@click.option(
    "--allow-host",
    "allowed_hosts",
    multiple=True,
    metavar="NAME",
    help="Another host name that requests may use.",
)
@click.option(
    "--allow-origin",
    "allowed_origins",
    multiple=True,
    metavar="URL",
    help="A web page's origin that may use the ports, such as http://localhost:3000.",
)
@click.option(
    "--target",
    "targets",
    multiple=True,
    metavar="NAME=PID|FILE",
    help="A process that the faults pause and kill may strike, by its id or the file that has it.",
)
@click.option("--region", metavar="NAME", help="The AWS region.  [default: AWS_REGION, or us-east-1]")
@click.option(
    "--data-dir",
    metavar="DIR",
    help="The folder for everything that is kept; :memory: keeps nothing.  [default: .sandbox/data]",
)
@click.option("--seed", type=int, metavar="N", help="The seed of everything random.  [default: drawn]")
@click.option("--fsync", is_flag=True, default=None, help="Acknowledge only what survives a power cut.")
@click.option(
    "--limits",
    type=click.Choice(["relaxed", "strict"]),
    help="Whether to enforce AWS's throughput limits.  [default: relaxed]",
)
@click.option(
    "--transition-seconds",
    type=float,
    metavar="S",
    help="How long streams are CREATING, UPDATING, DELETING.  [default: 0]",
)
@click.option(
    "--topology",
    metavar="FILE|default|rdss|none",
    help="The streams and buckets to make.  [default: default]",
)
@click.option(
    "--retention",
    metavar="AGE",
    help="Remove events and objects of the audit log that are older: 7d, 12h.  [default: never]",
)
@click.option("--detach", is_flag=True, help="Return once it is ready, and leave it running.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object when ready.")
def up(detach: bool, as_json: bool, **options: Any) -> None:
    """Start a sandbox: streams, buckets, faults and the control API.

    It runs until Ctrl-C, or with --detach (and always with --profile compose) until sandbox down. Every
    option can also be given as SANDBOX_<NAME> in the environment, or under [sandbox] in sandbox.toml.
    """
    from emulator.settings.settings import read_settings
    from sandbox.profiles import in_process

    given = {name: value for name, value in options.items() if value not in (None, ())}
    settings = read_settings(given, os.environ)
    profile = PROFILES[settings.profile]
    try:
        if detach and profile.stays:
            _show(in_process.start_detached(_arguments(given), seconds=profile.seconds), as_json)
        else:
            in_process.refuse_second()
            load(settings.profile)(settings, lambda running: _show(running, as_json))
    except in_process.CannotStartError as error:
        raise CommandFailedError(str(error), Exit.ENVIRONMENT) from error


def _arguments(given: dict[str, Any]) -> list[str]:
    """The command line of these options for another process."""
    arguments: list[str] = []
    for name, value in given.items():
        option = _REPEATED.get(name) or "--" + name.replace("_", "-")
        for each in value if isinstance(value, tuple) else (value,):
            arguments += [option] if each is True else [option, str(each)]
    return arguments


def _show(running: Running, as_json: bool) -> None:
    for line in running.damage:
        click.echo(f"sandbox: {line}", err=True)
    if as_json:
        import msgspec

        click.echo(msgspec.json.encode(running))
        return
    from rich.console import Console
    from rich.panel import Panel

    Console(stderr=True).print(Panel(_summary(running), title="RDSS sandbox", expand=False))
    # The line to paste stands outside of the frame and is not folded at the screen's width.
    for line in (*(f"note: {note}" for note in running.notes), "", running.exports, "", *_NEXT):
        click.echo(line, err=True)


_NEXT = (
    "next:  sandbox message sample | sandbox send -",
    "       sandbox fault add duplicate --toxicity 0.5",
    "       sandbox status      sandbox tui      sandbox down",
)


def _summary(running: Running) -> str:
    lines = [
        f"AWS      {running.aws}   (Kinesis, S3, DynamoDB, SQS, SNS, ...)",
        f"control  {running.control}   (GET /openapi.json)",
        f"data     {running.data_dir}",
        f"seed     {running.seed}",
    ]
    if running.topics:
        lines.insert(2, f"topics   {running.topics}   (WebSocket at /topics/ws, and HTTP)")
    if running.queues:
        lines.insert(2, f"queues   {running.queues}   (OpenStack messaging: v1, v1.1, v2)")
    if running.amqp:
        lines.insert(1, f"AMQP     {running.amqp}")
    if running.token:
        lines.insert(2, f"token    {running.token}   (export SANDBOX_TOKEN=... elsewhere)")
    return "\n".join(lines)
