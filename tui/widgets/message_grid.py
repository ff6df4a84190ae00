"""Every message of a run as one sign, which says how far it is."""

from __future__ import annotations

from collections import Counter

from textual.content import Content
from textual.widgets import Static

from tui.state.playback import MEANINGS, Fate, Scene
from tui.text.figures import count, shard

_STYLES = {
    Fate.OFFERED: "$text-muted",
    Fate.TAKEN: "$text-primary",
    Fate.DELIVERED: "$text-accent",
    Fate.PROCESSED: "$text-success",
    Fate.TWICE: "bold $text-error",
    Fate.REJECTED: "$text-warning",
}
_MOST_SIGNS = 2_000


class Board(Static):
    """The messages in the order they were first heard of; what the signs mean, with counts; the shards."""

    def show(self, scene: Scene) -> None:
        """Draw the scene as it stands."""
        fates = list(scene.fates.values())
        left_out = len(fates) - _MOST_SIGNS
        signs = Content("").join(Content.styled(f"{fate} ", _STYLES[fate]) for fate in fates[:_MOST_SIGNS])
        more = Content(f" and {count(left_out)} more" if left_out > 0 else "")
        below = [Content(""), *self._legend(Counter(fates)), self._shards(scene)]
        self.update(Content("\n").join([signs + more, *below]))

    def _legend(self, counted: Counter[Fate]) -> list[Content]:
        return [
            Content.assemble((f"{fate} ", _STYLES[fate]), f"{count(counted[fate]):>5}  {meaning}")
            for fate, meaning in MEANINGS.items()
            if counted[fate] or fate is not Fate.TWICE
        ]

    def _shards(self, scene: Scene) -> Content:
        drawn = (f"{'●' if open_ else '○'} {shard(name)}" for name, open_ in sorted(scene.shards.items()))
        return Content.assemble(("shards ", "$text-muted"), "  ".join(drawn) or "none yet")
