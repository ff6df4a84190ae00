"""The options of every ``sandbox certify``, and how a trial that they ask for is made and shown."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from sandbox.cli.options.extras import needs
from sandbox.cli.options.waiting import duration
from sandbox.cli.output.exit_codes import CommandFailedError, Exit, sigterm_as_interrupt
from sandbox.cli.output.printing import json_option, print_json

if TYPE_CHECKING:
    from rdss_sandbox.shapes.certificate import Certificate
    from sandbox.certify.certified_kinds import Certified
    from sandbox.certify.told_lines import ReadLine
    from sandbox.certify.trial import Trial

_LEVELS: Final = ("bronze", "silver", "gold")
_GROUPS: Final = ("delivery", "contract")


compare_option = click.option(
    "--compare",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Say what changed since the certificate in this folder.",
)


class TrialOptions(NamedTuple):
    """What was asked for. ``tells`` is the field of the lines of JSON in which a client names messages."""

    tells: str
    seed: int | None
    group: str | None
    level: str
    to: Path | None
    subject: tuple[Path, ...]
    pattern: str | None
    only: tuple[str, ...]
    tape: Path | None
    shrink: float
    no_shrink: bool
    compare: Path | None
    as_json: bool

    def certify(
        self,
        role: str,
        command: tuple[str, ...],
        patience: float,
        *,
        channel: str,
        options: tuple[str, ...] = (),
        way: Certified | None = None,
    ) -> int:
        """Certify a client, and return the exit code. ``options`` are those that a repetition needs besides.

        Raises CommandFailedError for what cannot be asked for.
        """
        from emulator.rng import new_seed
        from sandbox.certify.attempt import Client
        from sandbox.certify.clause import Group, Role
        from sandbox.certify.clauses import clauses
        from sandbox.certify.history import Level
        from sandbox.certify.trial import Trial

        groups = frozenset({Group(self.group)} if self.group else Group)
        if not clauses(Role(role), Level[self.level.upper()], groups, channel):
            raise CommandFailedError(
                f"no clause of the group {self.group} is in the level {self.level}; "
                "`sandbox certify list` has them",
                Exit.USAGE,
            )
        trial = Trial(
            Role(role),
            Client(command, self._choose_reading(), patience),
            new_seed() if self.seed is None else self.seed,
            Level[self.level.upper()],
            groups,
            self.subject,
            (*(() if self.pattern is None else (f"--{self.tells}", self.pattern)), *options),
            only=self.only,
            channel=channel,
            way=way,
        )
        if self.tape is not None:
            trial = _take_tape(trial, self.tape)
        _check(trial)
        return self._run(trial)

    def _choose_reading(self) -> ReadLine:
        import re

        from sandbox.certify.told_lines import json_lines, matching_lines

        if self.pattern is None:
            return json_lines(self.tells)
        try:
            return matching_lines(self.pattern)
        except re.error as error:
            raise CommandFailedError(
                f"--{self.tells} {self.pattern!r} is no regular expression: {error}", Exit.USAGE
            ) from error

    def _run(self, trial: Trial) -> int:
        from sandbox.certify.comparison import compare_certificates, read_certificate
        from sandbox.certify.results_folder import write_results
        from sandbox.certify.trial import certify, make_small
        from sandbox.cli.verdicts.certify_output import (
            following_progress,
            show_certificate,
            show_lines,
            show_smallest,
        )

        before = None if self.compare is None else read_certificate(self.compare)
        with sigterm_as_interrupt(), following_progress(trial.seed) as progress:
            certificate, history = certify(trial, progress)
            if self.to is not None:
                write_results(certificate, history, self.to)
            if not self.as_json:
                show_certificate(certificate, self.to)
                if before is not None:
                    show_lines(compare_certificates(before, certificate))
            if certificate.failed and self.shrink and not self.no_shrink:
                certificate = make_small(trial, certificate, progress, self.shrink)
                if self.to is not None:
                    write_results(certificate, history, self.to)
                if not self.as_json:
                    show_smallest(certificate)
        if self.as_json:
            print_json(certificate)
        return find_exit_code(certificate)


def find_exit_code(certificate: Certificate) -> Exit:
    """The exit code that says what a certificate does."""
    if certificate.failed:
        return Exit.FAIL
    return Exit.INCONCLUSIVE if certificate.missed else Exit.PASS


def _take_tape(trial: Trial, tape: Path) -> Trial:
    """The trial with the messages of a tape. Raises CommandFailedError for one without any to try it with."""
    from dataclasses import replace

    from sandbox.certify.kit_messages import read_recorded, tell_apart

    try:
        recorded = tuple(read_recorded(tape, tell_apart(trial.tried)))
    except ValueError as error:
        raise CommandFailedError(f"--tape: {error}", Exit.USAGE) from error
    if not recorded:
        why = f"--tape: {tape} has no message that is whole, valid and has not expired"
        raise CommandFailedError(why, Exit.USAGE)
    return replace(trial, recorded=recorded, options=(*trial.options, "--tape", str(tape)))


def _check(trial: Trial) -> None:
    """Raise CommandFailedError, before anything starts, for what the contract or the stages do not allow."""
    from sandbox.certify.clause import Role
    from sandbox.certify.kit_messages import are_lines, explain_untried

    why = explain_untried(trial.tried)
    if why:
        raise CommandFailedError(why, Exit.USAGE)
    if trial.role is Role.PRODUCER and not are_lines(trial.tried):
        text = "messages of the contract are no lines of text: SANDBOX_MESSAGES has each as rawBase64"
        click.echo(f"sandbox: {text}", err=True)
    try:
        trial.planned  # noqa: B018 -- a stage that is not there is told before anything starts
    except ValueError as error:
        raise CommandFailedError(f"--stage: {error}", Exit.USAGE) from error


def trial_options(tells: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Add the options of every trial to a command, which gets them as its first argument."""
    options = (
        click.option(
            "--seed", type=int, metavar="N", help="The seed of everything random.  [default: drawn]"
        ),
        click.option("--group", type=click.Choice(_GROUPS), help="Only the clauses of this group."),
        click.option("--level", type=click.Choice(_LEVELS), default="gold", help="The highest level to try."),
        click.option(
            "--to",
            type=click.Path(file_okay=False, path_type=Path),
            metavar="DIR",
            help="Write the certificate here: JSON, a page, JUnit XML, a badge, the events.",
        ),
        click.option(
            "--subject",
            multiple=True,
            metavar="FILE",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            help="Put this file's SHA-256 on the certificate.",
        ),
        click.option(
            f"--{tells}",
            "pattern",
            metavar="REGEX",
            help="Find messageIds in what the client prints: group id, else the first, or the match.",
        ),
        click.option(
            "--stage",
            "only",
            multiple=True,
            metavar="NAME[:N]",
            help="Play only this stage, with N messages; the repeat command of a failure names one.",
        ),
        click.option(
            "--tape",
            metavar="FILE",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            help="Begin with the messages of this tape: those that are valid, each once.",
        ),
        click.option(
            "--shrink",
            default="60s",
            metavar="TIME",
            callback=duration,
            help="How long to look, after the verdict, for the smallest run that fails the same way.",
        ),
        click.option("--no-shrink", is_flag=True, help="Do not look for a smaller run that fails."),
        compare_option,
        json_option,
    )

    def decorate(command: Callable[..., int]) -> Callable[..., int]:
        @wraps(command)
        def run(**given: Any) -> int:
            asked = {name: given.pop(name) for name in TrialOptions._fields if name in given}
            return needs("messages")(command)(TrialOptions(tells, **asked), **given)

        found: Callable[..., int] = run
        for option in reversed(options):
            found = option(found)
        return found

    return decorate
