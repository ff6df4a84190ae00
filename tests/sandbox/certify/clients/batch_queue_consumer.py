"""A right consumer with pika that commits a batch at once, and acknowledges it with one basic.ack.

What it commits are the effects, lines in an outbox, and their messageIds. The lines are printed after the
commit and deleted one by one; the batch is acknowledged when they are out.
"""

import hashlib
import json
import os
import signal
import sqlite3
import sys
import time
from pathlib import Path

import pika
from pika.exceptions import AMQPError

QUEUE = os.environ["SANDBOX_QUEUE"]
BATCH, LONGEST_WAIT = 5, 0.1
database = sqlite3.connect(Path(os.environ["SANDBOX_STATE_DIR"], "consumer.sqlite3"), isolation_level=None)
database.executescript("""
    PRAGMA journal_mode = WAL;
    CREATE TABLE IF NOT EXISTS message (id TEXT PRIMARY KEY);
    CREATE TABLE IF NOT EXISTS outbox (number INTEGER PRIMARY KEY, line TEXT);
""")
stopping: list[int] = []
signal.signal(signal.SIGTERM, lambda number, _: stopping.append(number))


def read_line(data: bytes) -> tuple[str, str]:
    """The messageId, and what is to be printed. Raises ValueError for what is no message."""
    text = data.decode()
    message_id = json.loads(text)["messageHeader"]["messageId"]
    start = text.index('"messageBody":') + len('"messageBody":')
    body = text[start : json.JSONDecoder().raw_decode(text, start)[1]]
    digest = hashlib.sha256(body.encode()).hexdigest()
    return message_id, json.dumps({"processed": message_id, "sha256": digest})


def commit(lines: list) -> None:
    database.execute("BEGIN IMMEDIATE")
    for message_id, line in lines:
        if database.execute("INSERT OR IGNORE INTO message VALUES (?)", (message_id,)).rowcount:
            database.execute("INSERT INTO outbox (line) VALUES (?)", (line,))
    database.execute("COMMIT")


def empty_outbox() -> None:
    for number, line in database.execute("SELECT number, line FROM outbox ORDER BY number").fetchall():
        print(line, flush=True)
        database.execute("DELETE FROM outbox WHERE number = ?", (number,))


class Batch:
    """Messages of a channel that are not acknowledged yet."""

    def __init__(self, channel) -> None:
        self.channel = channel
        self.lines: list[tuple[str, str]] = []
        self.last_tag = 0
        self.began = 0.0

    def take(self, _channel, method, _properties, data: bytes) -> None:
        try:
            line = read_line(data)
        except (ValueError, KeyError) as error:
            print(f"no message: {error!r}", file=sys.stderr)
            self.channel.basic_reject(method.delivery_tag, requeue=False)
            return
        if not self.lines:
            self.began = time.monotonic()
        self.lines.append(line)
        self.last_tag = method.delivery_tag
        if len(self.lines) == BATCH:
            self.finish()

    def finish(self) -> None:
        commit(self.lines)
        empty_outbox()
        self.channel.basic_ack(self.last_tag, multiple=True)
        self.lines = []

    def finish_if_old(self) -> None:
        if self.lines and time.monotonic() - self.began > LONGEST_WAIT:
            self.finish()


def consume() -> None:
    with pika.BlockingConnection(pika.URLParameters(os.environ["SANDBOX_AMQP_URL"])) as connection:
        channel = connection.channel()
        channel.basic_qos(prefetch_count=2 * BATCH)
        batch = Batch(channel)
        channel.basic_consume(QUEUE, batch.take)
        while channel.is_open and not stopping:
            connection.process_data_events(time_limit=LONGEST_WAIT)
            batch.finish_if_old()


empty_outbox()
while not stopping:
    try:
        consume()
    except AMQPError as error:
        print(f"connects again: {error!r}", file=sys.stderr)
        time.sleep(0.2)
