"""What a certificate says before any verdict: what the kit did not see, and what it gave up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from sandbox.certify.history import History
from sandbox.certify.stages import Stage

_LEASE_PATIENCE: Final = 60.0
"""The patience in seconds with which the kit waits longer than the default KCL 3 needs for a lease."""


def remarks(history: History, planned: Sequence[Stage], patience: float) -> Iterator[str]:
    """Sentences that one has to know before the verdicts; ``patience`` is the client's, in seconds."""
    delivered = sum(len(read.records) for read in history.reads())
    unnamed = sum(entry.message_id is None for put in history.puts() for entry in put.entries)
    fits = "fit the client's lines, and are they on its standard output?"
    if history.tells_nothing():
        yield f"no messageId was told in {delivered} deliveries, so nothing passes: does --processed {fits}"
    elif history.puts() and not history.told:
        yield f"no messageId was told, though {len(history.stored)} messages came: does --sent {fits}"
    if unnamed:
        yield f"{unnamed} messages without a recognisable messageId were put"
    if not history.exchanges:
        yield "the client made no request that the kit saw"
    longer = max(_LEASE_PATIENCE, 2 * patience)
    for end in history.ends:
        if end.impatient:
            yield (
                f"the stage {end.name} was cut while the client was at work or waited for leases to run out: "
                f"what is missing in it is not counted. Try --patience {longer:g}s"
            )
    if history.taken_away:
        yield (
            f"the client could not get past poison: {len(history.taken_away)} messages were taken away after "
            "the stage, so that later ones are judged by themselves"
        )
    played = {name for _, name, _ in history.stages}
    if left := [stage.name for stage in planned if stage.name not in played]:
        yield f"not played, since the client ended or was waited for in vain: {', '.join(left)}"
