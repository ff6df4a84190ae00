"""The same screens in a browser: each visitor gets a TUI of their own over the same sandbox."""

from __future__ import annotations

import shlex
import socket
import sys
from collections.abc import Callable
from importlib.util import find_spec

from rdss_sandbox.admission import Admission
from rdss_sandbox.installation import how_to_add

LOOPBACK = "127.0.0.1"


class ServingUnavailableError(RuntimeError):
    """textual-serve is not installed, or the port cannot be had; says what to do."""


def command(control: str) -> str:
    """What runs for each visitor; a token comes to it in the environment, where no process list shows it."""
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

    ``ready`` is called with the page's address once nothing stands in the way of it any more. Whoever reaches
    the page can do what the TUI can; with a ``token`` only who opened ``/?token=...`` once. Raises
    ServingUnavailableError.
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
