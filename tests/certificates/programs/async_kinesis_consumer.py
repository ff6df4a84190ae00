import asyncio
import json
import os

from kinesis import Consumer


async def main():
    endpoint = os.environ["AWS_ENDPOINT_URL"]
    async with Consumer(stream_name=os.environ["SANDBOX_STREAM"], endpoint_url=endpoint) as consumer:
        while True:
            async for item in consumer:
                print(json.dumps({"processed": item["messageHeader"]["messageId"]}), flush=True)


asyncio.run(main())
