"""A trial: a client is certified from its first start to its certificate."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from emulator.clock import stopwatch
from rdss_sandbox.shapes.certificate import DESELECTED, NOT_IN_LEVEL, Certificate
from sandbox.certify.attempt import Attempt, Bounds, Client
from sandbox.certify.certified_kinds import Certified, find_certified
from sandbox.certify.clause import Clause, Group, Role
from sandbox.certify.clause_verdicts import KIT_VERSION, count_verdicts, judge_clauses, judge_levels
from sandbox.certify.clauses import clauses
from sandbox.certify.history import History, Level
from sandbox.certify.kit_messages import tell_apart
from sandbox.certify.producer_run import FILE_NAME, KEYS_NAME, ProducerRun
from sandbox.certify.shrinking import repeat_failures
from sandbox.certify.stages import Stage, narrow, stages
from schemas.bound import CONTRACT
from schemas.contract import Contract, Sample, describe_contract

Progress: TypeAlias = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Trial:
    """What is certified, and how.

    ``subject`` are files whose digests are put on the certificate, ``options`` further options of the command
    that repeats the trial. ``only`` names the stages to play, as ``stages.narrow`` takes them; none are all.
    ``way`` says how it is certified, where not by a kind of channel of the sandbox. ``recorded`` are the
    messages that it begins with.
    """

    role: Role
    client: Client
    seed: int
    level: Level
    groups: frozenset[Group]
    subject: tuple[Path, ...] = ()
    options: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    channel: str = "kinesis"
    contract: Contract = CONTRACT
    way: Certified | None = None
    recorded: tuple[Sample, ...] = ()

    @property
    def certified(self) -> Certified:
        """What the client is certified with."""
        return self.way or find_certified(self.channel)

    @property
    def tried(self) -> Contract:
        """The contract, of messages as the channel carries them."""
        return self.contract if self.certified.headers else self.contract.without_headers

    @property
    def every(self) -> tuple[Stage, ...]:
        """The stages of the whole run."""
        return stages(self.certified.stages[self.role], self.level, self.groups, self.clauses)

    @property
    def planned(self) -> tuple[Stage, ...]:
        """The stages to play. Raises ``ValueError`` for one in ``only`` that is not there."""
        return narrow(self.every, self.only) if self.only else self.every

    @property
    def part_of(self) -> tuple[str, ...]:
        """The names of all stages of the run that this is a part of; none for one with other messages."""
        is_part = self.only and set(self.planned) <= set(self.every)
        return tuple(each.name for each in self.every) if is_part else ()

    @property
    def clauses(self) -> list[Clause]:
        """Every clause for such a client, of whatever group and level."""
        return clauses(self.role, channel=self.channel, contract=self.tried)

    @property
    def command(self) -> str:
        """The command that repeats the trial."""
        own = self.certified.subcommand
        words = ["sandbox", "certify", own or self.role, "--seed", str(self.seed)]
        words += ["--level", self.level.name.lower()]
        if self.channel != "kinesis" and not own:
            words += ["--channel", self.channel]
        if len(self.groups) == 1:
            words += ["--group", *self.groups]
        for name in self.only:
            words += ["--stage", name]
        words += self.options
        return shlex.join([*words, "--", *self.client.command])


def certify(trial: Trial, progress: Progress) -> tuple[Certificate, History]:
    """Run the client through every stage and judge it. Raises ``ClientNotStartedError``."""
    began = stopwatch()
    planned = trial.planned
    history = play(trial, planned, progress)
    results, reached = judge_clauses(trial.clauses, history, trial.command, _left_out(trial), trial.tried)
    digests = {str(path): sha256(path.read_bytes()).hexdigest() for path in trial.subject}
    return (
        Certificate(
            kit={
                "version": KIT_VERSION,
                "sandbox": version("rdss-sandbox"),
                "clauses": len(results),
                "contract": describe_contract(trial.contract),
            },
            subject={"command": list(trial.client.command), "files": digests},
            role=trial.certified.subcommand or trial.role,
            channel=trial.channel,
            seed=trial.seed,
            level=reached,
            clauses=results,
            counts=count_verdicts(results),
            seconds=round(stopwatch() - began, 1),
            levels=judge_levels(results),
            remarks=(*remarks(history, planned, trial.client.patience), *_unasked(trial)),
            stages={each.name: trial.certified.does[each.name] for each in planned},
            part_of=trial.part_of,
        ),
        history,
    )


def make_small(trial: Trial, certificate: Certificate, progress: Progress, seconds: float) -> Certificate:
    """Repeat what failed, each in its stage alone, for so many seconds at most; return it on the certificate.

    Raises ``ClientNotStartedError``.
    """
    failed: dict[str, list[Clause]] = {}
    known = {each.id: each for each in trial.clauses}
    for name in sorted(certificate.failed, key="nothing-lost".__eq__):
        result = next(each for each in certificate.clauses if each.id == name)
        stage = next((each.stage for each in result.evidence if each.stage), "")
        failed.setdefault(stage, []).append(known[name])
    smallest = repeat_failures(
        failed,
        trial.planned,
        lambda stage, left: play(trial, [stage], progress, run_seconds=left),
        replay=lambda stage: replace(trial, only=(f"{stage.name}:{stage.messages}",)).command,
        progress=progress,
        seconds=seconds,
    )
    return msgspec.structs.replace(certificate, smallest=smallest)


def play(
    trial: Trial,
    planned: Sequence[Stage],
    progress: Progress,
    follow: Callable[[History], object] = lambda _history: None,
    run_seconds: float | None = None,
) -> History:
    """Play stages against the client in a lab of its own, and return what happened.

    ``follow`` gets the history at the start, which grows while the stages are played. After ``run_seconds``
    the run is cut; by default after 75 times the client's patience. Raises ``ClientNotStartedError``.
    """
    certified = trial.certified
    lab = certified.lab(trial.seed, tell_apart(trial.tried))
    lab.recorded = trial.recorded
    follow(lab.history)
    bounds = Bounds.of(trial.client.patience, run_seconds)
    with tempfile.TemporaryDirectory(prefix="sandbox-certify-") as name, lab.running():
        directory = Path(name)
        state = directory / "state"
        state.mkdir()
        if trial.role is Role.CONSUMER:
            with certified.attempt(trial.client, lab, state, bounds=bounds) as attempt:
                certified.consumer_run(attempt, lab).play(planned, progress)
        else:
            file = directory / FILE_NAME
            files = {"SANDBOX_MESSAGES": str(file), "SANDBOX_MESSAGE_KEYS": str(directory / KEYS_NAME)}
            with Attempt(trial.client, lab, state, files, bounds) as attempt:
                ProducerRun(attempt, lab, file).play(planned, progress)
        lab.settle_history()
    return lab.history


def _unasked(trial: Trial) -> Iterator[str]:
    """The sentence on clauses that the contract of the trial gives no reason for."""
    asked, every = trial.clauses, clauses(trial.role, channel=trial.channel, contract=None)
    if unasked := [each.id for each in every if each not in asked]:
        yield f"{describe_contract(trial.contract)} gives no reason to ask for: {', '.join(unasked)}"


def _left_out(trial: Trial) -> dict[str, str]:
    """Why each clause that the user did not select is not tried, by its id."""
    return {
        each.id: DESELECTED if each.group not in trial.groups else NOT_IN_LEVEL
        for each in trial.clauses
        if each.group not in trial.groups or each.level > trial.level
    }


_LEASE_PATIENCE: Final = 60.0
"""The patience in seconds with which the kit waits longer than the default KCL 3 needs for a lease."""


def remarks(history: History, planned: Sequence[Stage], patience: float) -> Iterator[str]:
    """Sentences that one has to know before the verdicts; ``patience`` is the client's, in seconds."""
    delivered = sum(len(read.records) for read in history.reads())
    unnamed = sum(entry.message_id is None for put in history.puts() for entry in put.entries)
    fits = "fit the client's lines, and are they on its standard output?"
    if history.tells_nothing():
        yield f"no messageId was reported in {delivered} deliveries, so none passes: does --processed {fits}"
        yield from (f"it failed {times} times: {why}" for why, times in history.failures.most_common(1))
    elif history.puts() and not history.told:
        yield f"no messageId was reported, though {len(history.stored)} messages came: does --sent {fits}"
    if unnamed:
        yield f"{unnamed} messages without a recognisable messageId were put"
    if not history.exchanges:
        yield "the client sent no request to the sandbox"
    longer = max(_LEASE_PATIENCE, 2 * patience)
    for end in history.ends:
        if end.impatient:
            yield (
                f"the stage {end.name} was cut while the client was at work or waited for leases to run out: "
                f"what is missing in it is not counted. Try --patience {longer:g}s"
            )
    if history.taken_away:
        yield (
            f"the client could not get past poison: {len(history.taken_away)} messages were taken away after "
            "the stage, so that later ones are judged by themselves"
        )
    played = {name for _, name, _ in history.stages}
    if left := [stage.name for stage in planned if stage.name not in played]:
        yield f"not played, because the client had ended or did not go on: {', '.join(left)}"
