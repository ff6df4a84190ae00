"""Who may come in, in a line for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rdss_sandbox.shapes.status import Doors

_LOOPBACK: Final = ("127.", "localhost", "::1")


def describe_doors(doors: Doors) -> str:
    """Describe who may come in: ``every program of this machine (127.0.0.1, without a token)``."""
    addresses = sorted({port.address for port in doors.ports})
    here = all(address.startswith(_LOOPBACK) for address in addresses)
    who = "every program of this machine" if here else "every machine that reaches it"
    with_token = "with the token" if doors.token else "without a token"
    line = f"{who} ({', '.join(addresses)}, {with_token})"
    return f"{line}; pages of {', '.join(doors.origins)}" if doors.origins else line
