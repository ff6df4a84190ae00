"""Limits and settings of an account in a region."""

from __future__ import annotations

from typing import Any

import msgspec

from emulator.kinesis.limits import ON_DEMAND_STREAMS, shard_quota
from emulator.kinesis.scope import Scope
from emulator.kinesis.stream_registry import Registry
from emulator.kinesis.stream_state import AccountState

_MINIMUM_SECONDS = 24 * 3600.0


def describe_limits(registry: Registry, _request: dict[str, Any], scope: Scope) -> dict[str, Any]:
    streams = registry.settle_all(scope)
    return {
        "ShardLimit": shard_quota(scope),
        "OpenShardCount": sum(len(stream.open_shards) for stream in streams),
        "OnDemandStreamCount": sum(stream.state.mode == "ON_DEMAND" for stream in streams),
        "OnDemandStreamCountLimit": ON_DEMAND_STREAMS,
        "ChannelCount": 0,
        "ChannelCountLimit": 0,
    }


def describe_account_settings(registry: Registry, _request: dict[str, Any], scope: Scope) -> dict[str, Any]:
    return {"MinimumThroughputBillingCommitment": commitment(registry, scope)}


def update_account_settings(registry: Registry, request: dict[str, Any], scope: Scope) -> dict[str, Any]:
    """Enable or disable the billing commitment. Disabled within 24 hours of its start, it ends after them."""
    status = request["MinimumThroughputBillingCommitment"]["Status"]
    now = registry.clock.time()
    current = _account(registry, scope)
    running = current.commitment == "ENABLED" and (current.ended is None or now < current.ended)
    if status == "ENABLED" and not running:
        current = AccountState(*scope, commitment="ENABLED", started=now, earliest_end=now + _MINIMUM_SECONDS)
        registry.save(current)
    elif status == "ENABLED":
        registry.save(msgspec.structs.replace(current, ended=None))
    elif running:
        registry.save(msgspec.structs.replace(current, ended=max(now, current.earliest_end or now)))
    return describe_account_settings(registry, {}, scope)


def commitment(registry: Registry, scope: Scope) -> dict[str, Any]:
    """The present minimum throughput billing commitment, in botocore's shape."""
    now, account = registry.clock.time(), _account(registry, scope)
    if account.commitment == "DISABLED":
        return {"Status": "DISABLED"}
    if account.ended is not None and now >= account.ended:
        return {"Status": "DISABLED", "StartedAt": account.started, "EndedAt": account.ended}
    status = "ENABLED" if account.ended is None else "ENABLED_UNTIL_EARLIEST_ALLOWED_END"
    return {"Status": status, "StartedAt": account.started, "EarliestAllowedEndAt": account.earliest_end}


def _account(registry: Registry, scope: Scope) -> AccountState:
    return registry.accounts.get(scope) or AccountState(*scope)
