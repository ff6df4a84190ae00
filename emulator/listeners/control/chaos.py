"""LocalStack's chaos API, for existing scripts: its rules become faults of the sandbox."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http import HTTPStatus
from typing import Final

from emulator.faults.fault import Direction, FaultRefusedError
from emulator.faults.fault_engine import FaultEngine
from emulator.listeners.control.endpoint_routing import ApiError, handles, translate_errors
from rdss_sandbox.api.faults import Chaos
from rdss_sandbox.shapes.chaos import ChaosEffects, ChaosRule, ChaosRules
from rdss_sandbox.shapes.faults import NewFault

_DIRECTIONS: Final = {
    "PutRecord": Direction.PUBLISH,
    "PutRecords": Direction.PUBLISH,
    "GetRecords": Direction.DELIVER,
}
_OURS: Final = "chaos-"


class ChaosResources:
    """``/_localstack/chaos/faults`` and ``/_localstack/chaos/effects``; ``region`` is the sandbox's own."""

    def __init__(self, fault_engine: FaultEngine, region: str) -> None:
        self._fault_engine = fault_engine
        self._region = region
        self._lock = threading.Lock()
        self._rules: ChaosRules = ()
        self._effects = ChaosEffects()

    @handles(Chaos.rules)
    def rules(self) -> ChaosRules:
        with self._lock:
            self._forget_after_reset()
            return self._rules

    @handles(Chaos.replace)
    def replace(self, rules: ChaosRules) -> ChaosRules:
        with self._lock:
            return self._enforce(rules, self._effects)

    @handles(Chaos.extend)
    def extend(self, rules: ChaosRules) -> ChaosRules:
        with self._lock:
            self._forget_after_reset()
            return self._enforce((*self._rules, *rules), self._effects)

    @handles(Chaos.remove)
    def remove(self, rules: ChaosRules | None) -> ChaosRules:
        with self._lock:
            gone = self._rules if rules is None else rules
            return self._enforce(tuple(rule for rule in self._rules if rule not in gone), self._effects)

    @handles(Chaos.effects)
    def effects(self) -> ChaosEffects:
        with self._lock:
            self._forget_after_reset()
            return self._effects

    @handles(Chaos.slow)
    def slow(self, effects: ChaosEffects) -> ChaosEffects:
        with self._lock:
            self._forget_after_reset()
            self._enforce(self._rules, effects)
            return self._effects

    def _forget_after_reset(self) -> None:
        """Forget the rules when a reset of the sandbox has removed their faults."""
        if not any(fault.name.startswith(_OURS) for fault in self._fault_engine.list()):
            self._rules, self._effects = (), ChaosEffects()

    def _enforce(self, rules: ChaosRules, effects: ChaosEffects) -> ChaosRules:
        """Replace our faults by those of ``rules`` and ``effects``. Raises ApiError for an invalid rule."""
        faults = [fault for at, rule in enumerate(rules, 1) for fault in self._build_faults(at, rule)]
        faults += _build_latency_faults(effects)
        for fault in self._fault_engine.list():
            if fault.name.startswith(_OURS):
                self._fault_engine.remove(fault.name)
        with translate_errors((FaultRefusedError, HTTPStatus.BAD_REQUEST, "bad_rule")):
            for new in faults:
                self._fault_engine.add(new)
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
