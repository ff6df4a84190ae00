"""SQS in moto on the sandbox's clock: visibility, delays, deduplication and retention.

A long poll waits in real time: it is a client's connection that is open, also where the clock stands still.
"""

from __future__ import annotations

from typing import Any

from emulator.clock import Clock, stopwatch

_LOOK_SECONDS = 1.0
"""How often a long poll looks for what the clock has made visible."""


def follow_clock(clock: Clock) -> None:
    """Let SQS, in this whole process, read this clock from now on."""
    from moto.sqs import models

    reading: Any = models
    reading.unix_time = clock.time
    reading.unix_time_millis = lambda: clock.time() * 1000
    look: Any = models.SQSBackend.receive_message
    if getattr(look, "polls", False):
        return

    def receive_message(
        backend: Any, queue_name: str, count: int, wait_seconds_timeout: int, *given: Any, **named: Any
    ) -> Any:
        until = stopwatch() + wait_seconds_timeout
        while True:
            found = look(backend, queue_name, count, 0, *given, **named)
            left = until - stopwatch()
            if found or left <= 0:
                return found
            backend.get_queue(queue_name).wait_for_messages(min(left, _LOOK_SECONDS))

    polling: Any = receive_message
    polling.polls = True
    reading.SQSBackend.receive_message = polling
