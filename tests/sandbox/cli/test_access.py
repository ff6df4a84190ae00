"""``sandbox access``: hold a key to something, list it, let it go."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

Ask = Callable[..., Any]


def test_a_key_is_held_listed_and_let_go(ask: Ask) -> None:
    """Each command says in a sentence what holds now; --json gives the permission itself."""
    held = ask("access", "permit", "my-reader", "--stream", "input", "--operation", "Get*")
    assert held.out == "the access key my-reader may do Get* on input, and nothing else\n"
    assert json.loads(ask("access", "list", "--json").out) == {
        "permissions": [{"access_key": "my-reader", "streams": ["input"], "operations": ["Get*"]}]
    }
    assert ask("access", "list").out.splitlines()[1].split() == ["my-reader", "input", "Get*"]
    assert ask("access", "forget", "my-reader").out == "the access key my-reader may do everything again\n"
    again = ask("access", "forget", "my-reader")
    assert (again.code, "no permission is for the access key 'my-reader'" in again.err) == (2, True)


def test_keys_that_are_not_listed_are_held_too(ask: Ask) -> None:
    """To nothing at all, until the entry for them is forgotten."""
    held = ask("access", "permit", "*", "--nothing")
    assert held.out == "a key that is not listed may do nothing\n"
    assert ask("access", "list").out.splitlines()[1].split() == ["*", "*", "nothing"]
    assert ask("access", "forget", "*").out == "a key that is not listed may do everything again\n"
    both = ask("access", "permit", "*", "--nothing", "--operation", "Get*")
    assert (both.code, "--nothing permits no operation" in both.err) == (2, True)


def test_an_operation_that_there_is_not_is_one_line(ask: Ask) -> None:
    """Exit code 2, with the operations that there are."""
    refused = ask("access", "permit", "my-reader", "--operation", "Read")
    assert (refused.code, len(refused.err.splitlines())) == (2, 1)
    assert "no operation of Kinesis is called 'Read'; they are " in refused.err
    assert "GetRecords" in refused.err
