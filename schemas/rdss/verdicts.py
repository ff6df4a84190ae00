"""The whole verdict: on a message of any release, on a part, on what parts make, and on late ones.

The specification says that a consumer "MUST wait for all constituent Messages to arrive before reconstructing
the overall payload" and names no code for those whose others never come, or do not belong to them. A late
sequence has a body that is not whole (GENERR001): nothing has expired that its header dates, so it is not
GENERR003. Parts that contradict each other do so in their headers' messageSequence: GENERR004.
"""

from __future__ import annotations

from collections.abc import Iterable

from schemas.contract import Joined, Part, Verdict, Violation
from schemas.rdss import MAX_MESSAGE_BYTES
from schemas.rdss.envelope import oversize
from schemas.rdss.error_codes import ErrorCode
from schemas.rdss.older_versions import RELEASES, CannotUpgradeError, upgrade
from schemas.rdss.peek import peek
from schemas.rdss.sequence import SequenceError, join
from schemas.rdss.validation import VALID, refuse
from schemas.rdss.validation import judge as validate

_FINAL = frozenset({ErrorCode.GENERR003, ErrorCode.GENERR006})
"""The codes that no upgrade can take away: the message has expired, or is too large."""


def judge(raw: bytes, *, now: float | None = None, as_published: bool = False) -> Verdict:
    """Judge the bytes of a message: size, form, fields, expiry; never raises.

    The expiry is compared with ``now``, in seconds since the epoch; None leaves it out. For a part of a
    sequence only the header is validated.
    """
    if oversize(raw):
        why = f"the message has {len(raw):,} bytes; the limit is {MAX_MESSAGE_BYTES:,}"
        return refuse(ErrorCode.GENERR006, "size", why)
    return validate(raw, now=now, as_published=as_published)


def judge_unsent(raw: bytes, *, now: float | None = None, as_published: bool = False) -> Verdict:
    """Judge a message that its sender may still split: a whole one has any size, a part fits the limit."""
    judged = judge if peek(raw).part else validate
    return judged(raw, now=now, as_published=as_published)


def judge_any_release(raw: bytes, *, now: float | None = None, as_published: bool = False) -> Verdict:
    """Give the verdict of a receiver; the arguments are those of ``judge``.

    A valid message is accepted with any version. An invalid one that claims an older version is upgraded and
    judged again.
    """
    verdict = judge(raw, now=now, as_published=as_published)
    if verdict.valid:
        return verdict
    return _upgrade(verdict, raw, now, joined=False, as_published=as_published)


def _upgrade(verdict: Verdict, raw: bytes, now: float | None, *, joined: bool, as_published: bool) -> Verdict:
    """The verdict on a refused message in the present form, where it has one."""
    if verdict.valid or verdict.code in _FINAL:
        return verdict
    version = peek(raw).version
    if version not in RELEASES:
        return verdict
    try:
        upgraded = upgrade(raw, version)
    except CannotUpgradeError as error:
        return _explained(verdict, str(error))
    again = validate(upgraded, now=now, joined=joined, as_published=as_published)
    return again._replace(upgraded=upgraded) if again.valid else _explained(again, f"upgraded from {version}")


def _explained(verdict: Verdict, why: str) -> Verdict:
    return verdict._replace(violations=(Violation("", "version", why), *verdict.violations))


def judge_part(part: Part, *, total: int | None, taken: bool) -> Verdict:
    """Judge the place of a part among those that came before it.

    ``total`` is what they say of the number of parts, None when there are none. ``taken`` means that one of
    them is at this position and has another body.
    """
    if not 1 <= part.position <= part.total:
        why = f"position {part.position} is not within the total of {part.total}"
    elif total not in (None, part.total):
        why = f"the total is {part.total}; parts that came before say {total}"
    elif taken:
        why = f"another message has come as part {part.position} of {part.total}"
    else:
        return VALID
    return refuse(ErrorCode.GENERR004, "sequence", why)


def judge_parts(parts: Iterable[bytes], *, now: float | None = None, as_published: bool = False) -> Joined:
    """Join the parts of a sequence and judge what they make, of whatever release."""
    try:
        whole = join(parts)
    except SequenceError as error:
        return Joined(None, refuse(ErrorCode.GENERR004, "sequence", str(error)))
    verdict = validate(whole, now=now, joined=True, as_published=as_published)
    return Joined(whole, _upgrade(verdict, whole, now, joined=True, as_published=as_published))


def judge_overdue(sequence: str, came: int, total: int, waited: float) -> Verdict:
    """Judge the parts that came of a sequence that is given up after ``waited`` seconds."""
    why = f"sequence {sequence}: {came} of {total} parts came within {waited:.0f} s"
    return refuse(ErrorCode.GENERR001, "sequence", why)
