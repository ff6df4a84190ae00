"""What one types to do the same as by a request."""

from __future__ import annotations

from rdss_sandbox.api.endpoint import POST, Mode, Subject
from rdss_sandbox.shapes.shell_commands import DescribedRequest, ShellCommand

# What is described may have a whole message in it.
_MOST_DESCRIBED_BYTES = 15 << 20


class ShellCommands(Subject[Mode], at="/commands"):
    """Requests as commands of a shell."""

    @POST("", most_bytes=_MOST_DESCRIBED_BYTES, errors={"no_command": 404})
    def command_for(self, described: DescribedRequest) -> ShellCommand:
        """The command that does the same as a request, which is not made."""
