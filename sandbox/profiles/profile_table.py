"""The table of profiles; a profile's module in this folder is imported when it is used."""

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
    """A profile. ``seconds`` is the time to wait until it is ready.

    ``stays`` means that it runs in the process that starts it, unlike containers.
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
    """Import a profile's ``run(settings, ready)``, which starts it."""
    run: Run = import_module(f"sandbox.profiles.{name}_profile").run
    return run
