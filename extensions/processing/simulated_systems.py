"""Simulated outside systems: they answer by a script, unless a fault strikes."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from emulator.channels.channel import Outcome, PublishRefusedError, PublishUnknownError, Receipt
from emulator.channels.channel_faults import ChannelFaults
from emulator.clock import Clock
from emulator.faults.fault_engine import FaultEngine
from emulator.kinesis.batches import Entry
from extensions.processing.processing_errors import BusinessError, TechnicalError, ValidationError
from rdss_sandbox.text.durations import seconds

CHANNEL: Final = "outside/{}"
"""The channel of an outside system, for faults; ``outside/*`` matches all of them."""


@dataclass(frozen=True, slots=True)
class ScriptedAnswer:
    """One answer. ``seconds`` is its delay, or how long the system is down from this call on."""

    kind: Literal["ok", "business", "validation", "error", "timeout", "slow", "down"]
    text: str = ""
    seconds: float = 0.0

    def __str__(self) -> str:
        if self.kind == "error":
            return self.text
        length = f" {self.seconds:g}s" if self.seconds else ""
        return f"{self.kind}{length}" + (f": {self.text}" if self.text else "")


def read_answer(written: str) -> ScriptedAnswer:
    """Parse an answer of a script. Raises ValueError, which lists the valid forms.

    The forms are ``ok``, ``ok: text``, ``business: why``, ``validation: why``, ``500``, ``timeout 5s``,
    ``slow 2s`` and ``down 1m``.
    """
    head, _, text = (part.strip() for part in written.partition(":"))
    word, _, length = head.partition(" ")
    if word in _ANSWERS_WITH_TEXT:
        return ScriptedAnswer(_ANSWERS_WITH_TEXT[word], text)
    if word.isdecimal() and 500 <= int(word) <= 599:
        return ScriptedAnswer("error", word)
    if word in _ANSWERS_WITH_DURATION and (length or word == "timeout"):
        return ScriptedAnswer(_ANSWERS_WITH_DURATION[word], seconds=seconds(length or "30s"))
    raise ValueError(
        f"{written!r} is no answer of an outside system; "
        "write ok, ok: TEXT, business: WHY, validation: WHY, 500, timeout 30s, slow 2s or down 1m"
    )


_ANSWERS_WITH_TEXT: Final[dict[str, Literal["ok", "business", "validation"]]] = {
    "ok": "ok",
    "business": "business",
    "validation": "validation",
}
_ANSWERS_WITH_DURATION: Final[dict[str, Literal["timeout", "slow", "down"]]] = {
    "timeout": "timeout",
    "slow": "slow",
    "down": "down",
}


class SimulatedSystem:
    """One simulated system. Each call takes the next answer of the script; an empty script answers ok."""

    def __init__(
        self, name: str, clock: Clock, fault_engine: FaultEngine | None = None, script: Iterable[str] = ()
    ) -> None:
        self.name = name
        self.received: list[bytes] = []
        self._clock = clock
        self._script = deque(read_answer(written) for written in script)
        self._down_until = 0.0
        self._lock = threading.Lock()
        self._faults = ChannelFaults(fault_engine, clock, CHANNEL.format(name), "memory")

    @property
    def planned(self) -> tuple[str, ...]:
        """The answers to the next calls."""
        with self._lock:
            return tuple(str(answer) for answer in self._script)

    def script(self, answers: Iterable[str]) -> None:
        """Replace the script. Raises ValueError for an answer that ``read_answer`` refuses."""
        read = [read_answer(written) for written in answers]
        with self._lock:
            self._script = deque(read)
            self._down_until = 0.0

    def call(self, request: bytes, key: str = "") -> bytes:
        """Call the system. Raises BusinessError, ValidationError, TechnicalError and TimeoutError."""
        answers: list[bytes] = []

        def put(entries: Sequence[Entry]) -> list[Outcome]:
            answers.extend(self._answer(data) for data, _ in entries)
            return [Receipt("outside", str(len(self.received)))] * len(entries)

        (outcome,) = self._faults.publish([(request, key)], put)
        if isinstance(outcome, (PublishRefusedError, PublishUnknownError)):
            raise TechnicalError(f"{self.name} failed: {outcome}") from outcome
        return answers[-1]

    def _answer(self, request: bytes) -> bytes:
        answer = self._take_answer()
        if answer.kind in {"timeout", "slow"}:
            self._clock.wait(answer.seconds)
        match answer.kind:
            case "down":
                raise TechnicalError(f"{self.name} is down")
            case "error":
                raise TechnicalError(f"{self.name} answered {answer.text}")
            case "timeout":
                raise TimeoutError(f"{self.name} did not answer in {answer.seconds:g} s")
        self.received.append(request)
        if answer.kind == "business":
            raise BusinessError(answer.text or f"{self.name} refused it")
        if answer.kind == "validation":
            raise ValidationError(answer.text or f"{self.name} says that it is not valid")
        return answer.text.encode()

    def _take_answer(self) -> ScriptedAnswer:
        now = self._clock.time()
        with self._lock:
            if now < self._down_until:
                return ScriptedAnswer("down")
            answer = self._script.popleft() if self._script else ScriptedAnswer("ok")
            if answer.kind == "down":
                self._down_until = now + answer.seconds
            return answer


class SimulatedSystems:
    """The outside systems by name; the ``Caller`` of a sandbox's processing."""

    def __init__(self, systems: Iterable[SimulatedSystem]) -> None:
        self.systems = {system.name: system for system in systems}

    def __call__(self, target: str, request: bytes) -> bytes:
        if target not in self.systems:
            raise TechnicalError(
                f"there is no outside system {target!r}; there are {', '.join(self.systems) or 'none'}"
            )
        return self.systems[target].call(request)
