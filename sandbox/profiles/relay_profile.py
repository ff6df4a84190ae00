"""The relay profile: the sandbox's faults, audit and screens in front of running services."""

from __future__ import annotations

from collections.abc import Callable

from emulator.settings.settings import Settings
from sandbox.profiles.in_process import CannotStartError, serve
from sandbox.profiles.running import Running


def run(settings: Settings, ready: Callable[[Running], None]) -> None:
    """Relay until SIGINT or SIGTERM; ``ready`` is called when it answers. Raises CannotStartError."""
    if settings.upstream_aws is None and settings.upstream_amqp is None:
        raise CannotStartError("the profile relay needs --upstream-aws URL, --upstream-amqp URL, or both")
    serve(settings, ready)
