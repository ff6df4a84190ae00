"""Clients that do it wrong, each in one way, as people do."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from emulator.channels.channel import Channel, Delivery, PublishRefusedError, Receipt
from emulator.channels.checkpoints import Checkpoints
from emulator.rng import new_uuid
from sandbox.receiver import Arrival
from sandbox.repository import ArrivalStatus, Repository
from sandbox.scenarios.client_environment import ClientEnvironment
from sandbox.scenarios.scenario import INPUT
from sandbox.scenarios.scenario_client import OURS, Client, OurReceiver
from schemas.rdss.peek import peek
from schemas.rdss.sequence import split_raw

Around = Callable[[ClientEnvironment, Channel], Channel]


class _SiteWith:
    """A site whose input is seen through something."""

    def __init__(self, site: ClientEnvironment, around: Around) -> None:
        self._site = site
        self._around = around

    def __getattr__(self, name: str) -> Any:
        return getattr(self._site, name)

    def open(self, name: str, checkpoints: Checkpoints | None = None) -> Channel:
        channel = self._site.open(name, checkpoints)
        return self._around(self._site, channel) if name == INPUT else channel


class _Seen:
    """A channel of which the client only takes note of some deliveries."""

    def __init__(self, channel: Channel, noted: Callable[[Delivery], bool]) -> None:
        self._channel = channel
        self._noted = noted
        self.name = channel.name

    def __getattr__(self, name: str) -> Any:
        return getattr(self._channel, name)

    def read(self, **how: Any) -> list[Delivery]:
        return [each for each in self._channel.read(**how) if self._noted(each)]


def _noting(noted: Callable[[ClientEnvironment, Delivery], bool]) -> Client:
    def receiver(site: ClientEnvironment) -> OurReceiver:
        seen = _SiteWith(site, lambda site, channel: _Seen(channel, lambda each: noted(site, each)))
        return OurReceiver(seen)

    return Client(OURS.sender, receiver)


def _number(shard: str) -> int:
    return int(shard.rpartition("-")[2])


FIRST_SHARD_ONLY = _noting(lambda _, each: _number(each.shard) == 0)
SKIPS_THE_OLD = _noting(lambda site, each: site.clock.time() - each.arrived < 600)


def knows_no_children(shards: int) -> Client:
    """Reads the shards that were there when it was written, to their end, and no others."""
    return _noting(lambda _, each: _number(each.shard) < shards)


class Forgetful(Repository):
    """Never knows a message."""

    def arrival_status(self, *_: object) -> ArrivalStatus:
        return ArrivalStatus.NEW


FORGETS = Client(OURS.sender, lambda site: OurReceiver(site, Forgetful(site.receiver_store, site.clock)))


class _Naive:
    """Reads, works, commits: without a transaction, without judging, without knowing messages."""

    def __init__(self, site: ClientEnvironment) -> None:
        self.site = site
        self._repository = Repository(site.receiver_store, site.clock)
        self._store = sqlite3.connect(site.receiver_store, isolation_level=None)
        self.channel = site.open(INPUT, self._repository.checkpoints(INPUT))

    def receive(self, limit: int, wait: float) -> int:
        deliveries = self.channel.read(limit=limit, wait=wait)
        for each in deliveries:
            self.take(each)
        return len(deliveries)

    def take(self, delivery: Delivery) -> None:
        self.work(delivery.data)
        self.channel.commit(delivery)

    def work(self, data: bytes, parts: int = 1) -> None:
        self.site.process(Arrival(data, peek(data), parts), self._store)

    def close(self) -> None:
        self._store.close()
        self._repository.close()
        self.channel.close()


class _CommitsFirst(_Naive):
    def take(self, delivery: Delivery) -> None:
        self.channel.commit(delivery)
        self.work(delivery.data)


class _KnowsSequenceNumbers(_Naive):
    """Takes the broker's number for the message's identity."""

    def __init__(self, site: ClientEnvironment) -> None:
        super().__init__(site)
        self._known: set[tuple[str, str]] = set()

    def take(self, delivery: Delivery) -> None:
        place = delivery.shard, delivery.sequence_number
        if place not in self._known:
            self._known.add(place)
            super().take(delivery)


class _JoinsAsTheyCome(_Naive):
    """Puts parts together in the order in which they arrive."""

    def __init__(self, site: ClientEnvironment) -> None:
        super().__init__(site)
        self._parts: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)

    def take(self, delivery: Delivery) -> None:
        message = json.loads(delivery.data)
        place = message["messageHeader"]["messageSequence"]
        if place["total"] == 1:
            super().take(delivery)
            return
        parts = self._parts[place["sequence"]]
        parts.append(message)
        if len(parts) == place["total"]:
            first = min(parts, key=lambda part: part["messageHeader"]["messageSequence"]["position"])
            header = json.dumps(first["messageHeader"]).encode()
            body = "".join(part["messageBody"] for part in parts).encode()
            self.work(b'{"messageHeader":%b,"messageBody":%b}' % (header, body), place["total"])
        self.channel.commit(delivery)


class _DiesOfPoison(_Naive):
    """Lets one message's error end the process."""

    def work(self, data: bytes, parts: int = 1) -> None:
        json.loads(data)["messageHeader"]["messageId"].strip()
        super().work(data, parts)


class _SkipsPoison(_DiesOfPoison):
    """Catches everything and says nothing."""

    def work(self, data: bytes, parts: int = 1) -> None:
        with contextlib.suppress(Exception):
            super().work(data, parts)


NO_TRANSACTION = Client(OURS.sender, _Naive)
JUDGES_NOTHING = NO_TRANSACTION
COMMITS_FIRST = Client(OURS.sender, _CommitsFirst)
KNOWS_SEQUENCE_NUMBERS = Client(OURS.sender, _KnowsSequenceNumbers)
JOINS_AS_THEY_COME = Client(OURS.sender, _JoinsAsTheyCome)
DIES_OF_POISON = Client(OURS.sender, _DiesOfPoison)
SKIPS_POISON = Client(OURS.sender, _SkipsPoison)


class _CarelessSender:
    """Publishes without writing anything down: ``tries`` times, what ``left`` says is left."""

    tries = 1

    def __init__(self, site: ClientEnvironment) -> None:
        self.site = site
        self.channel = site.open(INPUT)

    def send(self, messages: Sequence[bytes]) -> None:
        entries = [(part, new_uuid()) for data in messages for part in self.parts(data)]
        for attempt in range(self.tries):
            if not entries:
                return
            if attempt:
                self.site.clock.wait(0.1 * 2**attempt)
            outcomes = self.channel.publish_many(entries)
            entries = self.left(entries, outcomes)

    def parts(self, data: bytes) -> list[bytes]:
        return split_raw(data, new_id=self.site.new_id)

    def left(self, entries: list[tuple[bytes, str]], outcomes: list[Any]) -> list[tuple[bytes, str]]:
        return [entry for entry, outcome in zip(entries, outcomes, strict=True) if self.fails(outcome)]

    def fails(self, outcome: object) -> bool:
        return not isinstance(outcome, Receipt)

    def close(self) -> None:
        self.channel.close()


class _GivesUpOnThrottle(_CarelessSender):
    tries = 10

    def fails(self, outcome: object) -> bool:
        throttled = isinstance(outcome, PublishRefusedError) and "Throughput" in outcome.code
        return not isinstance(outcome, Receipt) and not throttled


class _LooksAtTheCallOnly(_CarelessSender):
    """The call did not fail, so everything must be there."""

    tries = 10

    def left(self, entries: list[tuple[bytes, str]], outcomes: list[Any]) -> list[tuple[bytes, str]]:
        return entries if all(map(self.fails, outcomes)) else []


class _SendsTheBatchAgain(_CarelessSender):
    """Something failed, so everything goes again."""

    tries = 10

    def left(self, entries: list[tuple[bytes, str]], outcomes: list[Any]) -> list[tuple[bytes, str]]:
        return entries if any(map(self.fails, outcomes)) else []


class _ThreeTries(_CarelessSender):
    tries = 3


class _NeverSplits(_CarelessSender):
    tries = 3

    def parts(self, data: bytes) -> list[bytes]:
        return [data]


GIVES_UP_ON_THROTTLE = Client(_GivesUpOnThrottle, OURS.receiver)
LOOKS_AT_THE_CALL_ONLY = Client(_LooksAtTheCallOnly, OURS.receiver)
SENDS_THE_BATCH_AGAIN = Client(_SendsTheBatchAgain, OURS.receiver)
THREE_TRIES = Client(_ThreeTries, OURS.receiver)
NEVER_SPLITS = Client(_NeverSplits, OURS.receiver)
