"""A conversation by aio-pika with the broker at the URL given: what came of it, as JSON."""

import asyncio
import json
import sys

import aio_pika


async def main(url: str) -> None:
    found = {}
    connection = await aio_pika.connect_robust(url)
    async with connection:
        channel = await connection.channel(publisher_confirms=True, on_return_raises=True)
        await channel.set_qos(prefetch_count=2)
        letters = await channel.declare_queue("letters", durable=True)
        exchange = await channel.declare_exchange("orders", aio_pika.ExchangeType.TOPIC, durable=True)
        queue = await channel.declare_queue(
            "work",
            durable=True,
            arguments={"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "letters"},
        )
        await queue.bind(exchange, "order.#")
        for number in range(4):
            message = aio_pika.Message(
                b"%d" % number, headers={"number": number}, delivery_mode=aio_pika.DeliveryMode.PERSISTENT
            )
            await exchange.publish(message, f"order.{number}")
        try:
            await channel.default_exchange.publish(aio_pika.Message(b""), "nobody", mandatory=True)
        except aio_pika.exceptions.DeliveryError as error:
            found["returned"] = error.frame.name
        found["came"] = []
        async with queue.iterator() as messages:
            async for message in messages:
                found["came"].append([message.body.decode(), message.routing_key, message.headers["number"]])
                if message.headers["number"] == 1:
                    await message.reject(requeue=False)
                else:
                    await message.ack()
                if len(found["came"]) == 4:
                    break
        letter = await letters.get(timeout=5)
        found["letter"] = [letter.body.decode(), letter.headers["x-death"][0]["reason"]]
        await letter.ack()
        try:
            await channel.declare_queue("missing", passive=True)
        except aio_pika.exceptions.ChannelNotFoundEntity as error:
            found["refused"] = str(error)
    sys.stdout.write(json.dumps(found))


asyncio.run(main(sys.argv[1]))
