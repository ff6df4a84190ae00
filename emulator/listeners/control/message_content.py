"""How the control API tells what is in a message, and the verdict on it."""

from __future__ import annotations

import base64
from typing import Any

import msgspec

from rdss_sandbox.shapes.contract import Violation
from schemas.contract import Contract, Verdict


def render_content(data: bytes | None, contract: Contract) -> dict[str, Any]:
    """The fields of ``MessageDetail`` for a payload; none for a payload that is gone."""
    if data is None:
        return {}
    try:
        raw: dict[str, Any] = {"raw": data.decode()}
    except UnicodeDecodeError:
        return {"raw_base64": base64.b64encode(data).decode()}
    inside = data
    if contract.headers:
        # What is refused has the headers in the message that it is around, and stays the body.
        inside, _ = contract.headers.read(data)
        _, raw["header"] = contract.headers.read(contract.undecorate(data).data)
    try:
        message = msgspec.json.decode(inside)
    except (msgspec.DecodeError, RecursionError):
        return raw
    if not isinstance(message, dict):
        return raw
    if contract.envelope is None:
        return raw | {"body": message}
    header = message.get(contract.envelope.header)
    return raw | {
        "header": header if isinstance(header, dict) else None,
        "body": message.get(contract.envelope.body),
    }


def render_verdict(verdict: Verdict) -> dict[str, Any]:
    """The fields of ``shapes.contract.Verdict``."""
    code = None if verdict.code is None else str(verdict.code)
    return {"code": code, "violations": tuple(Violation(*each) for each in verdict.violations)}
