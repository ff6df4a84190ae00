"""python-zaqarclient, OpenStack's own client of queues, unmodified, without Keystone."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.real_clients.sandbox_process import Sandbox

_PROGRAM = Path(__file__).with_name("zaqar_client.py")
_HOOK = "http://127.0.0.1:9/hook"

pytestmark = [pytest.mark.real_client, pytest.mark.xdist_group("zaqar")]


@pytest.fixture(scope="module")
def said(sandbox: Sandbox, zaqar: Path) -> dict[str, Any]:
    """What each call of the client gave."""
    ran = subprocess.run(
        [zaqar / "python", _PROGRAM, sandbox.queues],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.returncode == 0, ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def test_queues_are_made_listed_counted_described_and_deleted(said: dict[str, Any]) -> None:
    """Their metadata is patched as the client does it, with the defaults of what is reserved."""
    assert {"rel/queues", "rel/claim", "rel/subscriptions"} <= set(said["home"])
    assert said["changed"] == said["metadata"]
    assert (said["metadata"]["team"], said["metadata"]["_default_message_ttl"]) == ("red", 900)
    assert said["metadata"]["_max_messages_post_size"] == 262_144
    assert (said["stats"]["messages"]["total"], said["stats"]["messages"]["free"]) == (6, 6)
    assert (said["queues"], said["count"]) == (["archive", "orders"], 2)
    assert said["after_purge"]["messages"]["total"] == 0
    assert said["after_delete"] == []


def test_messages_are_posted_read_popped_and_deleted(said: dict[str, Any]) -> None:
    """Its iterator follows the links from page to page; its own messages are no echo."""
    assert (said["listed"], said["echo"]) == ([0, 1, 2, 3, 4, 5], [])
    assert (said["found"], said["one"]) == ([1, 0], {"n": 0})
    assert (said["popped"], said["left"]) == ([0], [1, 2, 3])


def test_claims_are_made_renewed_looked_at_and_released(said: dict[str, Any]) -> None:
    """What one claim holds another does not get until it is released."""
    assert (said["held"], said["claim_ids"], said["others"]) == ([1, 2], [True, True], [3])
    assert (said["ttl"], said["age"]) == (200, 0)
    assert said["released"] == [2]


def test_subscriptions_are_kept(said: dict[str, Any]) -> None:
    """Made, changed, listed, deleted."""
    assert said["subscription"] == [_HOOK, 900, {"post_headers": {"a": "b"}}, False]
    assert (said["subscriptions"], said["unsubscribed"]) == ([[_HOOK, 900]], [])


def test_a_signed_url_opens_what_was_shared_and_nothing_else(said: dict[str, Any]) -> None:
    """A guest posts with the signature alone, and does not see the statistics."""
    assert said["signed"] == [["/v2/queues/orders/messages"], ["GET", "POST"], "demo"]
    assert (said["guest"], said["refused"]) == (["from a guest"], "not found")


def test_what_operators_have_is_not_here(said: dict[str, Any]) -> None:
    """Pools, flavors and the health of a deployment: 404, as on a server without admin mode."""
    assert [said[name] for name in ("pool", "flavor", "health")] == ["not found"] * 3
