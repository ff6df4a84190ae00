"""The drawings of ``docs/explanation/``. Shards, records and sizes in them are those of a seeded sandbox."""

from __future__ import annotations

from typing import Final

from emulator.assembly.embedded import embedded
from emulator.rng import new_uuid
from emulator.settings.settings import Settings
from rdss_sandbox.client import Client
from rdss_sandbox.shapes.messages import NewMessage
from rdss_sandbox.shapes.streams import Reshard
from schemas.rdss.envelope import serialise
from schemas.rdss.samples import Samples
from schemas.rdss.sequence import split
from tests.docs.pictures.drawing import BLUE, GREEN, INK, ORANGE, QUIET, RED, Drawing

_SEED: Final = 7
_FAINT: Final = "#d5d8de"
_STATE_COLOURS: Final[dict[str | None, str]] = {
    "OK": GREEN,
    "FAILED": RED,
    "SKIPPED": QUIET,
    "CANCEL": QUIET,
    "PARTLY_FAILED": ORANGE,
}
_COLOURS: Final = (BLUE, GREEN, ORANGE, ORANGE)


def draw_at_least_once() -> str:
    """A put whose answer is lost, the put after it, and the two records that a consumer is given."""
    drawing = Drawing(860, 330, "One message becomes two records, because an answer was lost")
    places = {"producer": 110, "stream": 430, "consumer": 750}
    for name, x in places.items():
        drawing.box(x - 70, 40, 140, name)
        drawing.line((x, 62), (x, 310), dashed=True)
    left, middle, right = places.values()
    drawing.arrow((left, 100), (middle - 8, 100), colour=BLUE)
    drawing.text(270, 92, "put m-1", BLUE, "middle")
    drawing.dot(middle, 100, BLUE)
    drawing.line((middle, 130), (285, 130), colour=RED, dashed=True)
    drawing.cross(270, 130)
    drawing.text(270, 158, "the answer is lost", RED, "middle")
    drawing.arrow((left, 200), (middle - 8, 200), colour=BLUE)
    drawing.text(270, 192, "put m-1 again, the same bytes", BLUE, "middle")
    drawing.dot(middle, 200, BLUE)
    drawing.arrow((middle, 230), (left + 2, 230), colour=GREEN)
    drawing.text(270, 250, "yes", GREEN, "middle")
    for y, words in ((250, "m-1: processed"), (290, "m-1: known, dropped")):
        drawing.arrow((middle, y), (right - 2, y), colour=BLUE)
        drawing.text(590, y - 8, words, INK, "middle")
    return drawing.svg()


def draw_resharding() -> str:
    """Forty records of a sandbox in the order of their arrival, each in the lane of its shard."""
    shards, half = _shards_around_a_split()
    drawing = Drawing(
        860, 330, "A split closes shard 0; later records for its hash keys are in shards 2 and 3"
    )
    left, step = 150.0, 16.0
    lanes = {f"shardId-{number:012}": 70.0 + 65 * number for number in range(4)}
    at = left + step * (half - 0.5)
    drawing.line((at, 30), (at, 300), colour=RED, dashed=True)
    drawing.text(at, 22, "shard 0 is split", RED, "middle")
    end = left + step * len(shards)
    for number, y in enumerate(lanes.values()):
        drawing.text(24, y + 5, f"shard {number}", _COLOURS[number])
        begins, ends = (at if number > 1 else left - step), (at if number == 0 else end)
        drawing.line((begins, y), (ends, y), colour=_COLOURS[number])
        if number > 1:
            drawing.line((at, lanes["shardId-000000000000"]), (at, y), colour=QUIET)
            drawing.text(left - step, y + 5, "a child of shard 0", QUIET)
    drawing.text(at + 12, lanes["shardId-000000000000"] + 5, "closed: reads end without an error", QUIET)
    for number, shard in enumerate(shards):
        drawing.dot(left + step * number, lanes[shard], _COLOURS[int(shard[-1])])
    drawing.text(end, 318, "records, as they arrived", QUIET, "end")
    return drawing.svg()


def draw_sequences() -> str:
    """A message of a sandbox that is too large, its parts with their sizes, and the message joined."""
    message = Samples(_SEED).message("MetadataCreate")
    message["messageBody"]["objectDescription"] = "x" * 2_400_000
    parts = split(message, new_id=new_uuid)
    drawing = Drawing(860, 310, f"A message is cut into {len(parts)} parts and joined again")
    middle = 150
    drawing.box(20, middle, 190, f"{len(serialise(message)):,} bytes", BLUE)
    drawing.text(115, middle - 34, "one message", INK, "middle")
    drawing.box(650, middle, 190, "the same bytes", BLUE)
    drawing.text(745, middle - 34, "joined by position", INK, "middle")
    for number, part in enumerate(parts):
        y = 60 + 90 * number
        drawing.box(310, y, 240, f"{number + 1} of {len(parts)}: {len(part):,} bytes", ORANGE)
        drawing.arrow((210, middle), (306, y), colour=QUIET)
        drawing.arrow((550, y), (646, middle), colour=QUIET)
    drawing.text(430, 293, "each part is a message, with a shard of its own", QUIET, "middle")
    return drawing.svg()


def draw_rdss() -> str:
    """Who sends and receives, and where messages go that cannot be processed."""
    drawing = Drawing(860, 330, "From application to application, with queues for what cannot be processed")
    for x, width, words in (
        (20, 120, "application"),
        (180, 110, "gateway"),
        (340, 140, "input stream"),
        (540, 110, "receiver"),
        (710, 130, "application"),
    ):
        drawing.box(x, 130, width, words, BLUE)
    for start, end in ((140, 178), (290, 338), (480, 538), (650, 708)):
        drawing.arrow((start, 130), (end, 130))
    drawing.box(340, 40, 140, "audit log", GREEN)
    drawing.arrow((410, 108), (410, 64), colour=GREEN)
    drawing.text(424, 92, "a copy of everything", GREEN)
    for x, words, why in (
        (430, "invalid queue", "the message is at fault"),
        (640, "error queue", "something else is"),
    ):
        drawing.arrow((595, 152), (x + 80, 226), colour=RED)
        drawing.box(x, 250, 160, words, RED)
        drawing.text(x + 80, 296, why, QUIET, "middle")
    drawing.text(595, 318, "with an error code, and from there into buckets", QUIET, "middle")
    drawing.text(20, 190, "writes each message down as TO_SEND,", QUIET)
    drawing.text(20, 212, "publishes, and marks it SENT", QUIET)
    return drawing.svg()


def draw_states() -> str:
    """The states of asynchronous messages: each change of the code's table, from column to column."""
    from extensions.processing.transitions import join_rows
    from rdss_sandbox.shapes.processing import State

    rows = join_rows()
    columns: dict[State | None, float] = {None: 225.0}
    columns |= {state: 225.0 + 70 * number for number, state in enumerate(State, 1)}
    head, step = 92.0, 27.0
    drawing = Drawing(
        1040, int(head + step * len(rows) + 20), "The states of a message, and what leads to each"
    )
    bottom = head + step * len(rows)
    for number, (state, x) in enumerate(columns.items()):
        y = 28.0 + 22 * (number % 2)
        drawing.text(x, y, state or "(unknown)", _STATE_COLOURS.get(state, INK), "middle")
        drawing.line((x, y + 8), (x, bottom), colour=_FAINT)
    for row, ((cause, after, _), there) in enumerate(rows.items()):
        y, end = head + step * row, columns[after]
        colour = _STATE_COLOURS.get(after, BLUE)
        drawing.text(24, y + 5, cause, colour)
        starts = [columns[before] for before in there]
        if min(starts) < end:
            drawing.arrow((min(starts), y), (end - 2, y), colour=colour)
        if max(starts) > end:
            drawing.arrow((max(starts), y), (end + 2, y), colour=colour)
        for x in starts:
            drawing.dot(x, y, colour)
    return drawing.svg()


def _shards_around_a_split() -> tuple[list[str], int]:
    """The shard of each record, as they were sent, and how many came before shard 0 was split."""
    samples, half = Samples(_SEED), 20
    settings = Settings(aws_port=0, control_port=0, amqp="none", data_dir=None, seed=_SEED)
    with embedded(settings) as sandbox, Client(sandbox.control) as client:
        for number in range(2 * half):
            if number == half:
                client.reshard("input", Reshard("split", "shardId-000000000000"))
            client.send(NewMessage("input", serialise(samples.message())))
        shards: dict[str | None, str] = {}
        while len(shards) < 2 * half:  # what was sent last may not be in the index yet
            rows = client.messages(limit=200).messages
            shards = {row.message_id: row.shard for row in rows if row.stream == "input"}
    again = Samples(_SEED)
    return [shards[again.message()["messageHeader"]["messageId"]] for _ in range(2 * half)], half
