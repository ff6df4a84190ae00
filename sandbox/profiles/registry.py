"""The ways to stand a sandbox up, in one table; each is a file here that is loaded when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from emulator.settings.settings import Settings
    from sandbox.profiles.running import Running

    Run = Callable[[Settings, Callable[[Running], None]], None]


@dataclass(frozen=True, slots=True)
class Profile:
    """``seconds`` is how long to wait for it to be ready.

    ``stays`` is whether it runs as long as the process that starts it, which
    containers do not.
    """

    help: str
    seconds: float = 30.0
    stays: bool = True


PROFILES: dict[str, Profile] = {
    "embedded": Profile("everything in one process; needs nothing else"),
    "compose": Profile("Docker Compose: LocalStack, RabbitMQ and the emulator in front", 600.0, stays=False),
    "localstack": Profile("in front of a LocalStack of its own, without Docker", 900.0),
    "relay": Profile("in front of what runs already: --upstream-aws, --upstream-amqp"),
    "aws": Profile("in front of AWS itself, with your credentials"),
}


def load(name: str) -> Run:
    """What stands a profile up: ``run(settings, ready)``."""
    run: Run = import_module(f"sandbox.profiles.{name}").run
    return run
