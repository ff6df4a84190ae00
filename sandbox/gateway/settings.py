"""The settings of a gateway: its queues, their address and its time-outs. They are read once, at the edge."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from emulator.settings.declarations import Setting
from emulator.settings.reading import read_table

Seconds = Annotated[float, msgspec.Meta(gt=0)]
Name = Annotated[str, msgspec.Meta(min_length=1)]


class GatewaySettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings that the specification requires ("Message Gateway"), and those of the sender.

    ``SANDBOX_GATEWAY_<NAME>``, a key under ``[gateway]`` in ``sandbox.toml`` and docs/settings.md are made of
    each.
    """

    queue: Annotated[
        Literal["kinesis", "rabbitmq", "mock"],
        Setting("The type of queue; mock is in this process and needs nothing."),
    ] = "kinesis"
    address: Annotated[str, Setting("An AWS endpoint, or an AMQP URL; mock needs none.")] = (
        "http://127.0.0.1:4566"
    )
    region: Annotated[str, Setting("The AWS region of the streams.")] = "us-east-1"
    send: Annotated[Name, Setting("The channel that messages are sent to.")] = "input"
    receive: Annotated[
        Name,
        Setting("The channel on which return messages arrive; on RabbitMQ no other application may read it."),
    ] = "output"
    retry_interval: Annotated[
        Seconds, Setting("The pause between two reads for a return message, in seconds.")
    ] = 0.2
    timeout: Annotated[Seconds, Setting("The time to wait for a return message, in seconds.")] = 30.0
    generator: Annotated[Name, Setting("The generator that messages name.")] = "rdss-sandbox"
    tenant: Annotated[int, Setting("The institution's JiscID.")] = 1
    machine: Annotated[Name, Setting("The machine's identifier in messageHistory.")] = "rdss-sandbox-gateway"
    machine_address: Annotated[Name, Setting("The machine's address in messageHistory.")] = "localhost"


def read_gateway_settings(environment: Mapping[str, str], directory: Path | None = None) -> GatewaySettings:
    """Read ``SANDBOX_GATEWAY_<NAME>``, else ``[gateway]`` in the directory's ``sandbox.toml``, else defaults.

    Raises ``SettingsError``.
    """
    settings, _ = read_table(GatewaySettings, "gateway", {}, environment, directory or Path())
    return settings
