"""A right consumer with pika's asynchronous connection: nothing in it waits; it acks each message."""

import hashlib
import json
import os
import signal
import sys
from pathlib import Path

import pika

QUEUE = os.environ["SANDBOX_QUEUE"]
PROCESSED = Path(os.environ["SANDBOX_STATE_DIR"], "processed.txt")
PAUSE = 0.2


class Application:
    """Connects, consumes, and connects again when the connection or its channel ends."""

    def __init__(self) -> None:
        self.stopping = False
        self.processed = set(PROCESSED.read_text().split()) if PROCESSED.exists() else set()

    def run(self) -> None:
        while not self.stopping:
            self.connection = pika.SelectConnection(
                pika.URLParameters(os.environ["SANDBOX_AMQP_URL"]),
                on_open_callback=self.open_channel,
                on_open_error_callback=self.end,
                on_close_callback=self.end,
            )
            self.connection.ioloop.start()

    def stop(self, _number, _frame) -> None:
        """Close the connection from the loop, since a signal can come anywhere."""
        self.stopping = True
        self.connection.ioloop.add_callback_threadsafe(self.close)

    def close(self) -> None:
        if self.connection.is_open:
            self.connection.close()
        else:
            self.connection.ioloop.stop()

    def open_channel(self, connection) -> None:
        connection.channel(on_open_callback=self.set_limit)

    def set_limit(self, channel) -> None:
        channel.add_on_close_callback(self.leave)
        channel.basic_qos(prefetch_count=5, callback=lambda _: channel.basic_consume(QUEUE, self.take))

    def leave(self, _channel, reason) -> None:
        """Begin anew where the broker has closed the channel."""
        print(f"the channel is closed: {reason}", file=sys.stderr)
        if self.connection.is_open:
            self.connection.close()

    def end(self, connection, reason) -> None:
        print(f"the connection is closed: {reason}", file=sys.stderr)
        connection.ioloop.call_later(0 if self.stopping else PAUSE, connection.ioloop.stop)

    def take(self, channel, method, _properties, data: bytes) -> None:
        try:
            message_id, digest = parse(data)
        except (ValueError, KeyError) as error:
            print(f"no message: {error!r}", file=sys.stderr)
            channel.basic_nack(method.delivery_tag, requeue=False)
            return
        if message_id not in self.processed:
            print(json.dumps({"processed": message_id, "sha256": digest}), flush=True)
            self.keep(message_id)
        channel.basic_ack(method.delivery_tag)

    def keep(self, message_id: str) -> None:
        self.processed.add(message_id)
        with PROCESSED.open("a") as file:
            file.write(f"{message_id}\n")


def parse(data: bytes) -> tuple[str, str]:
    """The messageId, and the SHA-256 of the body's text."""
    text = data.decode()
    message_id = json.loads(text)["messageHeader"]["messageId"]
    start = text.index('"messageBody":') + len('"messageBody":')
    body = text[start : json.JSONDecoder().raw_decode(text, start)[1]]
    return message_id, hashlib.sha256(body.encode()).hexdigest()


application = Application()
signal.signal(signal.SIGTERM, application.stop)
application.run()
