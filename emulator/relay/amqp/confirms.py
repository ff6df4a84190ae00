"""Publisher confirms when the broker's publishes differ from the client's, because of faults."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile
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


class RelayedConfirms:
    """The confirms of one channel in confirm mode.

    The client and the broker count publishes separately. A refused publish has only a tag of the client, a
    repeated one also a second tag of the broker. A publish is confirmed when the broker has answered all its
    copies. It is acked if one of them was, so that a nack always means that no copy arrived.
    """

    def __init__(self) -> None:
        self._client = 0
        self._broker = 0
        self._waiting: dict[int, int | _Publish] = {}
        """The publishes by the broker's tag. One that went to it once, as it is, is only the client's tag."""

    @property
    def last(self) -> int:
        """The client's tag of its latest publish."""
        return self._client

    def note_passed(self) -> None:
        """Count the client's next publish, which goes to the broker as it is."""
        self._client += 1
        self._broker += 1
        self._waiting[self._broker] = self._client

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

    def translate_answer(self, tag: int, *, multiple: bool, acked: bool) -> list[PublishConfirm]:
        """Translate an answer of the broker to confirms for the client; ``multiple`` with tag 0 means all."""
        if multiple:
            tags = list(takewhile(lambda each: not tag or each <= tag, self._waiting))
        else:
            tags = [tag] if tag in self._waiting else []
        done: list[PublishConfirm] = []
        for each in tags:
            publish = self._waiting.pop(each)
            if not isinstance(publish, _Publish):
                done.append(PublishConfirm(publish, False, acked))
                continue
            publish.left -= 1
            publish.acked |= acked
            if not publish.left and publish.heard:
                done.append(PublishConfirm(publish.tag, False, publish.acked))
        if len(done) > 1 and len({confirm.acked for confirm in done}) == 1:
            # Publishes that still wait came later, and have greater tags at both peers.
            return [done[-1]._replace(multiple=True)]
        return done
