"""The messages of a run on their way: a lane for each shard, and in it a sign for each message."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from textual.content import Content
from textual.widget import Widget

from rdss_sandbox.text.figures import count, shard
from tui.state.playback import INPUT, MEANINGS, MessageState, PlaybackState

_STYLES = {
    MessageState.OFFERED: "$text-muted",
    MessageState.TAKEN: "$text-primary",
    MessageState.DELIVERED: "$text-accent",
    MessageState.PROCESSED: "$text-success",
    MessageState.TWICE: "bold $text-error",
    MessageState.REJECTED: "$text-warning",
}
_STAGES = (("offered", 10), ("in stream", 45), ("given", 15), ("done", 30))
"""The stages of a message, and how much each has of the width that the titles leave, in percent."""
_LAST = len(_STAGES) - 1
_STAGE_OF = {MessageState.OFFERED: 0, MessageState.TAKEN: 1, MessageState.DELIVERED: 2}
_LABEL_CELLS = 8
_NEXT = Content.styled(" → ", "$text-muted")
_MOST_LANES = 12


class MessageLanes(Widget):
    """Shows how far each message is: it enters its lane on the left and leaves it on the right.

    The message of the present event is reversed. Where a stage has more messages than cells, their number
    stands beside those that come next.
    """

    def __init__(self) -> None:
        super().__init__()
        self._scene = PlaybackState()

    def show(self, scene: PlaybackState) -> None:
        """Draw a state of the run."""
        self._scene = scene.copy()
        self.refresh(layout=True)

    def render(self) -> Content:
        shards, lanes = self._scene.shards, self._sort()
        busy = [name for name, is_open in shards.items() if is_open or any(lanes[name][:_LAST])]
        shown = sorted(shards if len(shards) <= _MOST_LANES else busy)[:_MOST_LANES]
        drawn = [self._draw_lane(name, lanes[name]) for name in shown]
        waiting = [self._draw_lane("", lanes[""])] if any(lanes[""]) or not drawn else []
        counted = Counter(self._scene.states.values())
        return Content("\n").join([self._heading(), *waiting, *drawn, Content(""), *_legend(counted)])

    def _sort(self) -> dict[str, list[list[str]]]:
        """The messages of each lane and stage, oldest first; the lane "" has those that are in no shard."""
        lanes: dict[str, list[list[str]]] = {
            name: [[] for _ in _STAGES] for name in ("", *self._scene.shards)
        }
        for message, state in self._scene.states.items():
            lanes[self._scene.places.get(message, "")][_STAGE_OF.get(state, _LAST)].append(message)
        return lanes

    def _widths(self) -> list[int]:
        fixed = _LABEL_CELLS + len(_NEXT) * _LAST + sum(len(title) for title, _ in _STAGES)
        free = max(0, self.size.width - fixed)
        return [len(title) + free * share // 100 for title, share in _STAGES]

    def _heading(self) -> Content:
        titles = [
            title.ljust(cells) if stage == _LAST else title.rjust(cells)
            for stage, ((title, _), cells) in enumerate(zip(_STAGES, self._widths(), strict=True))
        ]
        return Content.styled(" " * _LABEL_CELLS + "   ".join(titles), "$text-muted")

    def _draw_lane(self, name: str, stages: Sequence[Sequence[str]]) -> Content:
        if name:
            sign = "● " if self._scene.shards[name] else "○ "
            label = f"{sign}{name if name == INPUT else shard(name)}"
        else:
            label = "no shard" if any(stages[1:]) else ""
        cells = [
            self._draw_stage(messages, width, leaves=stage < _LAST)
            for stage, (messages, width) in enumerate(zip(stages, self._widths(), strict=True))
        ]
        return Content.assemble(label[:_LABEL_CELLS].ljust(_LABEL_CELLS), _NEXT.join(cells))

    def _draw_stage(self, messages: Sequence[str], width: int, *, leaves: bool) -> Content:
        """The oldest at the right end, where they leave; of those that are done the newest, at the left."""
        number = str(len(messages)) if messages and (not leaves or len(messages) > width) else ""
        room = width - len(number) - bool(number)
        kept = list(messages[:room] if leaves else messages[-room:])
        if (moved := self._scene.moved) in messages and moved not in kept[-1:]:
            kept = [*[each for each in kept if each != moved][: room - 1], moved]
        signs = Content("").join(self._draw(message) for message in reversed(kept))
        numbered = Content.styled(number, "$text-muted")
        blank = Content(" " * (width - len(kept) - len(number)))
        return Content("").join([numbered, blank, signs] if leaves else [signs, blank, numbered])

    def _draw(self, message: str) -> Content:
        state = self._scene.states[message]
        style = f"{_STYLES[state]} reverse" if message == self._scene.moved else _STYLES[state]
        return Content.styled(str(state), style)


def _legend(counted: Counter[MessageState]) -> list[Content]:
    return [
        Content.assemble((f"{state} ", _STYLES[state]), f"{count(counted[state]):>5}  {meaning}")
        for state, meaning in MEANINGS.items()
        if counted[state] or state is not MessageState.TWICE
    ]
