"""The aws profile: the sandbox in front of AWS itself; requests are signed again with your credentials."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from emulator.settings.settings import Settings
from sandbox.profiles.in_process import CannotStartError, serve
from sandbox.profiles.running import Running


def run(settings: Settings, ready: Callable[[Running], None]) -> None:
    """Relay until SIGINT or SIGTERM; ``ready`` is called when it answers. Raises CannotStartError."""
    if not settings.loopback:
        raise CannotStartError(
            f"any program that reaches {settings.host} could use your AWS credentials: "
            "this profile stays on 127.0.0.1"
        )
    serve(replace(settings, upstream_owned=False), ready)
