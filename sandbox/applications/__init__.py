"""Simulated applications, which process messages as the specification requires of their kind."""

from sandbox.applications.institutional_repository import InstitutionalRepository
from sandbox.applications.preservation_system import PreservationSystem

__all__ = ["InstitutionalRepository", "PreservationSystem"]
