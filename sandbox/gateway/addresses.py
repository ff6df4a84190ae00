"""The addresses for answers: the streams and queues of the topology, each opened on first use."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection

from emulator.channels.channel import Channel
from emulator.clock import Clock
from sandbox.gateway import Gateway
from sandbox.repository import Repository
from schemas.bound import CONTRACT

_LOG = logging.getLogger(__name__)
GONE = "GONE"
"""The status code of a message whose address existed when it was recorded, but no longer does."""


class UnknownAddressError(ValueError):
    """A returnAddress that is not a stream or queue of this sandbox."""

    def __init__(self, address: str, known: Collection[str]) -> None:
        there = ", ".join(sorted(known)) or "none"
        super().__init__(f"returnAddress {address!r} is no stream or queue here; there are: {there}")


class Addresses:
    """Opens and holds a gateway for each address, which is the name of a channel.

    ``known`` returns the present names: a call over the network, which is made for an address on its first
    use and once in a flush. ``others`` are channels that another gateway flushes.
    """

    def __init__(
        self,
        known: Callable[[], Collection[str]],
        open_channel: Callable[[str], Channel],
        repository: Repository,
        clock: Clock,
        *,
        others: Collection[str] = (),
    ) -> None:
        self._known = known
        self._others = others
        self._open_channel = open_channel
        self._repository = repository
        self._clock = clock
        self._gateways: dict[str, Gateway] = {}

    def gateway(self, address: str) -> Gateway:
        """The gateway to an address, opened on first use. Raises ``UnknownAddressError``."""
        if address not in self._gateways:
            self._open(address, self._known())
        return self._gateways[address]

    def _open(self, address: str, known: Collection[str]) -> Gateway:
        if address not in known:
            if (gone := self._gateways.pop(address, None)) is not None:
                gone.channel.close()
            raise UnknownAddressError(address, known)
        if address not in self._gateways:
            self._gateways[address] = Gateway(self._open_channel(address), self._repository, self._clock)
        return self._gateways[address]

    def flush(self) -> int:
        """Send the waiting messages of every address, those of earlier processes included.

        Returns the number of messages sent. Messages to an address that no longer exists are kept but not
        tried again. Raises as ``Gateway.flush``.
        """
        waiting = [each for each in self._repository.unsent_channels() if each not in self._others]
        known = self._known() if waiting else ()
        sent = 0
        for address in waiting:
            try:
                gateway = self._open(address, known)
            except UnknownAddressError as error:
                _LOG.warning("%s: not sent: %s", CONTRACT.failures.misaddressed, error)
                self._repository.record_gone(address, GONE)
            else:
                sent += gateway.flush()
        return sent

    def close(self) -> None:
        for gateway in self._gateways.values():
            gateway.channel.close()
