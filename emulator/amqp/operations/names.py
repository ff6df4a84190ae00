"""The rules for names of exchanges and queues."""

from __future__ import annotations

from base64 import urlsafe_b64encode

from emulator.amqp.refusals import RefusedError
from emulator.rng import new_bytes


def strip(name: str) -> str:
    """The name without line ends, which RabbitMQ takes out."""
    return name.replace("\r", "").replace("\n", "") if name else name


def is_reserved(name: str) -> bool:
    return name.startswith("amq.")


def generate(prefix: str) -> str:
    """A name that nothing has yet, of 22 characters behind the prefix."""
    return prefix + urlsafe_b64encode(new_bytes(16)).decode().rstrip("=")


def check_not_default(exchange: str) -> None:
    """Refuse what is not for the default exchange. Raises RefusedError 403."""
    if not exchange:
        raise RefusedError(403, "operation not permitted on the default exchange")
