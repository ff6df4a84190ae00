"""Every MUST, MUST NOT, SHOULD, SHOULD NOT and RECOMMENDED of the specification, in its order."""

from __future__ import annotations

from typing import Final

from sandbox.requirements.applications import APPLICATIONS
from sandbox.requirements.clients import CLIENTS
from sandbox.requirements.gateway import GATEWAY
from sandbox.requirements.messages import MESSAGES
from sandbox.requirements.requirement import Requirement

REQUIREMENTS: Final[tuple[Requirement, ...]] = (*MESSAGES, *APPLICATIONS, *CLIENTS, *GATEWAY)
"""Numbered from 1 by their places."""
