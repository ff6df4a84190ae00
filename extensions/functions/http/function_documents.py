"""Functions, versions and aliases as Lambda's API shows them."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import Any

from extensions.functions.engine.function import LATEST, Alias, AsyncSettings, Function, Version


def describe_version(function: Function, version: Version, *, qualified: bool = False) -> dict[str, Any]:
    """A FunctionConfiguration. ``$LATEST`` has its qualifier in the ARN where it was asked for by it."""
    arn = function.place.arn
    if version.number != LATEST or qualified:
        arn = f"{arn}:{version.number}"
    shown: dict[str, Any] = {
        "FunctionName": function.name,
        "FunctionArn": arn,
        "Runtime": version.runtime,
        "Role": version.role,
        "Handler": version.handler,
        "CodeSize": version.code.size,
        "Description": version.description,
        "Timeout": version.timeout,
        "MemorySize": version.memory,
        "LastModified": _time(version.modified),
        "CodeSha256": version.code.sha256,
        "Version": version.number,
        "TracingConfig": {"Mode": "PassThrough"},
        "RevisionId": version.revision,
        "State": "Active",
        "LastUpdateStatus": "Successful",
        "PackageType": "Zip",
        "Architectures": list(version.architectures),
        "EphemeralStorage": {"Size": version.storage},
        "SnapStart": {"ApplyOn": "None", "OptimizationStatus": "Off"},
        "RuntimeVersionConfig": {"RuntimeVersionArn": _runtime_arn(function.region, version.runtime)},
        "LoggingConfig": {"LogFormat": "Text", "LogGroup": f"/aws/lambda/{function.name}"},
    }
    if version.environment:
        shown["Environment"] = {"Variables": version.environment}
    if version.dead_letters:
        shown["DeadLetterConfig"] = {"TargetArn": version.dead_letters}
    return shown


def describe_alias(function: Function, alias: Alias) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "AliasArn": f"{function.place.arn}:{alias.name}",
        "Name": alias.name,
        "FunctionVersion": alias.version,
        "Description": alias.description,
        "RevisionId": alias.revision,
    }
    if alias.weights:
        shown["RoutingConfig"] = {"AdditionalVersionWeights": alias.weights}
    return shown


def describe_asynchronous(function: Function, found: AsyncSettings) -> dict[str, Any]:
    """A FunctionEventInvokeConfig."""
    return {
        "FunctionArn": f"{function.place.arn}:{LATEST}",
        "LastModified": found.modified,
        "MaximumRetryAttempts": found.retries,
        "MaximumEventAgeInSeconds": found.age,
        "DestinationConfig": {
            "OnSuccess": {"Destination": found.on_success} if found.on_success else {},
            "OnFailure": {"Destination": found.on_failure} if found.on_failure else {},
        },
    }


def _runtime_arn(region: str, runtime: str) -> str:
    """An ARN of a runtime's version, which AWS ends with the digest of an image; there is none here."""
    return f"arn:aws:lambda:{region}::runtime:{hashlib.sha256(runtime.encode()).hexdigest()}"


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "+0000"
