"""``sandbox certify``: a verdict on a consumer or a producer, from bronze to gold."""

from __future__ import annotations

from pathlib import Path
from shutil import get_terminal_size
from typing import Any

import click

from rdss_sandbox.extension import import_place
from sandbox.cli.command_table import list_commands_of
from sandbox.cli.options.channel_kinds import KindOfChannel
from sandbox.cli.options.waiting import duration
from sandbox.cli.output.printing import json_option, print_json, print_styled
from sandbox.cli.verdicts.trial_options import TrialOptions, compare_option, find_exit_code, trial_options

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


@certify.command()
@click.argument(
    "parts", nargs=-1, required=True, metavar="DIR...", type=click.Path(file_okay=False, path_type=Path)
)
@click.option(
    "--to",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write the certificate here: JSON, a page, JUnit XML, a badge.",
)
@compare_option
@json_option
def merge(parts: tuple[Path, ...], to: Path | None, compare: Path | None, as_json: bool) -> int:
    """Merge the certificates of parts, made with --stage and --to, into that of one run.

    Each DIR has the certificate of some stages. Together they have all stages of one client, seed and level.
    The exit code is that of the whole.
    """
    from sandbox.certify.certificate_parts import merge_parts
    from sandbox.certify.comparison import compare_certificates, read_certificate
    from sandbox.certify.results_folder import write_results
    from sandbox.cli.verdicts.certify_output import show_certificate, show_lines, show_smallest

    before = None if compare is None else read_certificate(compare)
    certificate = merge_parts({str(folder): read_certificate(folder) for folder in parts})
    if to is not None:
        write_results(certificate, None, to)
    if as_json:
        print_json(certificate)
    else:
        show_certificate(certificate, to)
        if before is not None:
            show_lines(compare_certificates(before, certificate))
        show_smallest(certificate)
    return find_exit_code(certificate)


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
