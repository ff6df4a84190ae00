"""The whole control API, as the clients have it and as the server and the documentation list it."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Final

from rdss_sandbox.api.access import Access
from rdss_sandbox.api.audit import AuditLog, AuditMessages
from rdss_sandbox.api.buckets import Buckets
from rdss_sandbox.api.contract import MessageContract
from rdss_sandbox.api.diagnosis import ClientDiagnosis
from rdss_sandbox.api.endpoint import Mode, Subject
from rdss_sandbox.api.events import Events
from rdss_sandbox.api.faults import Chaos, Faults
from rdss_sandbox.api.messages import Messages, Redriving, Samples, Sending, Sequences, StoredMessages
from rdss_sandbox.api.processing import Processing
from rdss_sandbox.api.queues import Queues
from rdss_sandbox.api.recordings import Recordings
from rdss_sandbox.api.replays import Replays
from rdss_sandbox.api.sandbox_state import SandboxState
from rdss_sandbox.api.scenarios import Scenarios
from rdss_sandbox.api.shell_commands import ShellCommands
from rdss_sandbox.api.snapshots import Snapshots
from rdss_sandbox.api.streams import Streams
from rdss_sandbox.api.topics import Topics
from rdss_sandbox.shapes.audit import AuditPlace


class ControlApi(
    SandboxState[Mode],
    Streams[Mode],
    Messages[Mode],
    StoredMessages[Mode],
    Sending[Mode],
    Samples[Mode],
    Redriving[Mode],
    Sequences[Mode],
    MessageContract[Mode],
    Events[Mode],
    ClientDiagnosis[Mode],
    Faults[Mode],
    Buckets[Mode],
    AuditLog[Mode],
    ShellCommands[Mode],
):
    """Every endpoint: the methods of the subjects above, and below a sub-client for each other subject."""

    @cached_property
    def access(self) -> Access[Mode]:
        """The access keys with limited permissions."""
        return Access(self.transport)

    def audit(self, place: AuditPlace) -> AuditMessages[Mode]:
        """The entries of the audit log in its stream, or in its bucket."""
        return AuditMessages(self.transport, place)

    @cached_property
    def chaos(self) -> Chaos[Mode]:
        """LocalStack's chaos API."""
        return Chaos(self.transport)

    @cached_property
    def queues(self) -> Queues[Mode]:
        """The queues, their messages and the claims on these."""
        return Queues(self.transport)

    @cached_property
    def snapshots(self) -> Snapshots[Mode]:
        """Copies of the whole state of the sandbox, to be loaded again."""
        return Snapshots(self.transport)

    @cached_property
    def topics(self) -> Topics[Mode]:
        """The topics, their records, the changes of these, and the entitlements."""
        return Topics(self.transport)

    @cached_property
    def processing(self) -> Processing[Mode]:
        """Asynchronous messages and simulated external systems. Raises ``RefusedError`` where it has none."""
        return Processing(self.transport)

    @cached_property
    def recordings(self) -> Recordings[Mode]:
        """What passes the ports, for who writes it to a tape."""
        return Recordings(self.transport)

    @cached_property
    def replays(self) -> Replays[Mode]:
        """The replays of tapes. Raises ``RefusedError`` where it has none."""
        return Replays(self.transport)

    @cached_property
    def scenarios(self) -> Scenarios[Mode]:
        """The scenarios of the sandbox and their runs. Raises ``RefusedError`` where it has none."""
        return Scenarios(self.transport)


SUBJECTS: Final[dict[type[Subject[Any]], str]] = {
    SandboxState: "client",
    Streams: "client",
    Messages: "client",
    StoredMessages: "client",
    Sending: "client",
    Samples: "client",
    Redriving: "client",
    Sequences: "client",
    MessageContract: "client",
    Events: "client",
    ClientDiagnosis: "client",
    Faults: "client",
    Chaos: "client.chaos",
    Access: "client.access",
    Buckets: "client",
    AuditLog: "client",
    AuditMessages: "client.audit(place)",
    Queues: "client.queues",
    Snapshots: "client.snapshots",
    Topics: "client.topics",
    Processing: "client.processing",
    Recordings: "client.recordings",
    Replays: "client.replays",
    Scenarios: "client.scenarios",
    ShellCommands: "client",
}
"""Every subject, and what has its methods in Python."""
