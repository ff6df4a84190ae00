from __future__ import annotations

from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

import click

from sandbox.cli.options.channel_kinds import KindOfChannel
from sandbox.cli.options.extras import needs
from sandbox.cli.options.waiting import duration
from sandbox.cli.output.exit_codes import CommandFailedError, Exit, sigterm_as_interrupt
from sandbox.cli.output.printing import json_option, print_json, print_styled

if TYPE_CHECKING:
    from sandbox.certify.told_lines import ReadLine
    from sandbox.certify.trial import Trial

_LEVELS = ("bronze", "silver", "gold")
_GROUPS = ("delivery", "contract")
_PATIENCE_SECONDS = 8.0


@click.group()
def certify() -> None:
    """Certify a client: run it as it is under seeded faults, and judge what the wire shows."""


@certify.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the clauses: what each demands, and how it is tried."""
    from emulator.channels.kind_registry import list_kinds
    from sandbox.certify.clauses import CLAUSES

    rows: list[dict[str, Any]] = [
        {
            "id": each.id,
            "role": each.role,
            "channels": sorted(each.channels) or list_kinds("certified"),
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


def _command(role: str, tells: str) -> click.Command:
    """Make the command for a role; ``tells`` is the field of the line of JSON that the client prints."""

    @click.command(role, context_settings={"ignore_unknown_options": True})
    @click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND [ARG]...")
    @click.option("--seed", type=int, metavar="N", help="The seed of everything random.  [default: drawn]")
    @click.option(
        "--channel",
        type=KindOfChannel("certified"),
        default="kinesis",
        help="What the client consumes from, or publishes to.",
    )
    @click.option("--group", type=click.Choice(_GROUPS), help="Only the clauses of this group.")
    @click.option("--level", type=click.Choice(_LEVELS), default="gold", help="How bad the days get.")
    @click.option(
        "--to",
        type=click.Path(file_okay=False, path_type=Path),
        metavar="DIR",
        help="Write the certificate here: JSON, a page, JUnit XML, a badge, the events.",
    )
    @click.option(
        "--subject",
        multiple=True,
        metavar="FILE",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="Put this file's SHA-256 on the certificate.",
    )
    @click.option(
        f"--{tells}",
        "pattern",
        metavar="REGEX",
        help="Read messageIds from the client's own lines; the group id, or the first, is the id.",
    )
    @click.option(
        "--patience",
        default="8s",
        metavar="TIME",
        callback=duration,
        help="How long the client may ask and get nothing new before what is missing is given up.",
    )
    @click.option(
        "--stage",
        "only",
        multiple=True,
        metavar="NAME[:N]",
        help="Play only this stage, with N messages; what a failure was made small to.",
    )
    @click.option(
        "--shrink",
        default="60s",
        metavar="TIME",
        callback=duration,
        help="How long failures are repeated and made small, after the verdict.",
    )
    @click.option("--no-shrink", is_flag=True, help="Do not make a failure small.")
    @click.option(
        "--compare",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        metavar="DIR",
        help="Say what changed since the certificate in this folder.",
    )
    @json_option
    @needs("messages")
    def run(
        *,
        command: tuple[str, ...],
        seed: int | None,
        channel: str,
        group: str | None,
        level: str,
        to: Path | None,
        subject: tuple[Path, ...],
        pattern: str | None,
        patience: float,
        only: tuple[str, ...],
        shrink: float,
        no_shrink: bool,
        compare: Path | None,
        as_json: bool,
    ) -> int:
        from emulator.rng import new_seed
        from sandbox.certify.attempt import Client
        from sandbox.certify.clause import Group, Role
        from sandbox.certify.clauses import clauses
        from sandbox.certify.history import Level
        from sandbox.certify.kit_messages import are_lines, explain_untried
        from sandbox.certify.trial import Trial

        groups = frozenset({Group(group)} if group else Group)
        if not clauses(Role(role), Level[level.upper()], groups, channel):
            raise CommandFailedError(
                f"no clause of the group {group} is in the level {level}; `sandbox certify list` has them",
                Exit.USAGE,
            )
        trial = Trial(
            Role(role),
            Client(command, _reading(tells, pattern), patience),
            new_seed() if seed is None else seed,
            Level[level.upper()],
            groups,
            subject,
            _further(tells, pattern, patience),
            only=only,
            channel=channel,
        )
        why = explain_untried(trial.tried)
        if why:
            raise CommandFailedError(why, Exit.USAGE)
        if trial.role is Role.PRODUCER and not are_lines(trial.tried):
            said = "messages of the contract are no lines of text: SANDBOX_MESSAGES has each as rawBase64"
            click.echo(f"sandbox: {said}", err=True)
        try:
            trial.planned  # noqa: B018 -- a stage that is not there is told before anything starts
        except ValueError as error:
            raise CommandFailedError(f"--stage: {error}", Exit.USAGE) from error
        return _run(trial, to, compare, 0.0 if no_shrink else shrink, as_json=as_json)

    run.help = _HELP[role]
    return run


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
certify.add_command(_command("consumer", "processed"))
certify.add_command(_command("producer", "sent"))


def _further(field: str, pattern: str | None, patience: float) -> tuple[str, ...]:
    """The options, besides those of every trial, that a repetition needs."""
    words = [] if pattern is None else [f"--{field}", pattern]
    return (*words, *([] if patience == _PATIENCE_SECONDS else ["--patience", f"{patience:g}s"]))


def _reading(field: str, pattern: str | None) -> ReadLine:
    import re

    from sandbox.certify.told_lines import json_lines, matching_lines

    if pattern is None:
        return json_lines(field)
    try:
        return matching_lines(pattern)
    except re.error as error:
        raise CommandFailedError(
            f"--{field} {pattern!r} is no regular expression: {error}", Exit.USAGE
        ) from error


def _run(trial: Trial, to: Path | None, compare: Path | None, seconds: float, *, as_json: bool) -> int:
    from sandbox.certify.comparison import compare_certificates, read_certificate
    from sandbox.certify.results_folder import write_results
    from sandbox.certify.trial import certify as certify_client
    from sandbox.certify.trial import make_small
    from sandbox.cli.verdicts.certify_output import (
        following_progress,
        show_certificate,
        show_lines,
        show_smallest,
    )

    before = None if compare is None else read_certificate(compare)
    with sigterm_as_interrupt(), following_progress(trial.seed) as progress:
        certificate, history = certify_client(trial, progress)
        if to is not None:
            write_results(certificate, history, to)
        if not as_json:
            show_certificate(certificate, to)
            if before is not None:
                show_lines(compare_certificates(before, certificate))
        if certificate.failed and seconds:
            certificate = make_small(trial, certificate, progress, seconds)
            if to is not None:
                write_results(certificate, history, to)
            if not as_json:
                show_smallest(certificate)
    if as_json:
        print_json(certificate)
    if certificate.failed:
        return Exit.FAIL
    return Exit.INCONCLUSIVE if certificate.missed else Exit.PASS
