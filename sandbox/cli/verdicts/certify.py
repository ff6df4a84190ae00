"""``sandbox certify``: a verdict on a consumer or a producer, from bronze to gold."""

from __future__ import annotations

from shutil import get_terminal_size
from typing import Any

import click

from rdss_sandbox.extension import import_place
from sandbox.cli.command_table import list_commands_of
from sandbox.cli.options.channel_kinds import KindOfChannel
from sandbox.cli.options.waiting import duration
from sandbox.cli.output.printing import json_option, print_json, print_styled
from sandbox.cli.verdicts.trial_options import TrialOptions, trial_options

_PATIENCE_SECONDS = 8.0


@click.group()
def certify() -> None:
    """Certify a client: run it as it is under seeded faults, and judge what the wire shows."""


@certify.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the clauses: what each demands, and how it is tried."""
    from sandbox.certify.clauses import CLAUSES, list_channels

    rows: list[dict[str, Any]] = [
        {
            "id": each.id,
            "role": each.role,
            "channels": sorted(each.channels) or list_channels(each.role),
            "group": each.group,
            "level": each.level.name.lower(),
            "demand": each.demand,
            "exercise": each.exercise,
            "source": each.source,
            "needed": each.needed,
        }
        for each in CLAUSES
    ]
    if as_json:
        print_json(rows)
        return
    for each in rows:
        about = ", ".join((each["role"], each["level"], each["group"], *each["channels"]))
        print_styled(each["id"], bold=True)
        click.echo(f"  {about}")
        text = f"{each['demand']} Tried: {each['exercise']}"
        click.echo(click.wrap_text(text, min(get_terminal_size().columns, 100), "  ", "  "))


_ENVIRONMENT = """\
COMMAND is started as it is, with AWS_ENDPOINT_URL, SANDBOX_STREAM, SANDBOX_STATE_DIR and the like in its
environment; with --channel rabbitmq, SANDBOX_AMQP_URL and SANDBOX_QUEUE. It"""
_CODES = "Exit code 0: every clause passes; 1: one fails; 4: none fails, one was not exercised."
_HELP = {
    "consumer": f"""Certify a consumer of a Kinesis stream, or of a queue of RabbitMQ.

{_ENVIRONMENT} prints {{"processed": "<messageId>"}} for each message, before it writes its checkpoint or
acknowledges, and runs until SIGTERM. {_CODES}
""",
    "producer": f"""Certify a producer for a Kinesis stream, or for a queue of RabbitMQ.

{_ENVIRONMENT} sends the messages of the NDJSON file SANDBOX_MESSAGES, prints {{"sent": "<messageId>"}} for
each that the broker has, and ends. {_CODES}
""",
}


def _command(role: str, tells: str) -> click.Command:
    """Make the command for a role; ``tells`` is the field of the line of JSON that the client prints."""

    @click.command(role, help=_HELP[role], context_settings={"ignore_unknown_options": True})
    @click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND [ARG]...")
    @click.option(
        "--channel",
        type=KindOfChannel("certified"),
        default="kinesis",
        help="What the client consumes from, or publishes to.",
    )
    @click.option(
        "--patience",
        default="8s",
        metavar="TIME",
        callback=duration,
        help="How long the client may read and get nothing new before missing messages count as lost.",
    )
    @trial_options(tells)
    def run(asked: TrialOptions, *, command: tuple[str, ...], channel: str, patience: float) -> int:
        options = () if patience == _PATIENCE_SECONDS else ("--patience", f"{patience:g}s")
        return asked.certify(role, command, patience, channel=channel, options=options)

    return run


certify.add_command(_command("consumer", "processed"))
certify.add_command(_command("producer", "sent"))
for each in list_commands_of("certify"):
    certify.add_command(import_place(each.place))
