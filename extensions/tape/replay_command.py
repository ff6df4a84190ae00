"""``sandbox replay-tape``: a tape goes into a running sandbox."""

from __future__ import annotations

from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rdss_sandbox.questions.deadline import Deadline
from sandbox.cli.options.control_connection import (
    connect,
    control_option,
    follow_clock,
    reach,
)
from sandbox.cli.options.extras import needs
from sandbox.cli.options.stopping import Stopping
from sandbox.cli.options.waiting import moment, timeout_option
from sandbox.cli.output.exit_codes import CommandFailedError, Exit
from sandbox.cli.output.printing import json_option, print_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from extensions.tape.replay_target import ReplayTarget
    from extensions.tape.replaying import Replay
    from rdss_sandbox.client import Client

_AS_FAST = "max"
_TELL_SECONDS = 5.0


class _Speed(click.ParamType[float | str]):
    name = "speed"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float | str:
        if value == _AS_FAST:
            return _AS_FAST
        try:
            speed = float(value)
        except ValueError:
            speed = 0.0
        if not 0 < speed <= 1_000_000:
            self.fail(f"{value!r} is no speed: give a number such as 60, or max", param, ctx)
        return speed


@click.command("replay-tape")
@click.argument("path", type=click.Path(path_type=Path), metavar="FILE")
@click.option(
    "--speed", type=_Speed(), metavar="N|max",
    help="Let the sandbox's clock run N times as fast meanwhile; max waits for nothing.  [default: as it is]",
)  # fmt: skip
@click.option("--from", "start", metavar="TIME", callback=moment, help="Begin at this time of the tape.")
@click.option("--to", "end", metavar="TIME", callback=moment, help="End at this time of the tape.")
@click.option(
    "--into", metavar="CHANNEL", help="Put everything into this channel.  [default: the tape's own]"
)
@click.option(
    "--kind",
    type=click.Choice(("kinesis", "rabbitmq")),
    default="kinesis",
    help="What the channel of --into is made of.",
)
@click.option(
    "--loop", is_flag=True, help="Begin again at the end, until Ctrl-C: the same messages come again."
)
@click.option("--count", type=click.IntRange(min=1), metavar="N", help="End after N messages.")
@timeout_option("Stop after this long: 30s, 5m.")
@control_option
@json_option
@needs("messages")
def replay_tape(
    *,
    path: Path,
    speed: float | str | None,
    start: float | None,
    end: float | None,
    into: str | None,
    kind: str,
    loop: bool,
    count: int | None,
    timeout: float | None,
    control: str | None,
    as_json: bool,
) -> int:
    """Replay a tape into the running sandbox, with its own spacing on the sandbox's clock.

    Missing streams are created. The shards are made those of the tape, and split and merge when they did.
    What the upstream refused, the sandbox refuses. Faults of the sandbox strike these messages too, the
    same ones at each replay with one seed.

    Exit code 1: messages were refused to the end. Exit code 2: the file is no tape.
    """
    from emulator.clock import Clock, stopwatch
    from extensions.tape.amqp_publisher import NoSuchExchangeError
    from extensions.tape.replaying import Excerpt, Replay
    from extensions.tape.tape_opening import open_tape
    from extensions.tape.tape_reader import BadTapeError
    from schemas.bound import CONTRACT

    try:
        tape = open_tape(path)
    except BadTapeError as error:
        raise CommandFailedError(str(error), Exit.USAGE) from error
    stopping = Stopping(Deadline(timeout))
    began = stopwatch()
    with ExitStack() as stack:
        client = stack.enter_context(connect(control))
        clock = stack.enter_context(follow_clock(control))
        fastest = speed == _AS_FAST
        if isinstance(speed, float):
            stack.enter_context(_running_at(client, speed))
        elif not fastest and client.clock().speed == 0:
            click.echo(
                "sandbox: its clock stands still: sandbox clock advance 10s, or sandbox clock real", err=True
            )
        pauses = Clock() if fastest else clock
        target = stack.enter_context(
            _open_target(control, client, lambda seconds: pauses.wait(seconds, lambda: stopping.wanted))
        )
        paced = None if fastest else (speed if isinstance(speed, float) else 1.0)
        if into is not None:
            target.name_kind(into, kind)
        replay = Replay(tape, Excerpt(start, end, into, loop, count), paced, CONTRACT)
        stack.enter_context(stopping.noting_signals())
        stack.enter_context(stopping.ending_pauses(clock))
        tell = _Telling(client, replay, target)
        stack.callback(tell.end)
        try:
            replay.run(target, clock, lambda: stopping.wanted, tell.move)
        except NoSuchExchangeError as error:
            raise CommandFailedError(str(error), Exit.USAGE) from error
    for trouble in tape.troubles:
        click.echo(f"sandbox: {trouble}", err=True)
    told = {
        "tape": str(path), "messages": target.sent, "repeated": target.repeated, "lost": target.lost,
        "reshards": target.reshards, "refusals": target.refusals, "seconds": round(stopwatch() - began, 3),
    }  # fmt: skip
    if as_json:
        print_json(told)
    else:
        click.echo(
            f"{target.sent:,} messages, {target.reshards} reshards, {target.refusals} refusals, "
            f"in {told['seconds']} s"
        )
    if target.lost:
        raise CommandFailedError(f"{target.lost} messages were refused to the end", Exit.FAIL)
    return Exit.PASS


class _Telling:
    """Tells the sandbox now and then how far a replay is, for who watches it."""

    def __init__(self, client: Client, replay: Replay, target: ReplayTarget) -> None:
        self._client = client
        self._replay = replay
        self._target = target
        self._told = -_TELL_SECONDS

    def move(self) -> None:
        from emulator.clock import stopwatch

        now = stopwatch()
        if now - self._told >= _TELL_SECONDS:
            self._told = now
            self._tell(ended=False)

    def end(self) -> None:
        from rdss_sandbox.client import RefusedError, UnreachableError

        with suppress(RefusedError, UnreachableError):
            self._tell(ended=True)

    def _tell(self, *, ended: bool) -> None:
        from rdss_sandbox.shapes.replays import ReplayPosition

        replay = self._replay
        self._client.replays.tell(
            ReplayPosition(
                replay.tape.path.name, replay.at, replay.first, replay.last, self._target.sent, ended
            )
        )


@contextmanager
def _running_at(client: Client, speed: float) -> Iterator[None]:
    """Let the sandbox's clock run at a speed while the context lasts."""
    from rdss_sandbox.shapes.clock import ClockChange

    before = client.clock()
    client.change_clock(ClockChange("speed", speed=speed))
    try:
        yield
    finally:
        client.change_clock(ClockChange("speed", speed=before.speed))


@contextmanager
def _open_target(
    control: str | None, client: Client, pause: Callable[[float], bool]
) -> Iterator[ReplayTarget]:
    from emulator.channels.kinesis import connect as connect_kinesis
    from extensions.tape.amqp_publisher import AmqpPublisher
    from extensions.tape.replay_target import ReplayTarget
    from schemas.bound import CONTRACT

    _, token = reach(control)
    status = client.status()
    region = next((stream.arn.split(":")[3] for stream in status.streams), "us-east-1")
    kinesis = connect_kinesis(status.aws, region=region, token=token)

    def open_amqp() -> AmqpPublisher:
        if status.amqp is None:
            raise CommandFailedError(
                "the tape has messages of RabbitMQ, and nothing answers at the AMQP port: put them into a "
                "stream with --into", Exit.ENVIRONMENT,
            )  # fmt: skip
        return AmqpPublisher(status.amqp, CONTRACT)

    with closing(kinesis), ReplayTarget(client, kinesis, open_amqp, CONTRACT, pause) as target:
        yield target
