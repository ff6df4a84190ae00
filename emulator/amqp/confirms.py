"""The confirms of one channel's publishes: of what a broker has taken, and of what goes on to another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, takewhile
from typing import NamedTuple


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
        self._answered: list[tuple[int, bool]] = []
        """Those of which the client has not heard, and whether they are acked."""

    @property
    def last(self) -> int:
        """The client's tag of its latest publish."""
        return self._client

    def note_passed(self) -> int:
        """Count the client's next publish, which goes to the broker as it is; return the broker's tag."""
        self._client += 1
        self._broker += 1
        self._waiting[self._broker] = self._client
        return self._broker

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
        if multiple:
            tags = list(takewhile(lambda each: not tag or each <= tag, self._waiting))
        else:
            tags = [tag] if tag in self._waiting else []
        for each in tags:
            publish = self._waiting.pop(each)
            if not isinstance(publish, _Publish):
                self._answered.append((publish, acked))
                continue
            publish.left -= 1
            publish.acked |= acked
            if not publish.left and publish.heard:
                self._answered.append((publish.tag, publish.acked))

    def take(self) -> Iterator[PublishConfirm]:
        """Yield the confirms of all that is answered. Neighbours of one kind share one.

        Publishes that still wait must have come later than neighbours.
        """
        answered, self._answered = self._answered, []
        for acked, group in groupby(answered, key=lambda each: each[1]):
            tags = [tag for tag, _ in group]
            yield PublishConfirm(tags[-1], len(tags) > 1, acked)
