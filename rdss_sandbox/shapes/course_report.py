"""How far a learner is, as their commands tell a hub."""

from __future__ import annotations

import msgspec


class CourseReport(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The lesson that a learner is at, and how far the course is.

    ``checks`` and ``hints`` are those of the lesson, which ``is_passed`` or not yet. Of the ``of`` lessons of
    the course ``passed`` were.
    """

    lesson: str
    number: int
    checks: int
    hints: int
    is_passed: bool
    passed: int
    of: int
