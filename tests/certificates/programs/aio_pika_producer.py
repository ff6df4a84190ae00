import asyncio
import json
import os

import aio_pika


async def main():
    connection = await aio_pika.connect_robust(os.environ["SANDBOX_AMQP_URL"])
    async with connection:
        channel = await connection.channel()
        with open(os.environ["SANDBOX_MESSAGES"]) as file:
            for line in map(str.strip, file):
                message = aio_pika.Message(body=line.encode())
                await channel.default_exchange.publish(message, routing_key=os.environ["SANDBOX_QUEUE"])
                print(json.dumps({"sent": json.loads(line)["messageHeader"]["messageId"]}), flush=True)


asyncio.run(main())
