"""Every message of a run as one sign, which says how far it is."""

from __future__ import annotations

from collections import Counter

from textual.content import Content
from textual.widgets import Static

from tui.state.playback import MEANINGS, MessageState, PlaybackState
from tui.text.figures import count, shard

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
    """The messages in the order they were first heard of; what the signs mean, with counts; the shards."""

    def show(self, scene: PlaybackState) -> None:
        """Draw the scene as it stands."""
        fates = list(scene.fates.values())
        left_out = len(fates) - _MOST_SIGNS
        signs = Content("").join(Content.styled(f"{fate} ", _STYLES[fate]) for fate in fates[:_MOST_SIGNS])
        more = Content(f" and {count(left_out)} more" if left_out > 0 else "")
        below = [Content(""), *self._legend(Counter(fates)), self._shards(scene)]
        self.update(Content("\n").join([signs + more, *below]))

    def _legend(self, counted: Counter[MessageState]) -> list[Content]:
        return [
            Content.assemble((f"{fate} ", _STYLES[fate]), f"{count(counted[fate]):>5}  {meaning}")
            for fate, meaning in MEANINGS.items()
            if counted[fate] or fate is not MessageState.TWICE
        ]

    def _shards(self, scene: PlaybackState) -> Content:
        drawn = (f"{'●' if open_ else '○'} {shard(name)}" for name, open_ in sorted(scene.shards.items()))
        return Content.assemble(("shards ", "$text-muted"), "  ".join(drawn) or "none yet")
