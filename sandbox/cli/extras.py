"""Commands that need an extra: where it is missing, they say the line that installs it, and do nothing."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from sandbox.cli.exit_codes import CommandFailedError, Exit

P = ParamSpec("P")
T = TypeVar("T")


def needs(extra: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Have a command require an extra before it does anything; its help needs none."""

    def decorate(command: Callable[P, T]) -> Callable[P, T]:
        @wraps(command)
        def run(*args: P.args, **options: P.kwargs) -> T:
            require(extra)
            return command(*args, **options)

        return run

    return decorate


def require(extra: str) -> None:
    """Raise CommandFailedError, with the line to type, where a package of the extra is missing."""
    from rdss_sandbox.installation import find_missing, how_to_add

    if missing := find_missing(extra):
        line = f"{missing} is not installed; get it with: {how_to_add(extra)}"
        raise CommandFailedError(line, Exit.ENVIRONMENT)
