"""The reasons for a message's state in words: its error code, its decoration, the rules that it breaks."""

from __future__ import annotations

from typing import NamedTuple

from rdss_sandbox.client import RefusedError
from rdss_sandbox.shapes.contract import Contract, Verdict
from rdss_sandbox.shapes.messages import MessageRow
from tui.state.seeking import MessageLog

_VIOLATIONS_SHOWN = 4


class Reasons(NamedTuple):
    """``fine`` means that the message meets the contract and has no error code; ``lines`` are the reasons."""

    fine: bool
    lines: tuple[str, ...]


async def find_reasons(log: MessageLog, row: MessageRow, contract: Contract) -> Reasons:
    """Collect the reasons from the message's error code, its decoration, and the sandbox's verdict on it."""
    lines = []
    if row.code:
        known = {each.code: each.description for each in contract.codes}
        lines.append(f"{row.code}: {known.get(row.code, 'a code that the contract does not have')}")
    try:
        verdict = await log.verdict(row.id)
    except RefusedError as error:
        return Reasons(fine=False, lines=(*lines, str(error)))
    if verdict.reason and not any(line.endswith(verdict.reason) for line in lines):
        lines.append(verdict.reason)
    lines += list_violations(verdict, _VIOLATIONS_SHOWN)
    return Reasons(fine=not lines, lines=tuple(lines))


def list_violations(verdict: Verdict, most: int) -> list[str]:
    """A line for each violation, ``most`` of them at most, and one with the number of the others."""
    lines = []
    for each in verdict.violations[:most]:
        rule = "" if each.rule in each.message else f" ({each.rule})"
        lines.append(f"{each.path} {each.message}{rule}".lstrip())
    if (more := len(verdict.violations) - most) > 0:
        lines.append(f"and {more} more")
    return lines
