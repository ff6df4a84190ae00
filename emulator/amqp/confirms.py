"""The confirms of one channel's publishes: of what a broker has taken, and of what goes on to another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, takewhile
from operator import attrgetter
from typing import NamedTuple, cast


class PublishConfirm(NamedTuple):
    """A confirm for the publisher; it is a nack unless ``acked``."""

    tag: int
    multiple: bool
    acked: bool


@dataclass(slots=True)
class _Publish:
    tag: int
    left: int
    heard: bool
    acked: bool = False


class Confirms:
    """The confirms of one channel in confirm mode.

    The client and the broker count publishes separately, where a fault comes between them. A refused publish
    has only a tag of the client, a repeated one also a second tag of the broker. A publish is confirmed when
    the broker has answered all its copies. It is acked if one of them was: a nack means that no copy arrived.
    """

    def __init__(self) -> None:
        self._client = 0
        self._broker = 0
        self._waiting: dict[int, int | _Publish] = {}
        """The publishes by the broker's tag. One that went to it once, as it is, is only the client's tag."""
        self._answered: list[PublishConfirm] = []
        """Those of which the client has not heard. One that is ``multiple`` is of several."""

    @property
    def last(self) -> int:
        """The client's tag of its latest publish."""
        return self._client

    def note_passed(self, times: int = 1) -> int:
        """Count the client's next publishes, which go to the broker as they are; return its last tag."""
        for _ in range(times):
            self._client += 1
            self._broker += 1
            self._waiting[self._broker] = self._client
        return self._broker

    def note_taken(self, times: int) -> None:
        """Count the client's next publishes, which are acked at once. None may wait."""
        self._client += times
        self._broker += times
        self._answered.append(PublishConfirm(self._client, times > 1, True))

    def note_forwarded(self, times: int, *, heard: bool) -> None:
        """Count the client's next publish, which goes to the broker ``times``.

        Unless ``heard``, the broker's answer is not passed to the client.
        """
        self._client += 1
        publish = _Publish(self._client, times, heard)
        for _ in range(times):
            self._broker += 1
            self._waiting[self._broker] = publish

    def note_refused(self) -> None:
        """Count the client's next publish, which does not reach the broker."""
        self._client += 1

    def pass_answer(self, tag: int) -> bool:
        """Count an answer for one publish that the client can have as it is; return False for any other."""
        if self._waiting.get(tag) != tag:
            return False
        del self._waiting[tag]
        return True

    def answer(self, tag: int, *, multiple: bool = False, acked: bool) -> None:
        """Note an answer of the broker, by its tag; ``multiple`` with tag 0 means all."""
        if multiple and (not tag or tag >= self._broker):
            publishes = [*self._waiting.values()]
            self._waiting.clear()
        elif multiple:
            publishes = [self._waiting.pop(each) for each in list(takewhile(tag.__ge__, self._waiting))]
        else:
            publishes = [self._waiting.pop(tag)] if tag in self._waiting else []
        if set(map(type, publishes)) == {int}:
            self._answered.append(PublishConfirm(cast("int", publishes[-1]), len(publishes) > 1, acked))
            return
        for publish in publishes:
            if isinstance(publish, int):
                self._answered.append(PublishConfirm(publish, False, acked))
                continue
            publish.left -= 1
            publish.acked |= acked
            if not publish.left and publish.heard:
                self._answered.append(PublishConfirm(publish.tag, False, publish.acked))

    def take(self) -> Iterator[PublishConfirm]:
        """Yield the confirms of all that is answered. Neighbours of one kind share one.

        Publishes that still wait must have come later than neighbours.
        """
        answered, self._answered = self._answered, []
        for acked, group in groupby(answered, key=attrgetter("acked")):
            *before, last = group
            yield PublishConfirm(last.tag, bool(before) or last.multiple, acked)
