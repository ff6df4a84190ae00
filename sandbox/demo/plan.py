"""What a demonstration sends, and what it does to it on the way."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from rdss_sandbox.shapes.faults import NewFault
from schemas.error_codes import ErrorCode

CHANNEL = "input"
OVERSIZE_TENANT = 20_059
"""The tenant of the messages that the oversize fault makes grow."""
BAD = (
    ErrorCode.GENERR001,
    ErrorCode.GENERR002,
    ErrorCode.GENERR003,
    ErrorCode.GENERR004,
    ErrorCode.GENERR007,
    ErrorCode.GENERR010,
)
"""The codes that a message alone can cause."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How much of everything; ``bad`` for each code, ``latency`` and ``jitter`` in milliseconds.

    ``ordeals``: whether broker, store, file and applications are made to fail as well.
    """

    seed: int
    messages: int = 2000
    sequences: int = 8
    bad: int = 3
    oversize: int = 5
    duplicates: float = 0.05
    latency: int = 5
    jitter: int = 20
    reshards: tuple[str, ...] = ("split", "split", "merge")
    ordeals: bool = True
    source: Path | None = None

    def of_files(self, source: Path) -> Plan:
        """The plan for files as they are: no message of ours beside them, and none of theirs made to grow."""
        return replace(self, source=source, messages=0, sequences=0, bad=0, oversize=0, ordeals=False)

    def faults(self, total: int) -> list[NewFault]:
        """The faults for ``total`` messages; each chooses its messages by the seed and their messageId."""
        faults = [
            NewFault(
                type="duplicate",
                name="retries",
                channel=CHANNEL,
                direction="publish",
                toxicity=self.duplicates,
            ),
            NewFault(
                type="duplicate",
                name="redeliveries",
                channel=CHANNEL,
                direction="deliver",
                toxicity=self.duplicates,
            ),
            NewFault(
                type="latency",
                name="latency",
                channel=CHANNEL,
                direction="publish",
                attributes={
                    "delay": self.latency / 1000,
                    "jitter": self.jitter / 1000,
                    "distribution": "uniform",
                },
            ),
        ]
        faults += [self._reshard(at, action, total) for at, action in enumerate(self.reshards, start=1)]
        if self.oversize:
            faults.append(
                NewFault(
                    type="oversize",
                    name="oversize",
                    channel=CHANNEL,
                    when={"match": {"tenantJiscID": str(OVERSIZE_TENANT)}},
                )
            )
        return faults

    def _reshard(self, at: int, action: str, total: int) -> NewFault:
        """One change of shards, at an even part of the way."""
        return NewFault(
            type="reshard",
            name=f"{action}-{at}",
            channel=CHANNEL,
            direction="control",
            attributes={"action": action},
            when={"after": at * total // (len(self.reshards) + 1), "first": 1},
        )
