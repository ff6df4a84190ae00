"""Replication to downstream sandboxes: one thread for each posts shipments of the transaction log."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Final

import httpx
import msgspec

from emulator.destinations import Destinations, ForbiddenError
from emulator.http.outgoing import checked_client
from extensions.topics.engine.replication import DownstreamPosition, Replication, Shipment
from extensions.topics.engine.topic_definitions import BadDefinitionError
from rdss_sandbox.shapes.refusals import Refusal
from rdss_sandbox.shapes.topics import Downstream

PATH: Final = "/topics/replication"
_RETRY_SECONDS: Final = 1.0
_PROBE_SECONDS: Final = 2.0
"""Both are real seconds: whether another process answers does not depend on the sandbox's clock."""
_PATIENCE: Final = httpx.Timeout(10.0, connect=3.0)
_STOPPING_SECONDS: Final = 15.0
_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(DownstreamPosition).decode


class _UnusableError(Exception):
    """The server that answers is not a downstream sandbox."""


class TopicLinks:
    """A thread for each downstream of ``replication``, from ``start`` until they are closed.

    A downstream is one of ``destinations``, whenever something is sent.
    """

    def __init__(
        self, replication: Replication, destinations: Destinations, failed: Callable[[Exception], None]
    ) -> None:
        self._replication = replication
        self._destinations = destinations
        self._failed = failed
        self._links: list[_Link] = []

    def start(self, downstreams: tuple[Downstream, ...]) -> None:
        """Go to each of them, as ``replication`` knows them."""
        self._links = [
            _Link(self._replication, each, self._destinations, self._failed) for each in downstreams
        ]

    def point(self, downstreams: tuple[Downstream, ...]) -> None:
        """Replace the downstreams. Raises BadDefinitionError and then changes nothing."""
        self._replication.check(downstreams)
        for each in downstreams:
            try:
                self._destinations.check(each.url)
            except ForbiddenError as error:
                raise BadDefinitionError(f"downstream {each.name!r}: {error}") from error
        self.close()
        self._replication.point(downstreams)
        self.start(downstreams)

    def close(self) -> None:
        """Stop each thread after its current shipment."""
        for link in self._links:
            link.stop()
        for link in self._links:
            link.join()
        self._links = []


class _Link:
    def __init__(
        self,
        replication: Replication,
        downstream: Downstream,
        destinations: Destinations,
        failed: Callable[[Exception], None],
    ) -> None:
        self._replication = replication
        self._destinations = destinations
        self._downstream = downstream
        self._name = downstream.name
        self._failed = failed
        self._more = threading.Event()
        self._stopped = threading.Event()
        replication.on_more(self._name, self._more.set)
        self._thread = threading.Thread(target=self._run, name=f"downstream {self._name}", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._more.set()

    def join(self) -> None:
        self._thread.join(_STOPPING_SECONDS)

    def _run(self) -> None:
        downstream = self._downstream
        headers = {"authorization": f"Bearer {downstream.token}"} if downstream.token else {}
        headers |= {"x-user-id": downstream.user} if downstream.user else {}
        while not self._stopped.is_set():
            try:
                with checked_client(self._destinations, _PATIENCE) as http:
                    http.base_url = downstream.url.rstrip("/")
                    http.headers.update(headers)
                    self._ship(http)
            except (httpx.HTTPError, _UnusableError) as error:
                self._replication.lose(self._name, str(error) or repr(error))
            except Exception as error:  # noqa: BLE001 -- the log keeps the entries, so the next try sends them
                if not self._stopped.is_set():
                    self._replication.lose(self._name, repr(error))
                    self._failed(error)
            self._stopped.wait(_RETRY_SECONDS)

    def _ship(self, http: httpx.Client) -> None:
        """Send shipments from the position of the downstream on, until the link is stopped."""
        replication, name = self._replication, self._name
        # No log has the position -1, so this shipment is not taken and the answer tells the real position.
        position = self._post(http, Shipment(replication.identity, -1, -1))
        replication.begin(name, position)
        at, scanned, log = position.number, position.number, position.log
        while not self._stopped.is_set():
            self._more.clear()
            shipment = replication.shipment(name, at, scanned)
            if not shipment.entries and shipment.upto > scanned:
                scanned = shipment.upto
                replication.acknowledge(name, scanned)
                continue
            if not shipment.entries and self._more.wait(_PROBE_SECONDS):
                continue
            position = self._post(http, shipment)
            # A downstream that was killed continues from the position that it had stored.
            at = scanned = position.number
            if position.log != log:
                log = position.log
                replication.begin(name, position)
            replication.acknowledge(name, at)
            if position.refused:
                replication.refuse(name, position.refused)
                self._stopped.wait(_RETRY_SECONDS)

    def _post(self, http: httpx.Client, shipment: Shipment) -> DownstreamPosition:
        body = _encode(shipment)

        def sent() -> Iterator[bytes]:
            yield body
            # httpx asks for the next chunk only after it has sent the body.
            self._replication.sent(self._name, shipment.upto)

        answer = http.post(PATH, content=sent(), headers={"content-type": "application/json"})
        if answer.is_error:
            raise _UnusableError(_why(answer))
        try:
            return _decode(answer.content)
        except msgspec.DecodeError:
            raise _UnusableError(f"{answer.request.url} is no topics port of a sandbox") from None


def _why(answer: httpx.Response) -> str:
    try:
        return msgspec.json.decode(answer.content, type=Refusal).error.message
    except msgspec.DecodeError:
        return f"{answer.request.url} answered {answer.status_code}; is it a sandbox's topics port?"
