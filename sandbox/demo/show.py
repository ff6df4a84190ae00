"""The output of a demonstration: the table of claims and the next commands."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table

from sandbox.demo.demo_verdict import Result
from sandbox.judging.verdict import Verdict

_MARKS = {True: "[green]holds[/]", False: "[bold red]fails[/]", None: "[yellow]not shown[/]"}
_VERDICTS = {
    Verdict.PASS: "[bold green]pass[/]: every line holds",
    Verdict.FAIL: "[bold red]fail[/]: the lines marked so do not hold",
    Verdict.INCONCLUSIVE: "[yellow]inconclusive[/]: the lines marked so could not be put to the test",
}


def show(result: Result, folder: Path, console: Console) -> None:
    """Print the table, the verdict, and what to do next."""
    table = Table(
        title=f"What was observed (seed {result.seed})", title_justify="left", box=None, pad_edge=False
    )
    table.add_column("claim", no_wrap=True)
    table.add_column("observed", justify="right")
    table.add_column("must be", justify="right")
    table.add_column("")
    for line in result.lines:
        table.add_row(line.claim, line.observed, line.expected, _MARKS[line.holds])
    console.print(table)
    console.print(f"\n{_VERDICTS[result.verdict]}\n")
    for what, where in [
        ("summary", folder / "summary.json"),
        ("streams", folder / "data"),
        ("repositories", folder / "sender.sqlite3"),
        ("", folder / "receiver.sqlite3"),
        ("", folder / "amqp"),
        ("tables", folder / "tables"),
    ]:
        console.print(f"{what:<14}{where}", soft_wrap=True, highlight=False)
    console.print()
    following = _next(result.seed, folder)
    widest = max(len(command) for command, _ in following)
    for command, what in following:
        console.print(f"  {command:<{widest}}  {what}", soft_wrap=True, highlight=False)


def _next(seed: int, folder: Path) -> list[tuple[str, str]]:
    return [
        (f"sandbox up --detach --data-dir {folder / 'data'}", "stand it up again with everything in it"),
        ("sandbox tui", "look at its shards and messages"),
        (f"sandbox demo --seed {seed}", "the same again"),
        ("sandbox demo --from DIR", "your own messages through the same faults"),
        ("sandbox fault add --help", "break something else"),
    ]
