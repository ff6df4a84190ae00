"""How far a learner is: what ``sandbox learn`` tells a hub at the address of the learner's seat."""

from __future__ import annotations

from rdss_sandbox.api.endpoint import PUT, Mode, Subject
from rdss_sandbox.shapes.course_report import CourseReport


class LearnerProgress(Subject[Mode], at="/course"):
    """A hub has it at each seat; a sandbox on its own has not."""

    @PUT("")
    def report(self, course: CourseReport) -> CourseReport:
        """Tell how far the learner is. The last report stays."""
