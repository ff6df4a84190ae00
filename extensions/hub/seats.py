"""The seats of a hub: a sandbox for each person, asleep until somebody calls."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from emulator.clock import stopwatch
from emulator.http.bounds.allowance import Allowance
from emulator.http.bounds.client_limits import Rate
from emulator.relay.aws.connections import UpstreamConnections
from extensions.hub.people import PeopleFile, PeopleFileError, Person, Quota
from extensions.hub.seat_messages import SeatEnded, SeatReady, StartSeat, StopSeat
from extensions.hub.seat_sizes import measure_disk, measure_memory
from rdss_sandbox.shapes.course_report import CourseReport
from sandbox.profiles.running import Running

_START_SECONDS: Final = 30.0
_END_SECONDS: Final = 5.0
_LOOKS_A_MEASURE: Final = 5
"""The data of an awake seat without a limit are measured at each fifth look: others wait meanwhile."""
_CONTROL: Final = "control"


class SeatNotStartedError(Exception):
    """A person's sandbox cannot be had now; the text says why."""


class Seat:
    """One person's sandbox.

    ``calls`` counts the requests and connections that are open, ``refused`` those beyond a limit. ``used_at``
    is when the last one ended, ``disk_bytes`` what its data took when they were measured. ``is_full`` says in
    words which limit of memory or disk is reached, ``lacks`` which of the two it is.
    """

    def __init__(self, name: str, person: Person, quota: Quota, folder: Path) -> None:
        self.name = name
        self.folder = folder
        self.running: Running | None = None
        self.calls = 0
        self.refused = 0
        self.disk_bytes = measure_disk(folder)
        self.used_at = stopwatch()
        self.starts = 0
        self.trouble = ""
        self.is_full = ""
        self.lacks = ""
        self.course: CourseReport | None = None
        self.at_lesson_since = self.used_at
        self._waiting: asyncio.Future[Running] | None = None
        self._changed: asyncio.Future[None] | None = None
        self.is_stopping = False
        self._connections: dict[str, UpstreamConnections] = {}
        self.limit(person, quota)

    def limit(self, person: Person, quota: Quota) -> None:
        """Take the token and the limits that the file of people has now."""
        self.person = person
        self.quota = quota
        # What was saved up within a second may come at once.
        self.allowance = Allowance(Rate(quota.messages, quota.messages)) if quota.messages else None

    def note_course(self, report: CourseReport) -> None:
        """Take note of how far the learner is, and since when they are at this lesson."""
        if self.course is None or self.course.number != report.number:
            self.at_lesson_since = stopwatch()
        self.course = report

    @property
    def state(self) -> str:
        """What people are told: asleep, starting or awake."""
        if self.running is not None:
            return "awake"
        return "starting" if self._waiting is not None else "asleep"

    def look_at_limits(self) -> None:
        """Look whether its memory or its data are beyond a limit."""
        quota, pid = self.quota, self.running.pid if self.running else None
        self.is_full = ""
        if quota.disk_mb and self.disk_bytes > quota.disk_mb * 1_000_000:
            self.lacks = "disk"
            self.is_full = f"its data take more than {quota.disk_mb} MB"
        elif quota.memory_mb and pid is not None and measure_memory(pid) > quota.memory_mb * 1_000_000:
            self.lacks = "memory"
            self.is_full = f"it takes more than {quota.memory_mb} MB of memory"

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Keep it awake while the context lasts."""
        self.enter()
        try:
            yield
        finally:
            self.leave()

    def enter(self) -> None:
        """Keep it awake until ``leave``."""
        self.calls += 1

    def leave(self) -> None:
        self.calls -= 1
        self.used_at = stopwatch()

    async def answer(self, start: Callable[[], None]) -> Running:
        """Where it answers; a sleeping one is woken by ``start``. Raises SeatNotStartedError."""
        if self.running is not None and not self.is_stopping:
            return self.running
        if self._waiting is None:
            self._waiting = asyncio.get_running_loop().create_future()
            self.starts += 1
            start()
        try:
            async with asyncio.timeout(_START_SECONDS):
                return await asyncio.shield(self._waiting)
        except TimeoutError as error:
            raise SeatNotStartedError(f"it was not ready after {_START_SECONDS:g} s") from error

    async def wait_for_end(self) -> None:
        """Return when the process that did not answer is gone. Raises SeatNotStartedError."""
        running = self.running
        try:
            async with asyncio.timeout(_END_SECONDS):
                while running is not None and self.running is running:
                    self._changed = self._changed or asyncio.get_running_loop().create_future()
                    await asyncio.shield(self._changed)
        except TimeoutError as error:
            raise SeatNotStartedError("it does not answer") from error

    def connections_to(self, port: str) -> UpstreamConnections | None:
        """The connections to one of its ports, by name; None where it has no such port."""
        assert self.running is not None
        found = self._connections.get(port)
        if found is None:
            own = {"aws": self.running.aws, _CONTROL: self.running.control}
            url = {**self.running.ports, "amqp-management": self.running.amqp_management, **own}.get(port)
            if url is None:
                return None
            found = self._connections[port] = UpstreamConnections(url)
        return found

    def began(self, running: Running) -> None:
        self.running = running
        self.is_stopping = False
        self.used_at = stopwatch()
        self.trouble = ""
        waiting, self._waiting = self._waiting, None
        if waiting is not None and not waiting.done():
            waiting.set_result(running)

    def ended(self, why: str) -> None:
        """Its process is gone. Who waits for another waits on, unless it was not even ready."""
        was_ready, self.running = self.running is not None, None
        self.is_stopping = False
        self.disk_bytes = measure_disk(self.folder)
        self.trouble = why
        for each in self._connections.values():
            each.close()
        self._connections.clear()
        if self._changed is not None:
            self._changed.set_result(None)
            self._changed = None
        if self._waiting is not None and not was_ready:
            waiting, self._waiting = self._waiting, None
            if not waiting.done():
                waiting.set_exception(SeatNotStartedError(why or "it was stopped"))


class Seats:
    """All seats, by name and by token; ``send`` tells the process that forks them what to do.

    A seat that nobody has used for ``idle`` seconds is put to sleep.
    """

    def __init__(
        self,
        file: PeopleFile,
        folder: Path,
        idle: float,
        send: Callable[[StartSeat | StopSeat], None],
    ) -> None:
        self.file = file
        self._folder = folder
        self._idle = idle
        self._send = send
        self.by_name: dict[str, Seat] = {}
        self._by_token: dict[bytes, Seat] = {}
        # Seats that are removed, and whose process has not ended yet.
        self._leaving: dict[str, Seat] = {}
        self.trouble = ""
        self._looks = 0

    def read_people(self) -> None:
        """Take over what the file says now. A file that cannot be used leaves everything as it is."""
        try:
            if not self.file.read_if_changed():
                return
            self.trouble = ""
        except PeopleFileError as error:
            self.trouble = str(error)
            return
        self._take_over()

    def add(self, name: str, quota: Quota | None = None, until: float | None = None) -> Seat:
        """Raises PeopleFileError."""
        if name in self._leaving:
            raise PeopleFileError(f"{name} is being removed still: try again in a moment")
        self.file.add(name, quota, until)
        self._take_over()
        return self.by_name[name]

    def remove(self, name: str) -> None:
        """Remove a person, end the sandbox, and delete all that it held. Raises PeopleFileError."""
        self.file.remove(name)
        self._take_over()

    def _take_over(self) -> None:
        people = self.file.people
        for name, person in people.people.items():
            if name in self._leaving:
                continue
            quota = people.quota_of(name)
            seat = self.by_name.get(name)
            if seat is None:
                self.by_name[name] = Seat(name, person, quota, self._folder / name)
            elif (seat.person, seat.quota) != (person, quota):
                if seat.person.token != person.token:
                    self._put_to_sleep(seat)
                seat.limit(person, quota)
        for name in self.by_name.keys() - people.people.keys():
            self._forget(self.by_name.pop(name))
        self._by_token = {each.person.token.encode(): each for each in self.by_name.values()}

    def _forget(self, seat: Seat) -> None:
        if seat.state == "asleep":
            shutil.rmtree(seat.folder, ignore_errors=True)
        else:
            self._leaving[seat.name] = seat
            self._send(StopSeat(seat.name))

    def find(self, tokens: Iterable[bytes]) -> Seat | None:
        """The seat of the first of these values that is somebody's token."""
        # A dictionary compares its keys by a hash that is keyed with a secret of the process.
        return next((seat for each in tokens if (seat := self._by_token.get(each))), None)

    async def wake(self, seat: Seat) -> Running:
        """Where its sandbox answers, once it does. Raises SeatNotStartedError."""
        return await seat.answer(lambda: self._send(StartSeat(seat.name, seat.person.token)))

    def note_ready(self, message: SeatReady) -> None:
        if seat := self.by_name.get(message.name):
            seat.began(message.running)

    def note_end(self, message: SeatEnded) -> None:
        if seat := self._leaving.pop(message.name, None):
            shutil.rmtree(seat.folder, ignore_errors=True)
            self._take_over()
        elif seat := self.by_name.get(message.name):
            seat.ended(message.why)

    def look(self, now: float) -> None:
        """Read the file of people again, remove who is overdue at ``now``, put idle seats to sleep."""
        self.read_people()
        self._looks += 1
        for number, (name, seat) in enumerate(tuple(self.by_name.items())):
            if seat.person.until is not None and seat.person.until < now:
                self._remove_overdue(name)
                continue
            is_turn = seat.quota.disk_mb or (self._looks + number) % _LOOKS_A_MEASURE == 0
            if seat.running and is_turn:
                seat.disk_bytes = measure_disk(seat.folder)
            seat.look_at_limits()
            if seat.running and not seat.calls and stopwatch() - seat.used_at > self._idle:
                self._put_to_sleep(seat)

    def _remove_overdue(self, name: str) -> None:
        try:
            self.remove(name)
        except (PeopleFileError, OSError) as error:
            self.trouble = f"{name} cannot be removed: {error}"

    def _put_to_sleep(self, seat: Seat) -> None:
        if seat.running is not None and not seat.is_stopping:
            seat.is_stopping = True
            self._send(StopSeat(seat.name))
