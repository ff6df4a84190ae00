"""What others are told of a change, by whoever tells them."""

from __future__ import annotations

import pytest

from sandbox.gateway.triggers import Trigger, trigger


@pytest.mark.parametrize(
    ("was_public", "is_public", "changed", "expected"),
    [
        (False, True, True, Trigger.CREATE),
        (False, True, False, Trigger.CREATE),
        (False, False, True, None),
        (True, True, False, None),
        (True, True, True, Trigger.UPDATE),
        (True, False, True, Trigger.DELETE),
        (True, False, False, Trigger.DELETE),
    ],
)
def test_message_triggers(
    *, was_public: bool, is_public: bool, changed: bool, expected: Trigger | None
) -> None:
    """What each change of a work calls for (specification, Message Triggers)."""
    assert trigger(was_public=was_public, is_public=is_public, changed=changed) is expected
