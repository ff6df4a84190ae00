"""A right producer with pika's asynchronous connection: it publishes a batch, and waits for its confirms."""

import json
import os
import sys
from pathlib import Path

import pika

QUEUE = os.environ["SANDBOX_QUEUE"]
SENT = Path(os.environ["SANDBOX_STATE_DIR"], "sent.txt")
BATCH = 5


class Producer:
    """Publishes the messages that are left, batch by batch; what is not confirmed is published again."""

    def __init__(self, left: dict[str, bytes]) -> None:
        self.left = left
        self.tags: dict[int, str] = {}
        self.returned: set[str] = set()

    def run(self) -> None:
        while self.left:
            self.connection = pika.SelectConnection(
                pika.URLParameters(os.environ["SANDBOX_AMQP_URL"]),
                on_open_callback=lambda connection: connection.channel(on_open_callback=self.prepare),
                on_open_error_callback=self.end,
                on_close_callback=self.end,
            )
            self.connection.ioloop.start()

    def prepare(self, channel) -> None:
        self.channel = channel
        self.next_tag = 1
        channel.add_on_close_callback(self.leave)
        channel.add_on_return_callback(self.note_return)
        channel.confirm_delivery(self.note_confirm, callback=lambda _: self.publish_batch())

    def publish_batch(self) -> None:
        if not self.left:
            self.connection.close()
            return
        for message_id, line in list(self.left.items())[:BATCH]:
            self.tags[self.next_tag] = message_id
            self.next_tag += 1
            properties = pika.BasicProperties("application/json", delivery_mode=2, message_id=message_id)
            self.channel.basic_publish("", QUEUE, line, properties, mandatory=True)

    def note_return(self, _channel, _method, properties, _body: bytes) -> None:
        """A return comes before the confirm of the same message."""
        self.returned.add(properties.message_id)

    def note_confirm(self, frame) -> None:
        confirm = frame.method
        first = min(self.tags) if confirm.multiple else confirm.delivery_tag
        for tag in range(first, confirm.delivery_tag + 1):
            self.settle(self.tags.pop(tag), isinstance(confirm, pika.spec.Basic.Ack))
        if not self.tags:
            self.connection.ioloop.call_later(0.05, self.publish_batch)

    def settle(self, message_id: str, confirmed: bool) -> None:
        if message_id in self.returned:
            self.returned.discard(message_id)
        elif confirmed:
            del self.left[message_id]
            with SENT.open("a") as file:
                file.write(f"{message_id}\n")
            print(json.dumps({"sent": message_id}), flush=True)

    def leave(self, _channel, reason) -> None:
        print(f"the channel is closed: {reason}", file=sys.stderr)
        if self.connection.is_open:
            self.connection.close()

    def end(self, connection, reason) -> None:
        """Begin anew in a while with what was not confirmed."""
        print(f"the connection is closed: {reason}", file=sys.stderr)
        self.tags.clear()
        self.returned.clear()
        connection.ioloop.call_later(0.2, connection.ioloop.stop)


sent = set(SENT.read_text().split()) if SENT.exists() else set()
lines = Path(os.environ["SANDBOX_MESSAGES"]).read_bytes().splitlines()
messages = {json.loads(line)["messageHeader"]["messageId"]: line for line in lines}
Producer({name: line for name, line in messages.items() if name not in sent}).run()
