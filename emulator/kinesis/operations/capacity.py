"""A stream's capacity: its mode, warm throughput, maximum record size and record distribution."""

from __future__ import annotations

from typing import Any

from emulator.kinesis.errors import invalid_argument
from emulator.kinesis.operations.account import commitment
from emulator.kinesis.scope import Scope
from emulator.kinesis.stream_registry import Registry, changed


def update_stream_mode(registry: Registry, request: dict[str, Any], scope: Scope) -> dict[str, Any]:
    stream = registry.find_active(request, scope)
    mode, warm = request["StreamModeDetails"]["StreamMode"], request.get("WarmThroughputMiBps")
    if warm is not None:
        require_warm_throughput(registry, mode, stream.state.scope)
    fields: dict[str, Any] = {"mode": mode, "warm_mibps": warm}
    if mode == "PROVISIONED":
        # Only the ON_DEMAND mode has another one.
        fields["distribution"] = "USER_PARTITION_KEY"
    registry.save(changed(stream.state, **fields, **registry.updating()))
    return {}


def update_stream_warm_throughput(
    registry: Registry, request: dict[str, Any], scope: Scope
) -> dict[str, Any]:
    stream = registry.find_active(request, scope)
    require_warm_throughput(registry, stream.state.mode, stream.state.scope)
    warm = request["WarmThroughputMiBps"]
    registry.save(changed(stream.state, warm_mibps=warm, **registry.updating()))
    throughput = {"TargetMiBps": warm, "CurrentMiBps": warm}
    return {"StreamARN": stream.arn, "StreamName": stream.name, "WarmThroughput": throughput}


def update_max_record_size(registry: Registry, request: dict[str, Any], scope: Scope) -> dict[str, Any]:
    stream = registry.find_active(request, scope)
    registry.save(changed(stream.state, max_record_kib=request["MaxRecordSizeInKiB"], **registry.updating()))
    return {}


def update_stream_record_distribution_strategy(
    registry: Registry, request: dict[str, Any], scope: Scope
) -> dict[str, Any]:
    stream = registry.find_active(request, scope)
    strategy = request["RecordDistributionStrategy"]
    if strategy == "AUTO" and stream.state.mode != "ON_DEMAND":
        raise invalid_argument(
            "RecordDistributionStrategy AUTO is supported only for streams in the ON_DEMAND mode; stream "
            f"{stream.name} under account {stream.account} is in the {stream.state.mode} mode."
        )
    registry.save(changed(stream.state, distribution=strategy))
    return {}


def require_warm_throughput(registry: Registry, mode: str, scope: Scope) -> None:
    """Raise InvalidArgumentException unless a stream in ``mode`` may have warm throughput."""
    if mode != "ON_DEMAND":
        raise invalid_argument("WarmThroughputMiBps is supported only for streams in the ON_DEMAND mode.")
    if commitment(registry, scope)["Status"] == "DISABLED":
        raise invalid_argument(
            "WarmThroughputMiBps needs MinimumThroughputBillingCommitment to be enabled for the account: "
            "call UpdateAccountSettings first."
        )
