"""The API of a hub below /hub: who has a sandbox there, and how each is."""

from __future__ import annotations

import msgspec

from extensions.hub.people import Quota
from rdss_sandbox.api.endpoint import DELETE, GET, POST, PUT, Mode, Subject
from rdss_sandbox.shapes.course_report import CourseReport
from rdss_sandbox.shapes.shell_commands import DescribedRequest


class SeatGlance(msgspec.Struct, frozen=True):
    """What a sandbox does just now.

    ``records`` were put into its streams, ``rate`` of them in the last second. ``faults`` are in force.
    ``finding`` is what its diagnosis found last, ``error`` the last error of its clients; empty for none.
    """

    records: int
    rate: float
    faults: tuple[str, ...]
    finding: str
    error: str


class SeatView(msgspec.Struct, frozen=True):
    """A person's seat. ``state`` is asleep, starting or awake; ``pid`` is None while it is asleep.

    ``calls`` are open now, ``refused`` were beyond a limit; ``starts`` counts how often the hub has woken it.
    ``memory_mb`` is what its process has for itself, ``disk_mb`` what its data take.
    ``trouble`` says why its last process ended, where nobody had asked for it. ``until`` is an end in seconds
    since the epoch. ``control`` is the address of its pages, ``region`` that of its streams. ``glance`` is
    None while it is asleep. ``course`` is what ``sandbox learn`` has told of the learner, who is at the
    lesson for ``minutes_at_lesson``; None where it has told nothing.
    """

    name: str
    token: str
    state: str
    pid: int | None
    calls: int
    refused: int
    starts: int
    memory_mb: float
    disk_mb: float
    quota: Quota
    control: str
    region: str
    trouble: str = ""
    until: float | None = None
    glance: SeatGlance | None = None
    course: CourseReport | None = None
    minutes_at_lesson: int = 0


class SeatList(msgspec.Struct, frozen=True):
    """Every seat, by name.

    ``trouble`` says why the file of people cannot be used; then the last one holds.
    """

    seats: tuple[SeatView, ...]
    trouble: str = ""


class NewSeat(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits of a person's own, and for how many seconds they have the seat; None is for good."""

    quota: Quota | None = None
    seconds: float | None = None


class SeatsRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request to the control API of each of ``seats``, by their names; none is all."""

    request: DescribedRequest
    seats: tuple[str, ...] = ()


class SeatAnswer(msgspec.Struct, frozen=True):
    """What a seat answered: the status, and why it refused, empty where it did not."""

    name: str
    status: int
    error: str = ""


class SeatAnswers(msgspec.Struct, frozen=True):
    """What each answered, by name."""

    answers: tuple[SeatAnswer, ...]


class HubSeats(Subject[Mode], at="/hub/seats"):
    """The seats of a hub."""

    @GET("")
    def list(self) -> SeatList:
        """Every seat, by name."""

    @PUT("/{name}", errors={"bad_seat": 400})
    def add(self, name: str, seat: NewSeat | None = None) -> SeatView:
        """Give a person a seat. One who has it keeps the token and the data."""

    @DELETE("/{name}", errors={"no_such_seat": 404})
    def remove(self, name: str) -> SeatList:
        """Take the seat from a person, with everything that it holds."""


class HubRequests(Subject[Mode], at="/hub/each"):
    """Requests for several seats at once."""

    @POST("", errors={"no_such_seat": 404})
    def ask(self, asked: SeatsRequest) -> SeatAnswers:
        """Ask the control API of each seat, and wake those that sleep."""
