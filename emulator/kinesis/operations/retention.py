"""How long records are kept: 24 hours to 365 days."""

from __future__ import annotations

from typing import Any

from emulator.kinesis.errors import invalid_argument
from emulator.kinesis.scope import Scope
from emulator.kinesis.stream_registry import Registry, changed

MIN_HOURS, MAX_HOURS = 24, 8760


def increase_stream_retention_period(
    registry: Registry, request: dict[str, Any], scope: Scope
) -> dict[str, Any]:
    """Keep records for longer from now on. Records that have been trimmed stay gone."""
    stream = registry.find_active(request, scope)
    hours, existing = _hours(request), stream.state.retention_hours
    if hours < existing:
        raise invalid_argument(
            f"Requested retention period ({hours} hours) for stream {stream.name} can not be shorter than "
            f"existing retention period ({existing} hours). Use DecreaseRetentionPeriod API."
        )
    # Noted before retention grows: the longer one must not move the horizon back.
    stream.advance_horizon(registry.now_ms())
    registry.save(changed(stream.state, retention_hours=hours, **registry.updating()))
    return {}


def decrease_stream_retention_period(
    registry: Registry, request: dict[str, Any], scope: Scope
) -> dict[str, Any]:
    stream = registry.find_active(request, scope)
    hours, existing = _hours(request), stream.state.retention_hours
    if hours > existing:
        raise invalid_argument(
            f"Requested retention period ({hours} hours) for stream {stream.name} can not be longer than "
            f"existing retention period ({existing} hours). Use IncreaseRetentionPeriod API."
        )
    registry.save(changed(stream.state, retention_hours=hours, **registry.updating()))
    return {}


def _hours(request: dict[str, Any]) -> int:
    hours: int = request["RetentionPeriodHours"]
    if hours < MIN_HOURS:
        raise invalid_argument(
            f"Minimum allowed retention period is {MIN_HOURS} hours. "
            f"Requested retention period ({hours} hours) is too short."
        )
    if hours > MAX_HOURS:
        raise invalid_argument(
            f"Maximum allowed retention period is {MAX_HOURS} hours. "
            f"Requested retention period ({hours} hours) is too long."
        )
    return hours
