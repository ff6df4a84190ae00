"""The same screens in a browser: each visitor gets a TUI of their own over the same sandbox."""

from __future__ import annotations

import shlex
import sys
from importlib.util import find_spec

LOOPBACK = "127.0.0.1"


class ServingUnavailableError(RuntimeError):
    """textual-serve is not installed; says how to get it."""


def command(control: str) -> str:
    """What runs for each visitor; a token comes to it in the environment, where no process list shows it."""
    return shlex.join([sys.executable, "-m", "tui", "--control", control])


def serve(control: str, port: int, host: str = LOOPBACK) -> None:
    """Serve the sandbox at ``control`` on ``host`` and ``port`` until interrupted.

    Whoever reaches the page can do what the TUI can. Raises ServingUnavailableError, and OSError for a port
    in use.
    """
    if find_spec("textual_serve") is None:
        raise ServingUnavailableError(
            "the browser needs textual-serve; get it with: pip install 'rdss-sandbox[serve]'"
        )
    from textual_serve.server import Server  # noqa: PLC0415 -- an extra

    Server(command(control), host=host, port=port, title="RDSS sandbox").serve()
