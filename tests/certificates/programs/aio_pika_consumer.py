import asyncio
import json
import os

import aio_pika


async def main():
    connection = await aio_pika.connect_robust(os.environ["SANDBOX_AMQP_URL"])
    async with connection:
        channel = await connection.channel()
        await channel.set_qos(prefetch_count=10)
        queue = await channel.declare_queue(os.environ["SANDBOX_QUEUE"], durable=True)
        async with queue.iterator() as queue_iter:
            async for message in queue_iter:
                async with message.process():
                    name = json.loads(message.body)["messageHeader"]["messageId"]
                    print(json.dumps({"processed": name}), flush=True)


asyncio.run(main())
