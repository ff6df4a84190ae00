"""Access rules: which user may read and write which topic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from emulator.filters import FilterSyntaxError, compile_filter
from extensions.topics.engine.topic_definitions import BadDefinitionError
from extensions.topics.engine.topic_subscription import Test
from rdss_sandbox.shapes.topics import Access, Entitlement


@dataclass(frozen=True, slots=True)
class Rights:
    """The rights of one user to one topic; ``holds`` is the test of the allowed messages, None for all."""

    read: bool
    write: bool
    holds: Test | None = None

    def covers(self, data: Any) -> bool:
        """Whether the rights include the message ``data``."""
        return self.holds is None or self.holds(data)

    def narrow(self, test: Test | None) -> Test | None:
        """Combine ``test`` with the test of the rights."""
        if self.holds is None or test is None:
            return test or self.holds
        allowed = self.holds
        return lambda data: test(data) and allowed(data)


EVERYTHING = Rights(read=True, write=True)
NOTHING = Rights(read=False, write=False)


class AccessRules:
    """Looks rights up in ``access``. Raises BadDefinitionError for a filter that is not valid."""

    def __init__(self, access: Access) -> None:
        self.reveals_users = access.reveal_users
        self._rules = None if access.entitlements is None else [_rule(one) for one in access.entitlements]
        self._known: dict[tuple[str, str], Rights] = {}

    def rights(self, user: str, topic: str) -> Rights:
        """The rights of ``user`` to ``topic``; the first entitlement that matches decides."""
        if self._rules is None:
            return EVERYTHING
        known = self._known.get((user, topic))
        if known is None:
            fitting = (
                rights for rule, rights in self._rules if _fits(rule.user, user) and _fits(rule.topic, topic)
            )
            known = self._known[user, topic] = next(fitting, NOTHING)
        return known


def _rule(entitlement: Entitlement) -> tuple[Entitlement, Rights]:
    try:
        holds = compile_filter(entitlement.filter).holds if entitlement.filter else None
    except FilterSyntaxError as error:
        raise BadDefinitionError(
            f"the entitlement of {entitlement.user!r} to {entitlement.topic!r}: {error}"
        ) from None
    return entitlement, Rights(entitlement.read, entitlement.write, holds)


def _fits(pattern: str, name: str) -> bool:
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern
