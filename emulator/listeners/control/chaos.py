"""LocalStack's chaos API, for existing scripts: its rules become faults of the sandbox."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http import HTTPStatus
from typing import Annotated, Final

import msgspec

from emulator.faults.engine import FaultEngine
from emulator.faults.fault import Direction, FaultRefusedError
from emulator.listeners.control.routing import ApiError, Asked, Nothing, Route
from rdss_sandbox.shapes.faults import NewFault

_DIRECTIONS: Final = {
    "PutRecord": Direction.PUBLISH,
    "PutRecords": Direction.PUBLISH,
    "GetRecords": Direction.DELIVER,
}
_OURS: Final = "chaos-"


class ChaosError(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The error with which a call fails."""

    status_code: Annotated[int, msgspec.Meta(ge=400, le=599)] = 503
    code: str = "ServiceUnavailable"


class ChaosRule(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Which calls fail, with which probability and error. A field that is left out matches any call.

    Rules apply to the Kinesis operations that carry messages: ``PutRecord`` and ``PutRecords``, which a
    rule does not tell apart, and ``GetRecords``.
    """

    service: str | None = None
    region: str | None = None
    operation: str | None = None
    probability: Annotated[float, msgspec.Meta(ge=0, le=1)] = 1.0
    error: ChaosError = ChaosError()


class ChaosEffects(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Effects on every call: ``latency`` in milliseconds before its answer."""

    latency: Annotated[int, msgspec.Meta(ge=0, le=3_600_000)] = 0


Rules = tuple[ChaosRule, ...]


class ChaosResources:
    """``/_localstack/chaos/faults`` and ``/_localstack/chaos/effects``; ``region`` is the sandbox's own."""

    def __init__(self, fault_engine: FaultEngine, region: str) -> None:
        self._fault_engine = fault_engine
        self._region = region
        self._lock = threading.Lock()
        self._rules: Rules = ()
        self._effects = ChaosEffects()

    def routes(self) -> list[Route]:
        faults, effects = "/_localstack/chaos/faults", "/_localstack/chaos/effects"
        return [
            Route("GET", faults, "The chaos rules in force", self._list, Rules),
            Route("POST", faults, "Put these chaos rules in place of all", self._replace, Rules, body=Rules),
            Route("PATCH", faults, "Add chaos rules", self._extend, Rules, body=Rules),
            Route("DELETE", faults, "Remove chaos rules", self._remove, Rules, body=Rules | None),
            Route("GET", effects, "What happens to every call", self._read_effects, ChaosEffects),
            Route("POST", effects, "Slow every call", self._slow, ChaosEffects, body=ChaosEffects),
        ]

    def _list(self, _: Asked[Nothing, None]) -> Rules:
        with self._lock:
            self._forget_after_reset()
            return self._rules

    def _replace(self, asked: Asked[Nothing, Rules]) -> Rules:
        with self._lock:
            return self._enforce(asked.body, self._effects)

    def _extend(self, asked: Asked[Nothing, Rules]) -> Rules:
        with self._lock:
            self._forget_after_reset()
            return self._enforce((*self._rules, *asked.body), self._effects)

    def _remove(self, asked: Asked[Nothing, Rules | None]) -> Rules:
        with self._lock:
            gone = self._rules if asked.body is None else asked.body
            return self._enforce(tuple(rule for rule in self._rules if rule not in gone), self._effects)

    def _read_effects(self, _: Asked[Nothing, None]) -> ChaosEffects:
        with self._lock:
            self._forget_after_reset()
            return self._effects

    def _slow(self, asked: Asked[Nothing, ChaosEffects]) -> ChaosEffects:
        with self._lock:
            self._forget_after_reset()
            self._enforce(self._rules, asked.body)
            return self._effects

    def _forget_after_reset(self) -> None:
        """Forget the rules when a reset of the sandbox has removed their faults."""
        if not any(fault.name.startswith(_OURS) for fault in self._fault_engine.list()):
            self._rules, self._effects = (), ChaosEffects()

    def _enforce(self, rules: Rules, effects: ChaosEffects) -> Rules:
        """Replace our faults by those of ``rules`` and ``effects``. Raises ApiError for an invalid rule."""
        wanted = [fault for at, rule in enumerate(rules, 1) for fault in self._build_faults(at, rule)]
        wanted += _build_latency_faults(effects)
        for fault in self._fault_engine.list():
            if fault.name.startswith(_OURS):
                self._fault_engine.remove(fault.name)
        try:
            for new in wanted:
                self._fault_engine.add(new)
        except FaultRefusedError as error:
            raise ApiError(HTTPStatus.BAD_REQUEST, "bad_rule", str(error)) from error
        self._rules, self._effects = rules, effects
        return rules

    def _build_faults(self, number: int, rule: ChaosRule) -> Iterator[NewFault]:
        self._check(rule)
        directions = {_DIRECTIONS[rule.operation]} if rule.operation else set(_DIRECTIONS.values())
        for direction in sorted(directions):
            yield NewFault(
                type="error",
                name=f"{_OURS}{number}-{direction}",
                channel="kinesis:*",
                direction=direction.value,
                toxicity=rule.probability,
                attributes={"code": rule.error.code, "status": rule.error.status_code},
            )

    def _check(self, rule: ChaosRule) -> None:
        known = {
            "service": (rule.service, ("kinesis",)),
            "region": (rule.region, (self._region,)),
            "operation": (rule.operation, tuple(_DIRECTIONS)),
        }
        for name, (given, possible) in known.items():
            if given is not None and given not in possible:
                why = f"{name} {given!r} cannot be struck here; it can be {', '.join(possible)}"
                raise ApiError(HTTPStatus.BAD_REQUEST, "bad_rule", why)


def _build_latency_faults(effects: ChaosEffects) -> list[NewFault]:
    delay = effects.latency / 1000
    return [
        NewFault(
            type="latency",
            name=f"{_OURS}latency-{direction}",
            channel="kinesis:*",
            direction=direction.value,
            attributes={"delay": delay, "most": delay},
        )
        for direction in (Direction.PUBLISH, Direction.DELIVER)
        if delay
    ]
