"""What clients do wrong, as the control API shows it."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from rdss_sandbox.shapes.recorded_exchange import Client


class Step(msgspec.Struct, frozen=True):
    """One step of a finding's story: when it happened, in seconds since the epoch, and what."""

    at: float
    said: str


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A mistake of a client. ``said`` tells it in a sentence, ``evidence`` in facts, ``advice`` what to do.

    ``at`` is when it happened, in seconds since the epoch. ``steps`` led to it, oldest first.
    ``faults`` are the names of the injected faults that the client reacted to. ``client`` and ``shard``
    are null where there is none to name.
    """

    rule: str
    title: str
    harm: str
    client: str | None
    stream: str
    shard: str | None = None
    at: float
    said: str
    evidence: dict[str, Any]
    advice: str
    steps: tuple[Step, ...] = ()
    faults: tuple[str, ...] = ()


class RuleVerdict(msgspec.Struct, frozen=True):
    """What came of a rule: ``found``, ``not-found`` in ``looked`` chances, or ``no-opportunity`` to look."""

    rule: str
    title: str
    harm: str
    verdict: Literal["found", "not-found", "no-opportunity"]
    looked: int
    findings: int


class Diagnosis(msgspec.Struct, frozen=True):
    """The findings, those that lose data first, and the verdict of every rule.

    ``taken`` is the time until which the exchange was recorded. ``complete`` is False while records of
    streams are still to be looked through; asking again goes on. ``known`` is False where an upstream has the
    streams: then only what passed the sandbox was seen, and nothing of what records hold.
    """

    taken: float
    findings: tuple[Finding, ...]
    rules: tuple[RuleVerdict, ...]
    clients: tuple[Client, ...]
    complete: bool = True
    known: bool = True
