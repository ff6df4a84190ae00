"""The TUI in a browser: each visitor gets a TUI process of their own, for the same sandbox."""

from __future__ import annotations

import shlex
import socket
import sys
from collections.abc import Callable
from importlib.util import find_spec

from rdss_sandbox.admission import Admission
from rdss_sandbox.machine.installation import how_to_add

LOOPBACK = "127.0.0.1"


class ServingUnavailableError(RuntimeError):
    """textual-serve is not installed, or the port is taken; the message says what to do."""


def command(control: str) -> str:
    """The command for each visitor. It reads the token from the environment, which process lists hide."""
    return shlex.join([sys.executable, "-m", "tui", "--control", control])


def serve(
    control: str,
    port: int,
    host: str = LOOPBACK,
    *,
    ready: Callable[[str], None] = lambda _: None,
    token: str | None = None,
) -> None:
    """Serve the sandbox at ``control`` on ``host`` and ``port`` until interrupted.

    ``ready`` is called with the page's address when the server is up. A visitor can do everything that the
    TUI can. With a ``token``, a visitor has to open ``/?token=...`` first.
    Raises ServingUnavailableError.
    """
    if find_spec("textual_serve") is None:
        raise ServingUnavailableError(f"the browser needs textual-serve; get it with: {how_to_add('serve')}")
    from tui.browser.served_page import OfflineServer

    try:
        socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
    except OSError as error:
        why = f"port {port} on {host} cannot be had ({error.strerror}); give another with --port"
        raise ServingUnavailableError(why) from error
    admission = Admission.of((host,), token=token)
    OfflineServer(command(control), host, port, admission, ready).serve()
