"""The queues that the settings of a gateway name."""

from __future__ import annotations

from emulator.channels.kinds import Broker, Queues
from emulator.channels.registry import KINDS
from emulator.clock import Clock
from sandbox.gateway.settings import GatewaySettings


def open_queues(settings: GatewaySettings, clock: Clock) -> Queues:
    """The queues of the settings; the first connection to a broker is made when a channel is opened."""
    broker = Broker(settings.address, settings.region, settings.timeout)
    return KINDS[settings.queue].connect(broker, clock)
