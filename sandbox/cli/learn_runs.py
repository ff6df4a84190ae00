"""What the commands of ``sandbox learn`` that run a client need around it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sandbox.cli.exit_codes import CommandFailedError, Exit
from sandbox.cli.learn_course import HERE

if TYPE_CHECKING:
    from sandbox.learn.lesson import Language


def require_runtime(language: Language) -> None:
    """Raise where what runs a client of this language is missing."""
    from shutil import which

    from sandbox.learn.lesson import Language
    from sandbox.learn.workplace import SDK, has_sdk

    if language is not Language.JAVASCRIPT:
        return
    if which("node") is None:
        raise CommandFailedError(
            "node is not on the PATH; install Node.js to run clients in JavaScript", Exit.ENVIRONMENT
        )
    if not has_sdk(HERE):
        raise CommandFailedError(
            f"{SDK} is not installed for the client; install it: npm install --prefix learn", Exit.ENVIRONMENT
        )


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """End a check by SIGTERM as by Ctrl-C, and say what cannot be started: no client stays behind."""
    from sandbox.certify.client_process import ClientNotStartedError

    usual = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except ClientNotStartedError as error:
        raise CommandFailedError(str(error), Exit.ENVIRONMENT) from error
    finally:
        signal.signal(signal.SIGTERM, usual)
