"""Commands that need an extra: where it is missing, they say the line that installs it, and do nothing."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from sandbox.cli.output.exit_codes import CommandFailedError, Exit

P = ParamSpec("P")
T = TypeVar("T")


def needs(*extras: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Have a command require extras before it does anything; its help needs none."""

    def decorate(command: Callable[P, T]) -> Callable[P, T]:
        @wraps(command)
        def run(*args: P.args, **options: P.kwargs) -> T:
            require(*extras)
            return command(*args, **options)

        return run

    return decorate


def require(*extras: str) -> None:
    """Raise CommandFailedError, with the line to type, where packages of these extras are missing."""
    from rdss_sandbox.machine.installation import explain_missing_extras

    if line := explain_missing_extras(*extras):
        raise CommandFailedError(line, Exit.ENVIRONMENT)
