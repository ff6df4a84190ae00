"""What becomes of messages in an integration that a page shows."""

from __future__ import annotations

from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from emulator.clock import Clock
from emulator.events import Events
from emulator.faults.fault_engine import FaultEngine
from emulator.rng import Chance, new_uuid
from extensions.processing import NewMessage, Processing
from extensions.processing.integration import build_routes, build_systems
from extensions.processing.integration_file import read_integration


def lived(path: Path, then: str) -> None:
    """Run ``then`` with what leads messages through the integration of the file.

    ``send(service, operation, body, ...)`` and ``later()``, when all intervals are over, give the state of
    the last message; ``code()``, ``errors()`` and ``failed()`` what is known of it; ``systems`` those
    that it calls.
    """
    clock, integration = Clock(frozen_at=1_790_000_000.0), read_integration(path)
    events = Events(clock)
    with ExitStack() as stack:
        stage = stack.enter_context(closing(FaultEngine(Chance(5), clock, events)))
        outside = build_systems(integration, clock, stage)
        process = Processing(
            path.with_name(f"{new_uuid()}.sqlite3"),
            build_routes(integration),
            outside,
            clock,
            events,
            parameters=integration.parameters,
        )
        stack.enter_context(closing(process))
        sent: list[int] = []

        def message() -> Any:
            return process.store.message(sent[-1])

        def send(service: str, operation: str, body: str = "{}", **given: Any) -> str:
            clock.advance(1)
            trace = {"source": "CRM", "correlation": new_uuid(), "timestamp": clock.time()} | given
            new = NewMessage(service=service, operation=operation, body=body.encode(), **trace)
            number = process.receive(new).number
            assert number is not None
            sent.append(number)
            process.drain()
            return str(message().state)

        def later() -> str:
            clock.advance(600)
            process.queue_due()
            process.drain()
            return str(message().state)

        scene = {
            "send": send,
            "later": later,
            "code": lambda: message().error_code,
            "errors": lambda: message().business_errors,
            "failed": lambda: message().failed,
            "systems": outside.systems,
        }
        exec(compile(then, str(path), "exec"), scene)
