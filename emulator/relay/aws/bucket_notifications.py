"""What buckets of the sandbox notify: queues and topics of the upstream, where S3 is the sandbox's own.

moto would look for them in this process. It hands the notifications over here, and a thread of its own sends
them one after another. So a put does not wait for the upstream, as in AWS.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, NamedTuple

from emulator.background_worker import BackgroundWorker
from emulator.channels.aws_session import own_session
from emulator.events import Events

_MOST_WAITING: Final = 10_000
_SECRET: Final = "sandbox"  # noqa: S105 -- emulators take any


class _Notification(NamedTuple):
    """A ``message`` for a queue, by its name, or for a topic, by its ARN."""

    service: str
    account: str
    region: str
    destination: str
    message: str


class BucketNotifications:
    """Sends notifications to the upstream at ``url``, from ``install`` to ``close``.

    They are sent in their order, and again while the upstream does not answer. One that the upstream refuses
    is dropped, with an event.
    """

    def __init__(self, url: str, events: Events) -> None:
        self._url = url
        self._events = events
        self._waiting: deque[_Notification] = deque()
        self._clients: dict[tuple[str, str, str], Any] = {}
        self._restore: Callable[[], None] = lambda: None
        self._unanswered = False
        self._worker = BackgroundWorker("bucket-notifications", [self._send_next], self._note_failure)

    def install(self) -> None:
        """Take notifications over from moto. Call it when moto is imported."""
        from moto.s3 import notifications

        models: Any = notifications
        before = models._send_sqs_message, models._send_sns_message  # noqa: SLF001 -- where moto does it

        def tell_queue(account: str, event: Any, queue: str, region: str) -> None:
            self._add(_Notification("sqs", account, region, queue, json.dumps(event)))

        def tell_topic(account: str, event: Any, topic: str, region: str) -> None:
            self._add(_Notification("sns", account, region, topic, json.dumps(event)))

        def restore() -> None:
            models._send_sqs_message, models._send_sns_message = before  # noqa: SLF001

        models._send_sqs_message, models._send_sns_message = tell_queue, tell_topic  # noqa: SLF001
        self._restore = restore

    def close(self) -> None:
        """Hand notifications back to moto. What waits is sent, unless the upstream does not answer."""
        self._restore()
        self._worker.close()
        if not self._unanswered:
            # The upstream may have ended meanwhile: then what waits is lost with it.
            with suppress(Exception):
                self._worker.drain()
        for client in self._clients.values():
            client.close()

    def _add(self, notification: _Notification) -> None:
        if len(self._waiting) >= _MOST_WAITING:
            self._drop(notification, f"{_MOST_WAITING} notifications wait already")
            return
        self._waiting.append(notification)
        self._worker.wake()

    def _send_next(self) -> int:
        from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError
        from botocore.exceptions import ConnectionError as NoConnectionError

        if not self._waiting:
            return 0
        next_ = self._waiting[0]
        try:
            self._send(next_)
        except (HTTPClientError, NoConnectionError):
            # The upstream does not answer: the worker tries again.
            raise
        except (BotoCoreError, ClientError) as error:
            self._drop(next_, str(error))
        self._unanswered = False
        self._waiting.popleft()
        return 1

    def _send(self, notification: _Notification) -> None:
        client = self._client(notification)
        if notification.service == "sns":
            client.publish(TopicArn=notification.destination, Message=notification.message)
            return
        queue = client.get_queue_url(QueueName=notification.destination)["QueueUrl"]
        client.send_message(QueueUrl=queue, MessageBody=notification.message)

    def _client(self, notification: _Notification) -> Any:
        from botocore.config import Config

        place = notification[:3]
        if place not in self._clients:
            service, account, region = place
            make: Any = own_session(region).client
            config = Config(connect_timeout=5, read_timeout=20, retries={"total_max_attempts": 1})
            keys = {"aws_access_key_id": account, "aws_secret_access_key": _SECRET}
            self._clients[place] = make(service, endpoint_url=self._url, config=config, **keys)
        return self._clients[place]

    def _drop(self, notification: _Notification, why: str) -> None:
        self._events.emit("s3.notification.dropped", destination=notification.destination, why=why)

    def _note_failure(self, error: Exception) -> None:
        # It is tried again every second: one event is enough.
        if not self._unanswered:
            self._events.emit("s3.notifications.waiting", waiting=len(self._waiting), why=str(error))
        self._unanswered = True
