"""The settings of a gateway: its queues, their address and its time-outs. They are read once, at the edge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec

from emulator.channels.kind_registry import KINDS
from emulator.settings.declarations import setting
from emulator.settings.reading import read_table

Seconds = Annotated[float, msgspec.Meta(gt=0)]
Name = Annotated[str, msgspec.Meta(min_length=1)]


def _check_kind(name: str, kind: str) -> None:
    there = sorted(each.name for each in KINDS.values() if each.broker != "here")
    if kind not in there:
        raise ValueError(f"{name} is {kind!r}: it is one of {', '.join(there)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewaySettings:
    """The settings that the specification requires ("Message Gateway"), and those of the sender.

    ``SANDBOX_GATEWAY_<NAME>``, a key under ``[gateway]`` in ``sandbox.toml`` and docs/settings.md are made of
    each.
    """

    queue: str = setting(
        "kinesis",
        "The kind of queue: kinesis, rabbitmq, mock, or one of an extension; "
        "mock is in this process and needs nothing.",
        check=_check_kind,
    )
    address: str = setting("http://127.0.0.1:4566", "An AWS endpoint, or an AMQP URL; mock needs none.")
    region: str = setting("us-east-1", "The AWS region of the streams.")
    send: Name = setting("input", "The channel that messages are sent to.")
    receive: Name = setting(
        "output", "The channel on which return messages arrive; on RabbitMQ no other application may read it."
    )
    retry_interval: Seconds = setting(0.2, "The pause between two reads for a return message, in seconds.")
    timeout: Seconds = setting(30.0, "The time to wait for a return message, in seconds.")
    generator: Name = setting("rdss-sandbox", "The generator that messages name.")
    tenant: int = setting(1, "The institution's JiscID.")
    machine: Name = setting("rdss-sandbox-gateway", "The machine's identifier in messageHistory.")
    machine_address: Name = setting("localhost", "The machine's address in messageHistory.")


def read_gateway_settings(environment: Mapping[str, str], directory: Path | None = None) -> GatewaySettings:
    """Read ``SANDBOX_GATEWAY_<NAME>``, else ``[gateway]`` in the directory's ``sandbox.toml``, else defaults.

    Raises ``SettingsError``.
    """
    (settings,), _ = read_table((GatewaySettings,), "gateway", {}, environment, directory or Path())
    assert isinstance(settings, GatewaySettings)
    return settings
