"""Every message of a run as one sign for its state."""

from __future__ import annotations

from collections import Counter

from textual.content import Content
from textual.widgets import Static

from rdss_sandbox.text.figures import count, shard
from tui.state.playback import MEANINGS, MessageState, PlaybackState

_STYLES = {
    MessageState.OFFERED: "$text-muted",
    MessageState.TAKEN: "$text-primary",
    MessageState.DELIVERED: "$text-accent",
    MessageState.PROCESSED: "$text-success",
    MessageState.TWICE: "bold $text-error",
    MessageState.REJECTED: "$text-warning",
}
_MOST_SIGNS = 2_000


class MessageGrid(Static):
    """Shows the messages in the order of their first event, a legend with counts, and the shards."""

    def show(self, scene: PlaybackState) -> None:
        """Draw a state of the run."""
        states = list(scene.states.values())
        left_out = len(states) - _MOST_SIGNS
        signs = Content("").join(
            Content.styled(f"{state} ", _STYLES[state]) for state in states[:_MOST_SIGNS]
        )
        more = Content(f" and {count(left_out)} more" if left_out > 0 else "")
        below = [Content(""), *self._legend(Counter(states)), self._shards(scene)]
        self.update(Content("\n").join([signs + more, *below]))

    def _legend(self, counted: Counter[MessageState]) -> list[Content]:
        return [
            Content.assemble((f"{state} ", _STYLES[state]), f"{count(counted[state]):>5}  {meaning}")
            for state, meaning in MEANINGS.items()
            if counted[state] or state is not MessageState.TWICE
        ]

    def _shards(self, scene: PlaybackState) -> Content:
        drawn = (f"{'●' if open_ else '○'} {shard(name)}" for name, open_ in sorted(scene.shards.items()))
        return Content.assemble(("shards ", "$text-muted"), "  ".join(drawn) or "none yet")
