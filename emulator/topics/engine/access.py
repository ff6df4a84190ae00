"""Who may read and write what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from emulator.topics.engine.definitions import BadDefinitionError
from emulator.topics.engine.filters import FilterError, compile_filter
from emulator.topics.engine.subscription import Test
from rdss_sandbox.shapes.topics import Access, Entitlement


@dataclass(frozen=True, slots=True)
class Rights:
    """What one user may do with one topic; ``holds`` bounds which messages, None for all."""

    read: bool
    write: bool
    holds: Test | None = None

    def covers(self, data: Any) -> bool:
        """Whether the message ``data`` is one of those."""
        return self.holds is None or self.holds(data)

    def narrowed(self, test: Test | None) -> Test | None:
        """``test``, and that the message is one of those."""
        if self.holds is None or test is None:
            return test or self.holds
        allowed = self.holds
        return lambda data: test(data) and allowed(data)


EVERYTHING = Rights(read=True, write=True)
NOTHING = Rights(read=False, write=False)


class AccessRules:
    """Answers from ``access``. Raises BadDefinitionError for a filter that is none."""

    def __init__(self, access: Access) -> None:
        self.reveals_users = access.reveal_users
        self._rules = None if access.entitlements is None else [_rule(one) for one in access.entitlements]
        self._known: dict[tuple[str, str], Rights] = {}

    def rights(self, user: str, topic: str) -> Rights:
        """What ``user`` may do with ``topic``."""
        if self._rules is None:
            return EVERYTHING
        known = self._known.get((user, topic))
        if known is None:
            fitting = (
                rights for said, rights in self._rules if _fits(said.user, user) and _fits(said.topic, topic)
            )
            known = self._known[user, topic] = next(fitting, NOTHING)
        return known


def _rule(entitlement: Entitlement) -> tuple[Entitlement, Rights]:
    try:
        holds = compile_filter(entitlement.filter).holds if entitlement.filter else None
    except FilterError as error:
        raise BadDefinitionError(
            f"the entitlement of {entitlement.user!r} to {entitlement.topic!r}: {error}"
        ) from None
    return entitlement, Rights(entitlement.read, entitlement.write, holds)


def _fits(pattern: str, name: str) -> bool:
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern
