"""Every command that a message, a hint or a help text advises is one that can be typed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from emulator.faults.registry import TYPES
from sandbox.cli.command_table import COMMANDS
from sandbox.cli.sandbox_command import sandbox as group

ROOT = Path(__file__).parents[3]
VALUE = "VALUE"
"""What stands for a value that a message fills in."""
COMMAND = re.compile(r"(?<![\w./-])sandbox ((?:[a-z]+)(?: (?:--?)?[\w:/.*{}@=%<>\[\]-]+)*)")
PROSE = frozenset(
    {
        # "the sandbox answers", "a sandbox of its own": what follows the noun in a sentence.
        *("a", "all", "and", "answers", "are", "as", "asks", "at", "begins", "but", "by", "can", "cannot"),
        *("control", "ends", "failed", "fixture", "for", "from", "further", "has", "here", "if", "in", "is"),
        *("itself", "may", "means", "names", "now", "of", "on", "one", "or", "refused", "refuses"),
        *("relays", "runs"),
        *("said", "says", "started", "stopped", "takes", "tells", "that", "the", "these", "this", "to"),
        *("until", "was", "when", "where", "which", "while", "who", "with", "holds", "does", "goes", "stays"),
        *(
            "samples",
            "certificate",
            "keeps",
            "calls",
            "it",
            "its",
            "verifies",
            "pretends",
            "stands",
            "beside",
        ),
        *(
            "whose",
            "behind",
            "saw",
            "answered",
            "did",
            "took",
            "plays",
            "look",
            "mark",
            "left",
            "must",
            "not",
            "builds",
            "since",
            "played",
            "gives",
            "after",
            "before",
        ),
    }
)


def texts() -> Iterator[tuple[str, str]]:
    """Every text in the code that a person may come to see, with where it is; docstrings of commands too."""
    for package in ("sandbox", "emulator", "tui", "schemas", "rdss_sandbox"):
        for path in sorted((ROOT / package).rglob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            docstrings = {
                id(node.body[0].value)
                for node in ast.walk(tree)
                if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
                and node.body
                and isinstance(node.body[0], ast.Expr)
            }
            if "cli" in path.parts:
                docstrings = set()
            inside = {
                id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values
            }
            for node in ast.walk(tree):
                if isinstance(node, ast.JoinedStr):
                    written = "".join(
                        str(part.value) if isinstance(part, ast.Constant) else VALUE for part in node.values
                    )
                elif (
                    isinstance(node, ast.Constant)
                    and isinstance(node.value, str)
                    and not {id(node)} & (docstrings | inside)
                ):
                    written = node.value
                else:
                    continue
                yield f"{path.relative_to(ROOT)}:{node.lineno}", " ".join(written.split())


def advised() -> Iterator[tuple[str, str]]:
    for place, text in texts():
        for found in COMMAND.finditer(text):
            before = text[: found.start()].rpartition(" ")[0] or text[: found.start()]
            article = re.search(
                r"\b(?:[Tt]he|[Aa]|[Tt]his|[Aa]nother|no|[Rr]unning|of|RDSS)\s*$", before + " "
            )
            if found[1].split()[0] in PROSE and (article or found[1].split()[0] not in COMMANDS):
                continue
            yield place, found[1]


def problem(words: list[str]) -> str | None:
    """Why these words after ``sandbox`` are no beginning of a command line; None when they are."""
    command: click.Command = group
    context = click.Context(group)
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        if words[0].isupper():  # A placeholder, or what the message fills in.
            return None
        found = command.get_command(context, words[0])
        if found is None:
            return f"no command {words[0]!r}"
        command, words = found, words[1:]
    options = {name for parameter in command.params for name in parameter.opts + parameter.secondary_opts}
    unknown = [
        word.partition("=")[0]
        for word in words
        if word.startswith("--") and word.partition("=")[0] not in {*options, "--help"}
    ]
    return f"no option {unknown[0]}" if unknown else None


def test_every_advised_command_exists_with_its_options() -> None:
    """In messages, help texts and hints of the whole product; what is no command is prose that is known."""
    found = list(advised())
    wrong = []
    for place, line in found:
        words = re.split(r"[.,;:)]+(?:\s|$)", line)[0].split()
        if words[0] not in COMMANDS or (why := problem(words)):
            wrong.append(f"{place}: sandbox {line}: {'no such command' if words[0] not in COMMANDS else why}")
    assert wrong == [], "\n".join(wrong)
    assert len({line for _, line in found}) > 30


@pytest.mark.parametrize("line", ["up --detatch", "statsu", "fault lst", "tui --sreve", "fault add flood"])
def test_what_does_not_exist_is_found(line: str) -> None:
    """The check can fail."""
    words = line.split()
    assert words[0] not in COMMANDS or problem(words)


def test_the_names_of_faults_in_advice_are_checked_too() -> None:
    """A type is a command of its own."""
    assert problem(["fault", "add", next(iter(TYPES)), "--toxicity", "0.5"]) is None
