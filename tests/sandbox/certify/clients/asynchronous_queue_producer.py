"""A right producer with aio-pika: five tasks publish at once, each with a confirm of its own."""

import asyncio
import json
import os
import sys
from pathlib import Path

import aio_pika
from aio_pika.exceptions import AMQPError, DeliveryError

QUEUE = os.environ["SANDBOX_QUEUE"]
SENT = Path(os.environ["SANDBOX_STATE_DIR"], "sent.txt")
TASKS = 5
ERRORS = (AMQPError, DeliveryError, ConnectionError, asyncio.TimeoutError, RuntimeError)


def keep(message_id: str) -> None:
    with SENT.open("a") as file:
        file.write(f"{message_id}\n")
    sys.stdout.write(json.dumps({"sent": message_id}) + "\n")
    sys.stdout.flush()


async def work_off(left: list, exchange) -> None:
    """Publish what is left, until a publish fails."""
    while left:
        message_id, line = left.pop(0)
        try:
            message = aio_pika.Message(line, delivery_mode=aio_pika.DeliveryMode.PERSISTENT)
            await exchange.publish(message, routing_key=QUEUE, mandatory=True, timeout=10)
        except ERRORS:
            left.append((message_id, line))
            raise
        keep(message_id)


async def publish(left: list) -> None:
    """Publish on a connection of its own. Raises what the first task raises, when all have ended."""
    connection = await aio_pika.connect(os.environ["SANDBOX_AMQP_URL"])
    async with connection:
        channel = await connection.channel(publisher_confirms=True, on_return_raises=True)
        tasks = [work_off(left, channel.default_exchange) for _ in range(TASKS)]
        failed = [each for each in await asyncio.gather(*tasks, return_exceptions=True) if each]
    if failed:
        raise failed[0]


def load_messages() -> list:
    sent = set(SENT.read_text().split()) if SENT.exists() else set()
    lines = Path(os.environ["SANDBOX_MESSAGES"]).read_bytes().splitlines()
    named = [(json.loads(line)["messageHeader"]["messageId"], line) for line in lines]
    return [each for each in named if each[0] not in sent]


async def main() -> None:
    left = load_messages()
    while left:
        try:
            await publish(left)
        except ERRORS as error:
            sys.stderr.write(f"publishes again: {error!r}\n")
            await asyncio.sleep(0.2)


asyncio.run(main())
