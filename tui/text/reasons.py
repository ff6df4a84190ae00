"""The reasons for a message's state in words: its error code, its decoration, the rules that it breaks."""

from __future__ import annotations

from typing import NamedTuple

from rdss_sandbox.shapes.messages import MessageDetail
from schemas.rdss.envelope import oversize
from schemas.rdss.error_codes import ErrorCode
from schemas.rdss.validation import Violation, judge
from tui.state.redrive import original_bytes

_VIOLATIONS_SHOWN = 4


class Reasons(NamedTuple):
    """``fine`` means that the message meets the contract and has no error code; ``lines`` are the reasons."""

    fine: bool
    lines: tuple[str, ...]


def why(detail: MessageDetail) -> Reasons:
    """Collect the reasons from the message's decoration and from its validation."""
    data = original_bytes(detail)
    if data is None:
        return Reasons(fine=False, lines=("past its stream's retention: only this row of it is left",))
    lines = list(_of_the_queue(detail))
    verdict = judge(data, now=detail.time)
    lines += [_sentence(each) for each in verdict.violations[:_VIOLATIONS_SHOWN]]
    if (more := len(verdict.violations) - _VIOLATIONS_SHOWN) > 0:
        lines.append(f"and {more} more")
    if oversize(data):
        lines.append(f"it has {len(data):,} bytes; 1,000,000 are allowed")
    return Reasons(fine=not lines, lines=tuple(lines))


def _of_the_queue(detail: MessageDetail) -> tuple[str, ...]:
    header = detail.header or {}
    code, said = header.get("errorCode"), header.get("errorDescription")
    if not isinstance(code, str):
        return ()
    named = next((each for each in ErrorCode if each == code), None)
    known = named.description if named else "a code that the specification does not have"
    return (f"{code}: {known}", *([str(said)] if said and said != known else []))


def _sentence(violation: Violation) -> str:
    place = violation.path or "the message"
    rule = "" if violation.rule in violation.message else f" ({violation.rule})"
    return f"{place} {violation.message}{rule}"
