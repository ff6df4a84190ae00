"""Screens of a sandbox whose streams have other names than usual."""

from __future__ import annotations

from rdss_sandbox.shapes.topology import AuditTap, Topology
from tests.tui.app_pilot import opened, text_of, until
from tests.tui.canned import Canned
from tui.panes.message_browser import MessageBrowser
from tui.state.query import everything_once, refused

DEPLOYED = Topology(
    streams={"message_error_dev": 1, "institute_1_input_dev": 1, "message_audit_dev": 1},
    audit=AuditTap("message_audit_dev", "deployed-audit", ("institute_1_input_dev",)),
    archives={"message_error_dev": "rdss-error", "message_invalid_dev": "rdss-invalid"},
)


async def test_screens_follow_the_names_of_the_sandbox(canned: Canned) -> None:
    """Audit log, its bucket and the queues are looked for under the names that the sandbox gives."""
    canned.topology = DEPLOYED
    async with opened(canned) as pilot:
        await until(pilot, lambda: ("messages", "-stream:message_audit_dev") in canned.asked)
        await pilot.press("3")
        await until(pilot, lambda: "from the stream message_audit_dev" in text_of(pilot))
        await pilot.press("b")
        await until(pilot, lambda: "from the bucket deployed-audit" in text_of(pilot))
        await until(pilot, lambda: "deployed-audit/" in text_of(pilot))
        await pilot.press("4")
        queues = "stream:message_error_dev,message_invalid_dev"
        await until(pilot, lambda: pilot.app.screen.query_one(MessageBrowser).matching == queues)
        await until(pilot, lambda: ("counts", queues) in canned.asked)


def test_a_sandbox_without_audit_or_queues() -> None:
    """Every message is shown once all the same, and what bears a code counts as refused."""
    bare = Topology(streams={"only": 1})
    assert everything_once(bare) == ""
    assert refused(bare) == "-code:none"
    assert bare.first == "only"
    assert DEPLOYED.first == "institute_1_input_dev"
    assert DEPLOYED.apart == {"message_error_dev", "message_invalid_dev", "message_audit_dev"}
