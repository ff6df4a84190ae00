"""Failures of commands: one line on standard error and an exit code.

0 pass, 1 fail, 2 usage, 3 environment, 4 inconclusive. A command raises
``CommandFailedError`` for the failures that it expects. Every other error is turned
into the same form here.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import Final

import click

from rdss_sandbox.text.timestamps import timestamp

LOG: Final = ".sandbox/failures.log"


class Exit(IntEnum):
    """Exit codes."""

    PASS = 0
    FAIL = 1
    USAGE = 2
    ENVIRONMENT = 3
    INCONCLUSIVE = 4


_NO_INTEGER: Final = re.compile(r"is not a valid integer(?: range)?")
"""Click's words for what is no number."""
CODES: Final = {
    "emulator.channels.channel.ChannelUnavailableError": Exit.ENVIRONMENT,
    "emulator.journal.frames.DamagedLogError": Exit.ENVIRONMENT,
    "emulator.journal.format_mark.OtherFormatError": Exit.ENVIRONMENT,
    "emulator.settings.setting_errors.SettingsError": Exit.USAGE,
    "rdss_sandbox.api.endpoint.EmptyNameError": Exit.USAGE,
    "rdss_sandbox.questions.conditions.UnknownConditionError": Exit.USAGE,
    "rdss_sandbox.transports.UnreachableError": Exit.ENVIRONMENT,
    "sandbox.adaptor.application_api.ApplicationUnavailableError": Exit.ENVIRONMENT,
    "sandbox.adaptor.mapping_file.MappingError": Exit.USAGE,
    "sandbox.certify.certificate_parts.PartsError": Exit.USAGE,
    "sandbox.certify.client_process.ClientNotStartedError": Exit.ENVIRONMENT,
    "sandbox.certify.comparison.NoCertificateError": Exit.USAGE,
    "sandbox.demo.demonstration.UnusableFileError": Exit.USAGE,
    "sandbox.gateway.gateway.SendFailedError": Exit.ENVIRONMENT,
    "sandbox.gateway.gateway.SendRefusedError": Exit.ENVIRONMENT,
    "sandbox.judging.runs.NoFolderError": Exit.ENVIRONMENT,
    "sandbox.learn.lesson.LessonError": Exit.USAGE,
    "sandbox.learn.course_progress.ProgressError": Exit.ENVIRONMENT,
    "sandbox.pipeline.spark.failures.PipelineFailedError": Exit.FAIL,
    "sandbox.pipeline.spark.failures.UnavailableError": Exit.ENVIRONMENT,
    "sandbox.pipeline.spark.failures.UsageError": Exit.USAGE,
    "sandbox.pipeline.spark.java.JavaMissingError": Exit.ENVIRONMENT,
    "sandbox.profiles.in_process.CannotStartError": Exit.ENVIRONMENT,
    "sandbox.profiles.in_process.CannotStopError": Exit.ENVIRONMENT,
    "sandbox.profiles.in_process.NotReadyError": Exit.INCONCLUSIVE,
    "sandbox.receiver.originals.OriginalNotKeptError": Exit.ENVIRONMENT,
    "sandbox.scenarios.scenario.ScenarioError": Exit.USAGE,
    "schemas.asyncapi.problems.BadDocumentError": Exit.USAGE,
    "tui.browser.serving.ServingUnavailableError": Exit.ENVIRONMENT,
}
"""The exit codes of errors of ours whose text is all there is to say. By name: nothing is imported."""


class CommandFailedError(Exception):
    """A command failed; it has the line to show and the exit code."""

    def __init__(self, message: str, code: Exit = Exit.FAIL) -> None:
        super().__init__(message)
        self.code = code


@contextmanager
def sigterm_as_interrupt() -> Iterator[None]:
    """Let SIGTERM end the block as Ctrl-C does: nothing that was started in it stays behind."""
    usual = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, usual)


def _suggest_filter(error: click.UsageError) -> str:
    """What to write where a filter was given as a word of its own."""
    extra = re.search(r"unexpected extra arguments? \((\w+:.*)\)", error.format_message())
    options = (
        () if error.ctx is None else (option for each in error.ctx.command.params for option in each.opts)
    )
    return f"; a filter is given with --filter '{extra[1]}'" if extra and "--filter" in options else ""


def explain(error: BaseException) -> tuple[str, int]:
    """Turn any error into its line and its exit code."""
    match error:
        case CommandFailedError():
            return str(error), error.code
        case click.exceptions.NoArgsIsHelpError():
            return error.format_message(), Exit.USAGE
        case click.UsageError():
            line = error.format_message().rstrip(".") + _suggest_filter(error)
            line = _NO_INTEGER.sub("is not a whole number", line)
            path = error.ctx.command_path if error.ctx else "sandbox"
            return f"{line}{' See' if line.endswith('?') else '; see'} {path} --help", Exit.USAGE
        case click.ClickException():
            return error.format_message(), Exit.ENVIRONMENT
        case click.Abort() | KeyboardInterrupt():
            return "stopped", 130
    return _explain_ours(error) or _unexpected(error)


def _explain_ours(error: BaseException) -> tuple[str, int] | None:
    """Explain errors of our own modules."""
    names = [f"{each.__module__}.{each.__qualname__}" for each in type(error).__mro__]
    if known := next((name for name in names if name in CODES), None):
        return str(error), CODES[known]
    if "rdss_sandbox.transports.RefusedError" in names:
        return str(error), _code_of_status(getattr(error, "status", 500))
    if isinstance(error, ModuleNotFoundError):
        from rdss_sandbox.machine.installation import explain_missing

        line = explain_missing(error)
        return None if line is None else (line, Exit.ENVIRONMENT)
    if isinstance(error, OSError) and error.errno is not None:
        line = str(error) if error.filename is None else f"{error.filename}: {error.strerror}"
        return line, Exit.ENVIRONMENT
    return None


def _code_of_status(status: int) -> Exit:
    if status in {401, 403, 501}:
        return Exit.ENVIRONMENT
    return Exit.USAGE if status < 500 else Exit.FAIL


def _unexpected(error: BaseException) -> tuple[str, int]:
    import traceback
    from pathlib import Path

    from emulator.clock import Clock

    log = Path(LOG)
    try:
        log.parent.mkdir(mode=0o700, exist_ok=True)
        with log.open("a", encoding="utf-8") as file:
            file.write(f"{timestamp(Clock().time())}\n")
            traceback.print_exception(error, file=file)
    except OSError:
        return f"unexpected {type(error).__name__}: {error} (and {log} cannot be written)", Exit.FAIL
    return f"unexpected {type(error).__name__}: {error}; the whole story is in {log}", Exit.FAIL
