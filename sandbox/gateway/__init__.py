"""The Message Gateway: how an application sends messages to any type of queue."""

import logging

from sandbox.gateway.gateway import Gateway, Machine, SendFailedError, SendRefusedError, SendStoppedError
from sandbox.gateway.metadata import (
    MetadataGateway,
    NotPublishableError,
    Published,
    ReadRefusedError,
    open_gateway,
)
from sandbox.gateway.return_messages import NoAnswerError
from sandbox.gateway.settings import GatewaySettings, read_gateway_settings

__all__ = [
    "Gateway",
    "GatewaySettings",
    "Machine",
    "MetadataGateway",
    "NoAnswerError",
    "NotPublishableError",
    "Published",
    "ReadRefusedError",
    "SendFailedError",
    "SendRefusedError",
    "SendStoppedError",
    "open_gateway",
    "read_gateway_settings",
]

# Errors are logged with their codes (specification, Error Codes). An application adds a handler to see them.
logging.getLogger(__name__).addHandler(logging.NullHandler())
