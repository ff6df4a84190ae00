"""The plan of a demonstration: its messages and its faults."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from rdss_sandbox.shapes.faults import NewFault
from schemas.rdss.error_codes import ErrorCode

CHANNEL = "input"
QUEUE = "output"
"""The queue of the messages that go through AMQP; the audit log has it, as it has the stream."""
OVERSIZE_TENANT = 20_059
"""The tenant of the messages that the oversize fault affects."""
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
    """The numbers of a demonstration. ``bad`` is for each code; ``latency`` and ``jitter`` in milliseconds.

    ``failure_cases`` says whether broker, file and applications are made to fail as well. ``channel`` is the
    stream or queue that the messages go through.
    """

    seed: int
    channel: str = CHANNEL
    messages: int = 2000
    sequences: int = 8
    bad: int = 3
    oversize: int = 5
    duplicates: float = 0.05
    latency: int = 5
    jitter: int = 20
    reshards: tuple[str, ...] = ("split", "split", "merge")
    failure_cases: bool = True
    source: Path | None = None

    def of_files(self, source: Path) -> Plan:
        """The plan for the messages of files alone, without generated messages and oversize faults."""
        return replace(self, source=source, messages=0, sequences=0, bad=0, oversize=0, failure_cases=False)

    def through_amqp(self) -> Plan:
        """The plan for the queue: the same kinds of messages and faults, but fewer, and no shards."""
        return replace(
            self,
            seed=self.seed + 1,
            channel=QUEUE,
            messages=self.messages // 10,
            sequences=min(self.sequences, 1),
            bad=min(self.bad, 1),
            oversize=min(self.oversize, 1),
            reshards=(),
            failure_cases=False,
        )

    def faults(self, total: int) -> list[NewFault]:
        """The faults for ``total`` messages; a fault selects messages by the seed and the messageId."""
        faults = [
            NewFault(
                type="duplicate",
                name=f"{self.channel}-retries",
                channel=self.channel,
                direction="publish",
                toxicity=self.duplicates,
            ),
            NewFault(
                type="duplicate",
                name=f"{self.channel}-redeliveries",
                channel=self.channel,
                direction="deliver",
                toxicity=self.duplicates,
            ),
            NewFault(
                type="latency",
                name=f"{self.channel}-latency",
                channel=self.channel,
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
                    name=f"{self.channel}-oversize",
                    channel=self.channel,
                    when={"match": {"tenantJiscID": str(OVERSIZE_TENANT)}},
                )
            )
        return faults

    def _reshard(self, at: int, action: str, total: int) -> NewFault:
        """The fault for a change of shards; the changes are spread evenly over the messages."""
        return NewFault(
            type="reshard",
            name=f"{self.channel}-{action}-{at}",
            channel=self.channel,
            direction="control",
            attributes={"action": action},
            when={"after": at * total // (len(self.reshards) + 1), "first": 1},
        )
