"""``sandbox message``: validate messages and make samples."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from rdss_sandbox.files.ndjson import write_line
from sandbox.cli.messages.message_files import read_documents
from sandbox.cli.options.contract import as_published_option, load_contract
from sandbox.cli.options.control_connection import available_clock, control_option
from sandbox.cli.options.extras import needs
from sandbox.cli.options.waiting import moment
from sandbox.cli.output.exit_codes import Exit
from sandbox.cli.output.printing import always_json, json_option, print_json

if TYPE_CHECKING:
    from schemas.contract import Verdict
    from schemas.json_texts import Document


@click.group()
def message() -> None:
    """Validate messages, or make samples of them."""


@message.command()
@click.argument("files", nargs=-1, metavar="[FILE|-]...")
@as_published_option
@click.option("--strict", is_flag=True, hidden=True)
@click.option(
    "--expired", is_flag=True, help="Refuse messages that have expired, too, by the sandbox's clock."
)
@control_option
@json_option
@needs("messages")
def validate(
    *,
    files: tuple[str, ...],
    as_published: bool,
    strict: bool,
    expired: bool,
    control: str | None,
    as_json: bool,
) -> int:
    """Validate the messages in each FILE, or on standard input with -.

    A file holds one message, one a line, or only a header or a body. Exit code 0: all are valid,
    1: some are not, 2: a file cannot be read. With --json there is a line for each message.
    """
    from schemas.bound import choose_contract
    from schemas.contract import judge_sent

    if strict:
        raise click.UsageError(
            "--strict is gone: what it demanded is the rule. --as-published judges as the schema files do"
        )
    contract = choose_contract(as_published=as_published)
    judge = contract.documents.judge if contract.documents else judge_sent(contract)
    clock = None
    if expired:
        clock = click.get_current_context().with_resource(available_clock(control))
    code = Exit.PASS
    judged = refused = 0
    for found in read_documents(files or ("-",)):
        if isinstance(found, str):
            click.echo(f"sandbox: {found}", err=True)
            code = Exit.USAGE
            continue
        verdict = judge(found.raw, now=clock.time() if clock else None)
        judged += 1
        refused += not verdict.valid
        _print(found, verdict, as_json)
    if not as_json:
        click.echo(f"sandbox: {judged} judged, {refused} refused", err=True)
    return code or (Exit.FAIL if refused else Exit.PASS)


@message.command()
@click.option("--count", type=click.IntRange(min=0), metavar="N", default=1, help="How many.")
@click.option(
    "--seed", type=int, help="The same seed makes the same messages, but for their dates.  [default: drawn]"
)
@click.option(
    "--at",
    metavar="TIMESTAMP",
    callback=moment,
    help="When the first is published: 2026-01-31T12:00:00Z.  [default: now, on the sandbox's clock]",
)
@click.option("--type", "message_type", metavar="TYPE", help="MetadataCreate, ...  [default: all of them]")
@click.option("--resource-type", metavar="TYPE", help="dataset, article, ...  [default: all of them]")
@click.option(
    "--parts",
    type=click.IntRange(min=2),
    metavar="N",
    help="Make bodies so large that each message is split into this many parts.",
)
@click.option("--bad", metavar="CODE", help="Make invalid messages that call for this error code.")
@control_option
@always_json
def sample(count: int, seed: int | None, at: float | None, control: str | None, **wanted: Any) -> None:
    """Make messages, one a line on standard output, as send and validate take them.

    They are published now, a millisecond after each other, and every date in them follows from that. With
    --seed and --at they are the same byte for byte.
    """
    from emulator.rng import new_seed
    from schemas.drawn_samples import draw_samples

    if at is None:
        with available_clock(control) as clock:
            at = clock.time()
    seed = new_seed() if seed is None else seed
    try:
        for made in draw_samples(load_contract(), seed, count, now=at, **wanted):
            sys.stdout.buffer.write(write_line(made.data) + b"\n")
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    sys.stdout.buffer.flush()


def _print(found: Document, verdict: Verdict, as_json: bool) -> None:
    if as_json:
        violations = [violation._asdict() for violation in verdict.violations]
        print_json({"valid": verdict.valid, "code": verdict.code, "violations": violations})
        return
    click.echo(f"{'valid' if verdict.valid else verdict.code:<11} {found.place}")
    for violation in verdict.violations:
        click.echo(f"  {violation.path or '/'}: {violation.message} ({violation.rule})")
