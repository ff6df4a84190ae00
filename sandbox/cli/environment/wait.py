from __future__ import annotations

import click

from rdss_sandbox.questions.conditions import FORMS
from sandbox.cli.options.control_connection import connect, control_option
from sandbox.cli.options.waiting import duration
from sandbox.cli.output.exit_codes import CommandFailedError, Exit
from sandbox.cli.output.printing import json_option, print_json

_SENTENCES = "\n".join(f"  {form.example}" for form in FORMS)


@click.command(
    help=f"""Wait until something is so in the sandbox, which may still be starting.

A SENTENCE is one of these, with names and numbers of yours. A number means at least
that many, unless "exactly" or "at most" stands before it; "no" means none.

\b
{_SENTENCES}

Exit code 4: it was not so before the timeout; what was seen instead is printed.
"""
)
@click.option(
    "--for", "sentences", multiple=True, required=True, metavar="SENTENCE", help="What is waited for."
)
@click.option(
    "--timeout",
    default="30s",
    metavar="TIME",
    callback=duration,
    help="How long, in real time: 500ms, 30s, 5m.",
)
@control_option
@json_option
def wait(sentences: tuple[str, ...], timeout: float, control: str | None, as_json: bool) -> int:
    from rdss_sandbox.client import UnreachableError
    from rdss_sandbox.questions.conditions import ConditionNotMetError, read_condition, wait_for

    conditions = [(sentence, read_condition(sentence)) for sentence in sentences]
    readings: list[str] = []
    for sentence, condition in conditions:
        try:
            reading = wait_for(
                condition,
                lambda: connect(control),
                seconds=timeout,
                wanted=sentence,
                # Until a sandbox is started here, none has an address.
                absent=(UnreachableError, CommandFailedError),
            )
        except ConditionNotMetError as error:
            if as_json:
                print_json({"holds": False, "seen": str(error)})
            raise CommandFailedError(str(error), Exit.INCONCLUSIVE) from error
        readings.append(reading.seen)
    if as_json:
        print_json({"holds": True, "seen": "; ".join(readings)})
    else:
        for each in readings:
            click.echo(f"sandbox: {each}", err=True)
    return Exit.PASS
