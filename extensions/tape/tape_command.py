"""``sandbox tape``: look at tapes, cut and merge them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from heapq import merge as merge_sorted
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sandbox.cli.options.waiting import moment
from sandbox.cli.output.exit_codes import CommandFailedError, Exit
from sandbox.cli.output.printing import json_option, print_json

if TYPE_CHECKING:
    from extensions.tape.tape_opening import Tape
    from rdss_sandbox.shapes.tape import TapeEntry, TapeMark

_FILE = click.Path(path_type=Path)


@click.group()
def tape() -> None:
    """Look at tapes, cut and merge them; sandbox record makes them."""


@tape.command()
@click.argument("path", type=_FILE, metavar="FILE.tape")
@json_option
def show(*, path: Path, as_json: bool) -> int:
    """Show what is on a tape: channels, rates, sizes, duplicates, bad messages, refusals, reshards.

    Exit code 1: something on it could not be read, and standard error says what.
    """
    from extensions.tape.summary_text import describe_summary
    from extensions.tape.tape_summary import summarise
    from rdss_sandbox.machine.installation import find_missing
    from schemas.bound import CONTRACT
    from schemas.contract import judge_sent

    found = _open(path)
    judge = None if find_missing("messages") else judge_sent(CONTRACT)
    summary = summarise(found, CONTRACT, judge)
    if as_json:
        print_json(summary)
    else:
        for line in describe_summary(summary):
            click.echo(line)
    return _tell_troubles([found])


@tape.command()
@click.argument("path", type=_FILE, metavar="FILE.tape")
@click.option("--to", "target", type=_FILE, required=True, metavar="FILE.tape", help="The cut, a new file.")
@click.option("--from", "start", metavar="TIME", callback=moment, help="Only what came then or later.")
@click.option("--until", "end", metavar="TIME", callback=moment, help="Only what came before this time.")
@click.option("--channel", "channels", multiple=True, metavar="NAME", help="Only what came to this channel.")
@json_option
def cut(
    *,
    path: Path,
    target: Path,
    start: float | None,
    end: float | None,
    channels: tuple[str, ...],
    as_json: bool,
) -> int:
    """Copy a part of a tape to a new tape: a length of time, or some channels.

    Exit code 1: something of it could not be read.
    """
    found = _open(path)
    _write(target, found.mark, _cut(found, start, end, channels), as_json)
    return _tell_troubles([found])


@tape.command()
@click.argument("paths", nargs=-1, required=True, type=_FILE, metavar="FILE.tape...")
@click.option("--to", "target", type=_FILE, required=True, metavar="FILE.tape", help="A new file.")
@json_option
def merge(*, paths: tuple[Path, ...], target: Path, as_json: bool) -> int:
    """Merge tapes into one, by the times of what is on them.

    Exit code 1: something of them could not be read.
    """
    import msgspec

    found = [_open(path) for path in paths]
    marks = [each.mark for each in found]
    mark = msgspec.structs.replace(
        marks[0],
        began=min(each.began for each in marks),
        source="; ".join(dict.fromkeys(each.source for each in marks)),
        bodies=_least_private(marks),
    )
    _write(target, mark, merge_sorted(*(each.read() for each in found), key=lambda entry: entry.at), as_json)
    return _tell_troubles(found)


def _open(path: Path) -> Tape:
    """Open a tape that a command names. Raises CommandFailedError."""
    from extensions.tape.tape_opening import open_tape
    from extensions.tape.tape_reader import BadTapeError

    try:
        return open_tape(path)
    except BadTapeError as error:
        raise CommandFailedError(str(error), Exit.USAGE) from error


def _least_private(marks: Iterable[TapeMark]) -> str:
    from extensions.tape.bodies import NONE, REDACTED, WHOLE

    kept = {each.bodies for each in marks}
    return next(each for each in (WHOLE, REDACTED, NONE) if each in kept)


def _cut(
    found: Tape, start: float | None, end: float | None, channels: tuple[str, ...]
) -> Iterator[TapeEntry]:
    """The entries of a part; the shards that a stream has then come first."""
    import msgspec

    from rdss_sandbox.shapes.tape import TapedChannel, TapedLoss

    def wanted(entry: TapeEntry) -> bool:
        return not channels or isinstance(entry, TapedLoss) or entry.channel in channels

    if start is not None:
        before = {each.channel: each for each in found.read(end=start) if isinstance(each, TapedChannel)}
        yield from (msgspec.structs.replace(each, at=start) for each in before.values() if wanted(each))
    yield from filter(wanted, found.read(start, end))


def _write(target: Path, mark: TapeMark, entries: Iterable[TapeEntry], as_json: bool) -> None:
    from extensions.tape.tape_writer import TapeExistsError, TapeWriter

    with ExitStack() as stack:
        try:
            written = stack.enter_context(TapeWriter(target, mark))
        except TapeExistsError as error:
            raise CommandFailedError(str(error), Exit.USAGE) from error
        for each in entries:
            written.add(each)
    if as_json:
        print_json({"tape": str(target), "entries": written.entries, "bytes": written.size})
    else:
        click.echo(f"{target}: {written.entries:,} entries, {written.size:,} bytes of messages")


def _tell_troubles(tapes: Iterable[Tape]) -> int:
    troubles = [why for each in tapes for why in each.troubles]
    for why in troubles:
        click.echo(f"sandbox: {why}", err=True)
    return Exit.FAIL if troubles else Exit.PASS
