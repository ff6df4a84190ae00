"""What ``sandbox certify`` prints: where the run is, the verdicts, and the smallest runs that fail."""

from __future__ import annotations

import shlex
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Final

from emulator.clock import stopwatch

if TYPE_CHECKING:
    from rdss_sandbox.shapes.certificate import Certificate, ClauseResult

_COLOURS: Final = {"pass": "green", "fail": "bold red", "not exercised": "yellow", "not applicable": "dim"}
_MOST_SHOWN: Final = 3
_COLUMNS: Final = 80
_INDENT: Final = "    "
_EVERY_SECONDS: Final = 15.0


@contextmanager
def following_progress(seed: int) -> Iterator[Callable[[str], None]]:
    """Give a function that takes what the run is doing, and show it: as it changes on a terminal.

    Elsewhere a line says every 15 seconds where the run is.
    """
    from sandbox.visible_output import make_console

    console = make_console(stderr=True)
    if console.is_terminal:
        with console.status(f"seed {seed}") as status:
            yield lambda doing: status.update(f"{doing} (seed {seed})")
        return
    now, over, began = ["starting"], threading.Event(), stopwatch()

    def tell() -> None:
        while not over.wait(_EVERY_SECONDS):
            console.print(f"after {stopwatch() - began:.0f} s: {now[0]} (seed {seed})", soft_wrap=True)

    teller = threading.Thread(target=tell, daemon=True, name="certify-progress")
    teller.start()
    try:
        yield lambda doing: now.__setitem__(0, doing)
    finally:
        over.set()
        teller.join()


def show_certificate(certificate: Certificate, to: Path | None) -> None:
    """Print the verdicts, those that fail last, and the level."""
    from sandbox.certify.clause import REASONS

    left_out = certificate.left_out
    for remark in certificate.remarks:
        show_lines((f"! {remark}",))
    for each in sorted(certificate.tried, key=lambda each: each.verdict == "fail"):
        _show_clause(each, certificate.stages)
    if left_out:
        reasons = ", ".join(sorted({REASONS.get(str(each.reason), str(each.reason)) for each in left_out}))
        show_lines((f"not tried ({reasons}): {', '.join(each.id for each in left_out)}",))
    levels = ", ".join(f"{level} {verdict}" for level, verdict in certificate.levels.items())
    show_lines(
        (
            "",
            f"level {certificate.level or 'none'} ({levels})",
            f"{certificate.seconds:g} s; seed {certificate.seed}",
        )
    )
    if certificate.clauses:
        _show_command("repeat with: ", certificate.clauses[0].replay)
    if to is not None:
        show_lines((f"written to {to}",))


def show_smallest(certificate: Certificate) -> None:
    """Print the smallest run found for each failure, with the command that repeats it."""
    for found in certificate.smallest:
        show_lines(("", f"smallest run that fails: {found.sentence}"))
        _show_command("repeat that with: ", found.replay)


def show_lines(lines: Iterable[str], indent: str = "") -> None:
    """Print lines, those that are too long for 80 columns in several."""
    from sandbox.visible_output import make_console

    console = make_console(highlight=False, soft_wrap=True)
    for line in lines:
        rest = wrap(
            line, _COLUMNS, initial_indent=indent, subsequent_indent=indent + "  ", break_on_hyphens=False
        )
        for each in rest or [""]:
            console.print(each, markup=False)


def _show_clause(result: ClauseResult, stages: Mapping[str, str]) -> None:
    from sandbox.certify.clause import REASONS
    from sandbox.visible_output import make_console

    tried = f"{result.exposure} tried, {result.needed} needed"
    make_console(highlight=False, soft_wrap=True).print(
        f"[{_COLOURS[result.verdict]}]{result.verdict:<15}[/]{result.id:<32}{result.level:<8}{tried}"
    )
    if result.reason:
        show_lines((REASONS.get(result.reason, result.reason),), _INDENT)
    stage = ""
    for finding in result.evidence[:_MOST_SHOWN]:
        if finding.stage and finding.stage != stage:
            stage = finding.stage
            show_lines((f"in the stage {stage}: {stages.get(stage, '')}",), _INDENT)
        times = f" ({finding.times} times)" if finding.times > 1 else ""
        show_lines((f"{finding.said}{times}",), _INDENT + "  ")
        show_lines((f"| {line}" for line in finding.output), _INDENT + "    ")
    if (more := len(result.evidence) - _MOST_SHOWN) > 0:
        show_lines((f"and {more} more",), _INDENT + "  ")
    if result.evidence and result.advice:
        show_lines((f"what to do: {result.advice}",), _INDENT)


def _show_command(title: str, command: str) -> None:
    """Print a command that can be copied: a line that is too long goes on behind a backslash."""
    lines = [title]
    for word in shlex.split(command):
        quoted = shlex.quote(word)
        if len(lines[-1]) + len(quoted) + 2 > _COLUMNS and lines[-1].strip() != title.strip():
            lines[-1] += "\\"
            lines.append(_INDENT)
        lines[-1] += f"{quoted} "
    from sandbox.visible_output import make_console

    for line in lines:
        make_console(highlight=False, soft_wrap=True).print(line.rstrip(), markup=False)
