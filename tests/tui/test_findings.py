"""What clients do wrong, in the stream tree and over it."""

from __future__ import annotations

from rdss_sandbox.shapes.diagnosis import Finding, Step
from tests.tui.app_pilot import opened, text_of, until
from tests.tui.canned import NOON, Canned
from tui.dialogs.client_findings import Findings
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
        evidence={"records": 17},
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
    """w lists the findings, enter shows the evidence of one, escape goes back."""
    canned.all_findings = (finding("unread-child", SHARD), finding("one-shard", None))
    async with opened(canned) as pilot:
        await until(pilot, lambda: "▾ input !2" in text_of(pilot))
        pilot.app.screen.query_one(StreamTree).focus()
        await pilot.press("w")
        await until(pilot, lambda: isinstance(pilot.app.screen, Findings))
        await until(pilot, lambda: "unread-child" in text_of(pilot) and "one-shard" in text_of(pilot))
        assert "records: 17" not in text_of(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: "records: 17" in text_of(pilot))
        assert "do: Read the ChildShards." in text_of(pilot)
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(pilot.app.screen, Findings))
