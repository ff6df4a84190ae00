"""The generated parts of docs/extending.md: ``python -m tests.docs.extending_page docs/extending.md``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Final

from tests.docs.page_parts import renew_file, renew_part

ROOT: Final = Path(__file__).parents[2]
_FAULT: Final = ROOT / "examples" / "clock_skew"

PUBLIC: Final = {
    "rdss_sandbox.extension": ("Command", "Extension", "Place", "Screen"),
    "rdss_sandbox.shapes.recorded_exchange": (
        "Client", "Contents", "Exchange", "Lease", "RefusedAttempt", "ShardReads", "ShardState",
        "StreamState", "Writing",
    ),
    "rdss_sandbox.shapes.trace": ("IteratorRequest", "Put", "PutEntry", "Read", "Settlement", "Subscription"),
    "emulator.channels.channel": (
        "Channel", "ChannelUnavailableError", "Delivery", "PublishRefusedError", "PublishUnknownError",
        "Receipt",
    ),
    "emulator.channels.aws_session": ("aws_session",),
    "emulator.channels.faulted_channel": ("FaultedChannel",),
    "emulator.channels.kinds": ("Broker", "ChannelKind", "QueueAsShard", "Queues", "Shards"),
    "emulator.clock": ("Clock",),
    "emulator.diagnosis.rule": ("Harm", "Judgement", "Rule", "Sighting"),
    "emulator.faults.fault": (
        "CARRIERS", "STREAMS", "Attribute", "Direction", "Done", "Environment", "Failure",
        "FaultRefusedError", "FaultType", "Hit", "Item", "Phase",
    ),
    "rdss_sandbox.shapes.certificate": ("Finding",),
    "sandbox.certify.clause": ("Clause", "Group", "Judgement", "Role"),
    "sandbox.certify.history": ("History", "Level"),
}  # fmt: skip
"""What an extension may import, by its module."""


def renew(page: str) -> str:
    """Generate the parts between the marks again. Raises ValueError when a mark is missing."""
    for mark, file, language in (
        ("project", "pyproject.toml", "toml"),
        ("fault", "clock_skew.py", "python"),
    ):
        text = (_FAULT / file).read_text(encoding="utf-8")
        page = renew_part(page, mark, f"\n```{language}\n{text}```\n")
    rows = [f"| `{module}` | `{name}` | {said} |" for module, name, said in list_public()]
    return renew_part(page, "public", "\n".join(["", "| module | name | |", "|---|---|---|", *rows, ""]))


def list_public() -> Iterator[tuple[str, str, str]]:
    """The module and the name of each, and the first sentence of its docstring; empty where it has none."""
    for module, names in PUBLIC.items():
        said = _read_docstrings(module)
        for name in names:
            first = said.get(name, "").partition("\n\n")[0]
            yield module, name, first.replace("\n", " ").replace("``", "`")


def _read_docstrings(module: str) -> dict[str, str]:
    """What is said of each class, function and constant of a module, where it is defined."""
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    body = ast.parse(Path(spec.origin).read_text(encoding="utf-8")).body
    said = {
        each.name: ast.get_docstring(each) or ""
        for each in body
        if isinstance(each, ast.ClassDef | ast.FunctionDef)
    }
    for each, after in pairwise(body):
        target = each.target if isinstance(each, ast.AnnAssign) else None
        if isinstance(target, ast.Name) and isinstance(after, ast.Expr):
            said[target.id] = ast.literal_eval(after.value)
    return said


if __name__ == "__main__":
    renew_file(renew)
