"""The rules and effects of LocalStack's chaos API."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import msgspec


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


ChaosRules: TypeAlias = tuple[ChaosRule, ...]
