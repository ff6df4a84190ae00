"""The registry of clauses."""

from __future__ import annotations

from typing import Final

from sandbox.certify import consumer_clauses, producer_clauses
from sandbox.certify.clause import Clause, Group, Role
from sandbox.certify.history import Level

CLAUSES: Final[tuple[Clause, ...]] = (*consumer_clauses.CLAUSES, *producer_clauses.CLAUSES)


def clauses(
    role: Role, level: Level = Level.GOLD, groups: frozenset[Group] = frozenset(Group)
) -> list[Clause]:
    """The clauses for a role, up to a level, of these groups."""
    return [each for each in CLAUSES if each.role is role and each.level <= level and each.group in groups]
