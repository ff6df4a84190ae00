"""The hub's own process: one HTTP port, one of AMQP, and the seats behind them."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from emulator.assembly.own_certificate import open_tls
from emulator.clock import Clock
from emulator.http.bounds.client_limits import USUAL
from emulator.http.server import Server, serve
from emulator.machine import private_files, process_ids
from emulator.settings.settings import Settings
from extensions.hub.amqp_door import AmqpDoor
from extensions.hub.call_lane import CallLanes
from extensions.hub.fork_server import LeftByHub, Tell
from extensions.hub.hub_app import HubApp
from extensions.hub.hub_resources import build_own_app
from extensions.hub.people import PeopleFile
from extensions.hub.seat_messages import (
    HubReady,
    SeatEnded,
    SeatReady,
    StartSeat,
    StopSeat,
    decode_message,
    encode_message,
)
from extensions.hub.seat_process import run_seat
from extensions.hub.seats import Seats
from rdss_sandbox.admission import LOOPBACK
from sandbox.profiles.in_process import event_loop_factory
from sandbox.profiles.running import Running

_LOOK_SECONDS: Final = 1.0
_CONNECTIONS: Final = 4000
"""Of all people together, each of whom has fewer by their quota."""


@dataclass(frozen=True, slots=True)
class HubPlan:
    """What a hub is started with.

    ``settings`` are its own, with the ports that it listens on, ``shared`` those of every seat. ``people`` is
    the file of people, ``folder`` has a folder for each seat. A seat sleeps after ``idle`` seconds. ``admin``
    is the admin's token, ``server`` the process that forks.
    """

    settings: Settings
    shared: Settings
    people: Path
    folder: Path
    idle: float
    admin: str
    server: int

    def run_hub(self, link: socket.socket, left: LeftByHub, tell: Tell, orphaned: int) -> None:
        """Serve until SIGTERM, or until ``orphaned`` can be read."""
        os.umask(private_files.UMASK)
        with asyncio.Runner(loop_factory=event_loop_factory()) as runner:
            runner.run(_serve_hub(self._at(left.running), link, left.awake, tell, orphaned))

    def _at(self, before: Running | None) -> HubPlan:
        """The plan with the ports of an earlier hub, where there was one."""
        if before is None or before.amqp is None:
            return self
        http, amqp = urlsplit(before.control).port, urlsplit(before.amqp).port
        assert http is not None
        assert amqp is not None
        return replace(self, settings=replace(self.settings, control_port=http, amqp_port=amqp))

    def run_seat(self, asked: StartSeat, tell: Tell, orphaned: int) -> None:
        """Run one person's sandbox."""
        folder = self.folder / asked.name
        run_seat(self.shared, folder, asked, lambda found: tell(SeatReady(asked.name, found)), orphaned)


async def _serve_hub(
    plan: HubPlan, link: socket.socket, awake: Sequence[SeatReady], tell: Tell, orphaned: int
) -> None:
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ended.set)
    loop.add_reader(orphaned, ended.set)
    reader, writer = await asyncio.open_unix_connection(sock=link, limit=1 << 20)

    def send(message: StartSeat | StopSeat) -> None:
        writer.write(encode_message(message))

    clock = Clock()
    seats = Seats(PeopleFile(plan.people), plan.folder, plan.idle, send)
    seats.read_people()
    for each in awake:
        seats.note_ready(each)
    settings = plan.settings
    with ExitStack() as stack:
        tls = open_tls(settings, stack)
        hosts = frozenset({*LOOPBACK, settings.host, *settings.allowed_hosts, *((tls.host,) if tls else ())})
        limits = USUAL._replace(connections=_CONNECTIONS)
        app = HubApp(seats, plan.admin, hosts, secure=tls is not None)
        lanes = CallLanes(app, seats)
        server = await serve(
            app,
            settings.host,
            settings.control_port,
            clock=clock,
            limits=limits,
            tls=tls,
            # Beyond TLS a sandbox has to be told by a header what its clients call it by.
            front=None if tls else lanes.front,
        )
        url = _choose_pages_url(settings, server)
        app.own = build_own_app(seats, plan.admin, url, settings.region, clock)
        door = AmqpDoor(seats)
        amqp = await door.listen(settings.host, settings.amqp_port, tls)
        app.amqp_port = urlsplit(amqp).port or 0
        running = Running(
            aws=server.url,
            control=server.url,
            amqp=amqp,
            pid=plan.server,
            born=process_ids.start_time(plan.server),
            profile="embedded",
            seed=plan.shared.seed,
            region=settings.region,
            token=plan.admin,
            trust=str(tls.trust) if tls and tls.trust else None,
            data_dir=str(plan.folder),
            contract=str(settings.contract.resolve()) if settings.contract else None,
        )
        tell(HubReady(running))
        following = loop.create_task(_follow(reader, seats, ended))
        looking = loop.create_task(_look_after(seats, clock))
        await ended.wait()
        for task in (following, looking):
            task.cancel()
        lanes.close()
        await door.close()
        await server.close()
        writer.close()


def _choose_pages_url(settings: Settings, server: Server) -> str:
    """The URL below whose host name each seat has its own: an address has no names below it."""
    called = next(iter(settings.allowed_hosts), "localhost")
    return f"{urlsplit(server.url).scheme}://{called}:{server.port}"


async def _follow(reader: asyncio.StreamReader, seats: Seats, ended: asyncio.Event) -> None:
    """Take note of what becomes of the seats, until the process that forks them is gone."""
    while line := await reader.readline():
        match decode_message(line):
            case SeatReady() as ready:
                seats.note_ready(ready)
            case SeatEnded() as end:
                seats.note_end(end)
    ended.set()


async def _look_after(seats: Seats, clock: Clock) -> None:
    while True:
        await asyncio.sleep(_LOOK_SECONDS)
        seats.look(clock.time())
