"""Server-side encryption as a client sees it: the type and the key's name. Nothing is encrypted."""

from __future__ import annotations

from typing import Any

from emulator.kinesis.errors import invalid_argument
from emulator.kinesis.scope import Scope
from emulator.kinesis.stream_registry import Registry, changed


def start_stream_encryption(registry: Registry, request: dict[str, Any], scope: Scope) -> dict[str, Any]:
    """Mark records that are put from now on with EncryptionType KMS."""
    stream = registry.find_active(request, scope)
    _require_kms(request)
    fields: dict[str, Any] = {"encryption": "KMS", "key_id": request["KeyId"]}
    registry.save(changed(stream.state, **fields, **registry.updating()))
    return {}


def stop_stream_encryption(registry: Registry, request: dict[str, Any], scope: Scope) -> dict[str, Any]:
    """Stop marking new records. Records that were put before keep EncryptionType KMS."""
    stream = registry.find_active(request, scope)
    _require_kms(request)
    fields: dict[str, Any] = {"encryption": "NONE", "key_id": None}
    registry.save(changed(stream.state, **fields, **registry.updating()))
    return {}


def _require_kms(request: dict[str, Any]) -> None:
    if request["EncryptionType"] != "KMS":
        raise invalid_argument(
            f"EncryptionType {request['EncryptionType']} is not valid here: the only one is KMS."
        )
