"""The part of a demonstration that goes through one transport."""

from __future__ import annotations

from dataclasses import dataclass

from sandbox.demo.plan import Plan
from sandbox.demo.transports import Transport
from sandbox.demo.workload import Item
from sandbox.repository import Repository


@dataclass(frozen=True, slots=True)
class Leg:
    """What is sent through one transport, with the repositories of the sender and the receiver."""

    plan: Plan
    transport: Transport
    items: list[Item]
    sender: Repository
    receiver: Repository

    @property
    def channel(self) -> str:
        return self.plan.channel
