"""What clients do wrong, in the stream tree and over it."""

from __future__ import annotations

from rdss_sandbox.shapes.diagnosis import Finding, Step
from tests.tui.app_pilot import opened, see, text_of, until
from tests.tui.canned import NOON, Canned
from tui.dialogs.client_findings import Findings
from tui.dialogs.whole_row import WholeRow
from tui.widgets.stream_tree import StreamTree

SHARD = "shardId-000000000004"


def finding(rule: str, shard: str | None) -> Finding:
    return Finding(
        rule=rule,
        title="A shard that nobody reads",
        harm="loses",
        client="mine (Boto3/1)",
        stream="input",
        shard=shard,
        at=NOON,
        said=f"mine never asked for {shard}",
        evidence={"records": 17, "iterators": ["a", None]},
        advice="Read the ChildShards.",
        steps=(Step(NOON, "its parent ended"),),
    )


async def test_the_tree_marks_what_clients_do_wrong(canned: Canned) -> None:
    """The shard and its stream have a mark with the number of findings; the others have none."""
    canned.all_findings = (finding("unread-child", SHARD), finding("one-shard", None))
    async with opened(canned) as pilot:
        tree = pilot.app.screen.query_one(StreamTree)
        await until(pilot, lambda: "▾ input !2" in text_of(pilot))
        found = {line.branch.key: line.found for line in tree._pages._held[0].values()}
        assert {key: count for key, count in found.items() if count} == {"input": 2, f"input/{SHARD}": 1}


async def test_the_evidence_is_one_key_away(canned: Canned) -> None:
    """w lists the findings over the evidence of the first; enter shows that alone, escape goes back."""
    canned.all_findings = (finding("unread-child", SHARD), finding("one-shard", None))
    async with opened(canned) as pilot:
        await until(pilot, lambda: "▾ input !2" in text_of(pilot))
        pilot.app.screen.query_one(StreamTree).focus()
        await pilot.press("w")
        await until(pilot, lambda: isinstance(pilot.app.screen, Findings))
        evidence = "records: 17", "iterators: a, none", "What to do: Read the ChildShards."
        await see(pilot, "unread-child", "one-shard", "A shard that nobody reads", *evidence)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, WholeRow))
        await see(pilot, *evidence)
        await pilot.press("escape", "escape")
        await until(pilot, lambda: not isinstance(pilot.app.screen, Findings))
