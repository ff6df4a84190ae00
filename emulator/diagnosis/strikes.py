"""What the injected faults did lately, so that no client is blamed for it."""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import Final, NamedTuple

from emulator.clock import stopwatch
from emulator.faults.fault import Phase
from emulator.faults.registry import TYPES
from rdss_sandbox.shapes.events import Event

_REFUSING: Final = frozenset(
    name for name, type_ in TYPES.items() if type_.phase in {Phase.CALL, Phase.ENTRY}
)
_CHANGING: Final = frozenset(name for name, type_ in TYPES.items() if type_.phase is Phase.CHANGE)
_MOST: Final = 2_000
_MOST_MESSAGES: Final = 50_000


class _Strike(NamedTuple):
    moment: float
    at: float
    fault: str
    type: str
    channel: str


class Strikes:
    """Follows the events of injections. ``note_event`` is a subscriber of the event stream."""

    def __init__(self) -> None:
        self._recent: deque[_Strike] = deque(maxlen=_MOST)
        self._messages: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._channels: dict[str, str] = {}
        self._changed: dict[str, str] = {}

    def note_event(self, event: Event) -> None:
        fields = event.fields
        if event.kind != "fault.injected" or "fault" not in fields:
            return
        fault, type_, channel = fields["fault"], fields["type"], fields["channel"]
        self._recent.append(_Strike(stopwatch(), event.time, fault, type_, channel))
        # What was refused comes again, and is as it was.
        if type_ in _REFUSING:
            return
        self._channels[channel] = fault
        if type_ in _CHANGING:
            self._changed[channel] = fault
        if (message_id := fields["message_id"]) is not None:
            self._messages[channel, message_id] = fault
            if len(self._messages) > _MOST_MESSAGES:
                self._messages.popitem(last=False)

    def clear(self) -> None:
        """Forget everything."""
        self._recent.clear()
        self._messages.clear()
        self._channels.clear()
        self._changed.clear()

    def find_refusing(self, stream: str, since: float) -> str:
        """The fault that refused a call of a stream that came at the moment ``since``; empty for none."""
        for strike in reversed(self._recent):
            if strike.moment < since:
                break
            if strike.type in _REFUSING and strike.channel in {stream, ""}:
                return strike.fault
        return ""

    def find_message(self, stream: str, message_id: str | None) -> str:
        """The fault that struck a message of a stream on its way; empty for none.

        A fault that changes messages may have changed the id too, so it is named for all of its stream.
        """
        return self._messages.get((stream, message_id or ""), "") or self._changed.get(stream, "")

    def find_any(self, stream: str) -> str:
        """A fault that struck messages of a stream on their way; empty for none."""
        return self._channels.get(stream, "")
