"""Publisher confirms when the broker does not see exactly what the client published: whose tag is whose."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from itertools import takewhile
from typing import NamedTuple


class Confirm(NamedTuple):
    """An acknowledgement for the publisher; not ``acked`` is a nack."""

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
    """Of one channel in confirm mode.

    The client and the broker count publishes on their own: what is refused
    here has a tag of the client's alone, and a second publish one of the
    broker's alone. A publish is confirmed once all of its puts are answered;
    it is acked when any of them was, so that a nack stays a definite no.
    """

    def __init__(self) -> None:
        self._client = 0
        self._broker = 0
        self._waiting: OrderedDict[int, _Publish] = OrderedDict()

    @property
    def last(self) -> int:
        """The client's tag of its latest publish."""
        return self._client

    def forwarded(self, times: int = 1, *, heard: bool = True) -> None:
        """The client's next publish goes to the broker ``times``.

        Not ``heard``: what the broker answers is not for the client.
        """
        self._client += 1
        publish = _Publish(self._client, times, heard)
        for _ in range(times):
            self._broker += 1
            self._waiting[self._broker] = publish

    def refused(self) -> None:
        """The client's next publish does not reach the broker."""
        self._client += 1

    def answered(self, tag: int, *, multiple: bool, acked: bool) -> list[Confirm]:
        """What the client is to hear of the broker's answer; a ``multiple`` of tag 0 is for everything."""
        if multiple:
            tags = list(takewhile(lambda each: not tag or each <= tag, self._waiting))
        else:
            tags = [tag] if tag in self._waiting else []
        done: list[_Publish] = []
        for each in tags:
            publish = self._waiting.pop(each)
            publish.left -= 1
            publish.acked |= acked
            if not publish.left and publish.heard:
                done.append(publish)
        if len(done) > 1 and len({publish.acked for publish in done}) == 1:
            # What still waits was put later, and has greater tags on both sides.
            return [Confirm(done[-1].tag, True, done[-1].acked)]
        return [Confirm(publish.tag, False, publish.acked) for publish in done]
