"""Simulated applications: consumers that do with a message what the specification demands of their kind."""

from sandbox.applications.institutional_repository import InstitutionalRepository
from sandbox.applications.preservation_system import PreservationSystem

__all__ = ["InstitutionalRepository", "PreservationSystem"]
