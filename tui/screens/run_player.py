"""The player of a recorded run: a time slider, play and pause, single steps, explanations."""

from __future__ import annotations

from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.containers import Container, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Static

from rdss_sandbox.shapes.events import Event
from rdss_sandbox.shapes.scenarios import Teaching
from rdss_sandbox.text import figures
from tui.dialogs.whole_row import WholeRow
from tui.keys.actions import ActionGroup, bindings
from tui.state.playback import Playback
from tui.state.recording import Recording
from tui.text.columns import ListColumn
from tui.text.narration import TURNS, remaining_fields, sentence
from tui.widgets.event_list import tell_event
from tui.widgets.key_footer import KeyFooter
from tui.widgets.message_lanes import MessageLanes
from tui.widgets.row_list import RowList
from tui.widgets.time_slider import Timeline

SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
_SHORTEST, _LONGEST = 0.08, 1.2
_ANSWERS = {
    True: ("✓", "$text-success"),
    False: ("✗", "bold $text-error"),
    None: ("?", "bold $text-warning"),
}
_VERDICTS = {"pass": "bold $text-success", "fail": "bold $text-error"}


class RunScreen(Screen[None]):
    """Plays a recording. The cursor of the event list is the position; everything else follows it.

    What came of the run is told from when the last event was shown.
    """

    BINDINGS: ClassVar[list[Any]] = bindings(ActionGroup.RUN)
    DEFAULT_CSS = """
    RunScreen {
        #title { height: 1; padding: 0 1; background: $panel; }
        #now {
            height: auto; min-height: 1; max-height: 3; padding: 0 1;
            background: $primary 25%; text-style: bold;
        }
        #story { height: 1fr; scrollbar-size: 1 1; }
        #teach { padding: 0 1 1 1; height: auto; }
        MessageLanes { padding: 0 1 1 1; height: auto; }
    }
    """

    def __init__(self, recording: Recording) -> None:
        super().__init__()
        self.recording = recording
        self.speed = 1.0
        self._playback = Playback(recording.events)
        self._began = recording.events[0].time
        self._next: Timer | None = None
        self._is_explained = False

    def compose(self) -> ComposeResult:
        yield Static(self._title(), id="title")
        with Container(id="panes"):
            with Vertical(id="told") as told:
                told.border_title = "where the messages are"
                yield Static(id="now", markup=False)
                with VerticalScroll(id="story", can_focus=False):
                    yield MessageLanes()
                    yield Static(self._lesson(), id="teach")
            yield RowList(self._columns(), title="what happened", id="events")
        yield Timeline(self.recording.events)
        yield Static(id="where", classes="line")
        yield KeyFooter()

    def on_mount(self) -> None:
        self.events.fill(self.recording.events)
        self.events.focus()

    @property
    def events(self) -> RowList[Event]:
        return self.query_one("#events", RowList)

    @property
    def playing(self) -> bool:
        return self._next is not None

    def _columns(self) -> tuple[ListColumn[Event], ...]:
        return (
            ListColumn[Event]("at", 10, self._at, "dim", right=True),
            ListColumn[Event]("", 1, lambda row: TURNS.get(row.kind, ""), "warning", worth=9),
            ListColumn[Event](
                "what happened",
                24,
                self._tell,
                _tone,
                worth=9,
                stretch=True,
                after=lambda row: remaining_fields(row, self.recording.meanings),
            ),
        )

    def _at(self, event: Event) -> str:
        return f"{event.time - self._began:.3f} s"

    def _tell(self, event: Event) -> str:
        return sentence(event, self.recording.meanings)

    # The position.

    def on_row_list_highlighted(self, message: RowList.Highlighted) -> None:
        if message.row is None:
            return
        index = self.events.cursor
        self.query_one("#now", Static).update(self._tell(message.row))
        self.query_one(MessageLanes).show(self._playback.after(index + 1))
        self.query_one(Timeline).show(index)
        self._show_position()
        if index == len(self.recording.events) - 1:
            self._tell_verdict()

    def _tell_verdict(self) -> None:
        """Show what came of the run; it stays when the user goes back."""
        if not self._is_explained:
            self._is_explained = True
            self.query_one("#title", Static).update(self._title())
            self.query_one("#teach", Static).update(self._lesson())

    def on_row_list_opened(self, message: RowList.Opened) -> None:
        self.app.push_screen(WholeRow(*tell_event(message.row, self.recording.meanings)))

    def on_timeline_sought(self, message: Timeline.Sought) -> None:
        self.events.move_to(message.index)

    def _show_position(self) -> None:
        index, total = self.events.cursor, len(self.recording.events)
        passed, whole = self._at(self.recording.events[index]), self._at(self.recording.events[-1])
        state = Content.styled("▶ playing", "bold $text-success") if self.playing else Content("‖ paused")
        where = f"  step {figures.count(index + 1)} of {figures.count(total)}  ·  {passed} of {whole}"
        self.query_one("#where", Static).update(Content.assemble(state, where, f"  ·  speed {self.speed:g}"))

    # Playing.

    def action_play(self) -> None:
        if self.playing:
            self._pause()
        else:
            if self.events.cursor >= len(self.recording.events) - 1:
                self.events.move_to(0)
            self._await_next()
        self._show_position()

    def _await_next(self) -> None:
        index = self.events.cursor
        events = self.recording.events
        if index >= len(events) - 1:
            self._pause()
            return
        # Events at the same instant are shown one by one, and long pauses are shortened.
        apart = min(max(events[index + 1].time - events[index].time, _SHORTEST), _LONGEST)
        self._next = self.set_timer(apart / self.speed, self._play_on)

    def _play_on(self) -> None:
        self.events.move_to(self.events.cursor + 1)
        self._await_next()
        self._show_position()

    def _pause(self) -> None:
        if self._next is not None:
            self._next.stop()
            self._next = None

    def action_faster(self) -> None:
        self._change_speed(1)

    def action_slower(self) -> None:
        self._change_speed(-1)

    def _change_speed(self, by: int) -> None:
        self.speed = SPEEDS[min(max(SPEEDS.index(self.speed) + by, 0), len(SPEEDS) - 1)]
        self._show_position()

    # Step by step.

    def action_step(self) -> None:
        self._step_to(self.events.cursor + 1)

    def action_step_back(self) -> None:
        self._step_to(self.events.cursor - 1)

    def action_next_turn(self) -> None:
        self._step_to(self._turn(range(self.events.cursor + 1, len(self.recording.events))))

    def action_previous_turn(self) -> None:
        self._step_to(self._turn(range(self.events.cursor - 1, -1, -1)))

    def _turn(self, indexes: range) -> int:
        found = (index for index in indexes if self.recording.events[index].kind in TURNS)
        return next(found, self.events.cursor)

    def _step_to(self, index: int) -> None:
        self._pause()
        self.events.move_to(index)
        self._show_position()

    def action_explain(self) -> None:
        self.toggle_class("-explaining")
        # A hidden list loses the focus, and the keys of lists with it.
        self.call_after_refresh(self.events.focus)

    def action_leave(self) -> None:
        self._pause()
        if len(self.app.screen_stack) > 1:
            self.dismiss(None)
        else:
            self.app.exit()

    # Texts.

    def _title(self) -> Content:
        run = self.recording
        verdict = (
            Content.styled(run.verdict or "no verdict", _VERDICTS.get(run.verdict, "bold $text-warning"))
            if self._is_explained
            else Content.styled("the verdict comes at the end", "$text-muted")
        )
        seed = f"  ·  seed {run.seed}" if run.seed is not None else ""
        # The verdict stands first: a small screen has no room for the whole of a long title.
        return Content.assemble(verdict, "  ·  ", (run.title, "bold"), seed)

    def _lesson(self) -> Content:
        run = self.recording
        lines = run.lines if self._is_explained else ()
        judged = [_verdict_line(line.claim, line.observed, line.expected, line.holds) for line in lines]
        again = [Content.assemble(("Again: ", "bold $text-accent"), run.command)] if run.command else []
        return Content("\n\n").join(
            [*tell_teaching(run.teach), *([Content("\n").join(judged)] if judged else []), *again]
        )


def tell_teaching(teach: Teaching) -> list[Content]:
    """What a scenario teaches, in paragraphs."""
    parts = (("What happens", teach.happens), ("Why", teach.why), ("A correct client", teach.client))
    return [Content.assemble((f"{title}. ", "bold $text-accent"), text) for title, text in parts if text]


def _verdict_line(claim: str, observed: str, expected: str, holds: bool | None) -> Content:
    sign, style = _ANSWERS[holds]
    expectation = Content.styled(f"  must be {expected}", "$text-muted")
    return Content.assemble((f"{sign} ", style), f"{claim} is {observed}", expectation)


def _tone(event: Event) -> str:
    return "warning" if event.kind in TURNS else "good" if event.kind == "message.processed" else ""
