"""How a gateway is configured."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.clock import Clock
from emulator.settings.setting_errors import SettingsError
from sandbox.gateway import GatewaySettings, read_gateway_settings
from sandbox.gateway.metadata import open_queues

FILE = """
[sandbox]
seed = 3

[gateway]
queue = "rabbitmq"
address = "amqp://guest:guest@127.0.0.1:5672/%2F"
send = "institute_89_input"
receive = "institute_89_output"
retry_interval = 0.5
"""


def test_the_queue_type_the_channels_and_the_retry_interval_are_settings(tmp_path: Path) -> None:
    """They come from the file, and the environment wins over it; what is given nowhere has a default."""
    (tmp_path / "sandbox.toml").write_text(FILE)
    settings = read_gateway_settings({"SANDBOX_GATEWAY_RETRY_INTERVAL": "2"}, tmp_path)
    assert (settings.queue, settings.send, settings.receive) == (
        "rabbitmq",
        "institute_89_input",
        "institute_89_output",
    )
    assert (settings.retry_interval, settings.timeout) == (2.0, GatewaySettings().timeout)
    assert read_gateway_settings({}, tmp_path / "elsewhere") == GatewaySettings()


@pytest.mark.parametrize("queue", ["kinesis", "rabbitmq", "mock"])
def test_each_type_of_queue_opens_without_its_broker(queue: str) -> None:
    """Nothing is asked of a broker before a channel is used."""
    open_queues(read_gateway_settings({"SANDBOX_GATEWAY_QUEUE": queue}, Path("/")), Clock()).close()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('[gateway]\nqueue = "sqs"', r"toml:2: queue is 'sqs': it is one of kinesis, mock, rabbitmq"),
        ("[gateway]\nretry_interval = 0", r"toml:2: retry_interval is 0: expected `float` > 0"),
        ("[gateway]\nretries = 3", r"toml:2: there is no key 'retries'.*there are: queue, address"),
        ("gateway = 3", "must be a table"),
        ("[gateway", "cannot be read"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(tmp_path: Path, content: str, said: str) -> None:
    """With the setting, or its value."""
    (tmp_path / "sandbox.toml").write_text(content)
    with pytest.raises(SettingsError, match=said):
        read_gateway_settings({}, tmp_path)
