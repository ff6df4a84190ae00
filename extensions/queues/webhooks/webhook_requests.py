"""Builds the requests to subscribers: a message of the queue, or a request for confirmation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec

from extensions.queues.engine import Address, QueuedMessage
from extensions.queues.engine.signatures import Signed
from extensions.queues.engine.subscription import Subscription

_PLACEHOLDER: Final = "$zaqar_message$"
_encode: Final = msgspec.json.encode


class Notification(NamedTuple):
    """A POST to ``url``."""

    url: str
    headers: Mapping[str, str]
    body: bytes


def build_message(at: Address, subscription: Subscription, message: QueuedMessage) -> Notification:
    """Build the notification of a message, from the subscription's ``post_data`` and ``post_headers``."""
    body = msgspec.Raw(message.body)
    content = _encode(
        {"body": body, "ttl": message.ttl, "queue_name": at.name, "Message_Type": "Notification"}
    )
    template = subscription.options.get("post_data")
    return _address(subscription, _fill_template(template, content) if template else content)


def build_confirmation(at: Address, subscription: Subscription, signed: Signed) -> Notification:
    """Build the request for confirmation, with a pre-signed URL to confirm or refuse."""
    return _address(
        subscription,
        _encode(
            {
                "Message_Type": "SubscriptionConfirmation",
                "Message": (
                    f"You have chosen to subscribe to the queue: {at.name}. This queue belongs to project: "
                    f"{at.project}. To confirm this subscription, PUT the SubscribeBody to the path in "
                    "URL-Paths with the headers given here; to refuse it, PUT the UnsubscribeBody."
                ),
                "URL-Signature": signed.signature,
                "URL-Methods": ",".join(signed.methods),
                "URL-Paths": ",".join(signed.paths),
                "URL-Expires": signed.expires,
                "X-Project-ID": signed.project,
                "SubscribeBody": {"confirmed": True},
                "UnsubscribeBody": {"confirmed": False},
                "queue_name": at.name,
            }
        ),
    )


def _address(subscription: Subscription, body: bytes) -> Notification:
    own = subscription.options.get("post_headers") or {}
    headers = {"Content-Type": "application/json"} | {str(name): str(value) for name, value in own.items()}
    return Notification(subscription.subscriber.removeprefix("trust+"), headers, body)


def _fill_template(template: Any, message: bytes) -> bytes:
    """Put the message into the client's text or JSON, at the placeholder."""
    text = template if isinstance(template, str) else _encode(template).decode()
    whole = message.decode()
    return text.replace(f'"{_PLACEHOLDER}"', whole).replace(_PLACEHOLDER, whole).encode()
