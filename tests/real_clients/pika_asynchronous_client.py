"""An application on pika's asynchronous connection: ``python pika_asynchronous_client.py URL``.

Nothing in it waits: each answer of the broker calls the next step. It prints what it saw as JSON.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import pika

PERSISTENT = pika.BasicProperties(delivery_mode=2)
MESSAGES = 20
PREFETCH = 5


class Application:
    """Publishes with confirms, consumes with a prefetch, and asks for a queue that is not there."""

    def __init__(self, url: str) -> None:
        self.seen: dict[str, Any] = {"confirmed": 0, "returned": [], "came": [], "most_out": 0}
        self.unsettled: list[int] = []
        parameters = pika.URLParameters(url)
        self.connection = pika.SelectConnection(
            parameters,
            on_open_callback=self.open_channel,
            on_open_error_callback=self.stop,
            on_close_callback=self.stop,
        )

    def run(self) -> dict[str, Any]:
        self.connection.ioloop.call_later(60, self.connection.ioloop.stop)
        self.connection.ioloop.start()
        return self.seen

    def open_channel(self, _connection: Any) -> None:
        self.connection.channel(on_open_callback=self.declare)

    def declare(self, channel: Any) -> None:
        self.channel = channel
        channel.add_on_return_callback(self.note_return)
        channel.queue_declare("asynchronous", durable=True, callback=self.limit)

    def limit(self, _declared: Any) -> None:
        self.channel.basic_qos(prefetch_count=PREFETCH, callback=self.confirm)

    def confirm(self, _limited: Any) -> None:
        self.channel.confirm_delivery(self.note_confirm, callback=self.publish)

    def publish(self, _selected: Any) -> None:
        for number in range(MESSAGES):
            self.channel.basic_publish("", "asynchronous", b"%d" % number, PERSISTENT)
        self.channel.basic_publish("", "nowhere", b"lost", PERSISTENT, mandatory=True)
        self.channel.basic_consume("asynchronous", self.take)

    def note_return(self, _channel: Any, method: Any, _properties: Any, body: bytes) -> None:
        self.seen["returned"].append([method.reply_code, method.reply_text, body.decode()])

    def note_confirm(self, frame: Any) -> None:
        number = frame.method.delivery_tag
        self.seen["confirmed"] = max(self.seen["confirmed"], number)
        self.finish_if_done()

    def take(self, _channel: Any, method: Any, _properties: Any, body: bytes) -> None:
        """Settle the messages in groups, when as many are out as may be."""
        self.seen["came"].append(int(body))
        self.unsettled.append(method.delivery_tag)
        self.seen["most_out"] = max(self.seen["most_out"], len(self.unsettled))
        if len(self.unsettled) == PREFETCH:
            # In a later turn, so that one message too many would have come by then.
            self.connection.ioloop.call_later(0, self.settle)

    def settle(self) -> None:
        self.channel.basic_ack(self.unsettled[-1], multiple=True)
        self.unsettled.clear()
        self.finish_if_done()

    def finish_if_done(self) -> None:
        done = self.seen["confirmed"] == MESSAGES + 1 and len(self.seen["came"]) == MESSAGES
        if done and not self.unsettled:
            self.channel.queue_delete("asynchronous", callback=self.ask_for_what_is_missing)

    def ask_for_what_is_missing(self, deleted: Any) -> None:
        self.seen["left"] = deleted.method.message_count
        self.channel.add_on_close_callback(self.note_refusal)
        self.channel.queue_declare("missing", passive=True)

    def note_refusal(self, _channel: Any, reason: Any) -> None:
        self.seen["refused"] = [reason.reply_code, reason.reply_text]
        self.connection.close()

    def stop(self, _connection: Any, reason: Any) -> None:
        self.seen["closed"] = getattr(reason, "reply_code", repr(reason))
        self.connection.ioloop.stop()


if __name__ == "__main__":
    print(json.dumps(Application(sys.argv[1]).run()))  # noqa: T201 -- what the test reads
