"""A right client with aio-pika at the URL and queue given: confirms, a prefetch limit, and acks."""

import asyncio
import sys

import aio_pika


async def main(url: str, name: str) -> None:
    connection = await aio_pika.connect_robust(url)
    async with connection:
        channel = await connection.channel()
        await channel.set_qos(prefetch_count=5)
        queue = await channel.declare_queue(name, durable=True)
        for number in range(20):
            message = aio_pika.Message(b"%d" % number, delivery_mode=aio_pika.DeliveryMode.PERSISTENT)
            await channel.default_exchange.publish(message, routing_key=name)
        taken = set()
        async with queue.iterator() as messages:
            async for message in messages:
                async with message.process():
                    taken.add(message.body)
                if len(taken) == 20:
                    break
    sys.stdout.write(f"{len(taken)}\n")


asyncio.run(main(sys.argv[1], sys.argv[2]))
