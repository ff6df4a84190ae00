import asyncio
import json
import os

from kinesis import Producer


async def main():
    endpoint = os.environ["AWS_ENDPOINT_URL"]
    async with Producer(stream_name=os.environ["SANDBOX_STREAM"], endpoint_url=endpoint) as producer:
        with open(os.environ["SANDBOX_MESSAGES"]) as file:
            for message in map(json.loads, file):
                await producer.put(message)
                await producer.flush()
                print(json.dumps({"sent": message["messageHeader"]["messageId"]}), flush=True)


asyncio.run(main())
