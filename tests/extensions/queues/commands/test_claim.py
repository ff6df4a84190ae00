"""``sandbox claim``: triage of the error queue from the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from emulator.assembly.embedded import Embedded
from schemas.rdss.error_codes import ErrorCode
from schemas.rdss.samples import Samples

Ask = Callable[..., Any]


@pytest.fixture
def three(emulator: Embedded) -> list[str]:
    """Three messages in the error queue, oldest first, by their messageIds."""
    samples = Samples(5)
    ids = []
    for _ in range(3):
        message = samples.message()
        message["messageHeader"]["errorCode"] = ErrorCode.GENERR005
        ids.append(message["messageHeader"]["messageId"])
        record = {
            "StreamName": "error",
            "Data": json.dumps(message).encode(),
            "PartitionKey": "one",
        }
        emulator.components.streams.call("PutRecord", record, emulator.components.home)
    return ids


def test_a_claim_from_its_beginning_to_its_end(ask: Ask, three: list[str]) -> None:
    """Claim two, see who holds them, renew, delete one with the claim, release: one is free again."""
    claimed = json.loads(
        ask("claim", "error", "--limit", "2", "--ttl", "100", "--worker", "ann", "--json").out
    )["claim"]
    assert [each["message_id"] for each in claimed["messages"]] == three[:2]
    assert [each["code"] for each in claimed["messages"]] == ["GENERR005"] * 2
    assert 0 < claimed["left"] <= 100

    shown = ask("claim", "list", "error").out
    assert (claimed["id"] in shown, "ann" in shown) == (True, True)
    assert "error" in ask("claim", "list").out

    renewed = json.loads(ask("claim", "renew", "error", claimed["id"], "--ttl", "900", "--json").out)["claim"]
    assert 100 < renewed["left"] <= 900

    first = claimed["messages"][0]["id"]
    refused = ask("claim", "delete", "error", first)
    assert refused.code != 0
    assert "claimed" in refused.err
    assert ask("claim", "delete", "error", first, "--claim", claimed["id"]).code == 0

    assert ask("claim", "release", "error", claimed["id"]).out == f"released {claimed['id']}\n"
    left = json.loads(ask("claim", "error", "--json").out)["claim"]["messages"]
    assert [each["message_id"] for each in left] == three[1:]


def test_a_table_for_people(ask: Ask, three: list[str]) -> None:
    """What was claimed, message by message; and a line when nothing is free."""
    page = ask("claim", "error").out
    assert page.startswith("claim ")
    assert [id_ for id_ in three if id_ not in page] == []
    assert ask("claim", "error").out == "nothing to claim: error has no message that is free\n"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["release", "error", "nobody"], 1, "it has expired or was released"),
        (["renew", "error", "nobody"], 2, "it has expired, was released, or never was"),
        (["delete", "error", "nothing"], 2, "does not exist in queue error"),
        (["list", "nowhere"], 2, "Queue nowhere does not exist for project rdss"),
        (["error", "--ttl", "5"], 2, "60<=x<=43200"),
    ],
)
def test_what_cannot_be(ask: Ask, arguments: list[str], code: int, said: str) -> None:
    """One line that says why, and the exit code."""
    ran = ask("claim", *arguments)
    assert (ran.code, ran.out) == (code, "")
    assert said in ran.err
    assert "Traceback" not in ran.err
