"""The demands of the specification, each with where it is met and the test that shows it."""

from sandbox.requirements.registry import REQUIREMENTS
from sandbox.requirements.requirement import Requirement

__all__ = ["REQUIREMENTS", "Requirement"]
