"""The settings of a gateway: its queues, their address and its time-outs. They are read once, at the edge."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from emulator.settings.settings import FILE_NAME, SettingsError

Seconds = Annotated[float, msgspec.Meta(gt=0)]
Name = Annotated[str, msgspec.Meta(min_length=1)]


class GatewaySettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings that the specification requires ("Message Gateway"), and those of the sender.

    ``queue`` is the type of queue, ``address`` an AWS endpoint or an AMQP URL (``mock`` needs none). Requests
    go to the channel ``send`` and return messages arrive on ``receive``; on RabbitMQ no other application may
    read it. ``retry_interval`` is the pause between two reads for a return message, ``timeout`` the time to
    wait for it, both in seconds. ``tenant`` is the institution's JiscID.
    """

    queue: Literal["kinesis", "rabbitmq", "mock"] = "kinesis"
    address: str = "http://127.0.0.1:4566"
    region: str = "us-east-1"
    send: Name = "input"
    receive: Name = "output"
    retry_interval: Seconds = 0.2
    timeout: Seconds = 30.0
    generator: Name = "rdss-sandbox"
    tenant: int = 1
    machine: Name = "rdss-sandbox-gateway"
    machine_address: Name = "localhost"


def read_gateway_settings(environment: Mapping[str, str], directory: Path | None = None) -> GatewaySettings:
    """Read ``SANDBOX_GATEWAY_<NAME>``, else ``[gateway]`` in the directory's ``sandbox.toml``, else defaults.

    Raises ``SettingsError``.
    """
    merged = _from_file((directory or Path()) / FILE_NAME)
    for name in GatewaySettings.__struct_fields__:
        if (text := environment.get(f"SANDBOX_GATEWAY_{name.upper()}")) is not None:
            merged[name] = text
    try:
        return msgspec.convert(merged, GatewaySettings, strict=False)
    except msgspec.ValidationError as error:
        raise SettingsError(f"gateway setting refused: {error}") from error


def _from_file(path: Path) -> dict[str, Any]:
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8")).get("gateway", {})
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path} cannot be read: {error}") from error
    if not isinstance(table, dict):
        raise SettingsError(f"{path}: [gateway] must be a table of settings")
    return dict(table)
