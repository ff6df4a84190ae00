import json
import os

from kiner.producer import KinesisProducer

producer = KinesisProducer(os.environ["SANDBOX_STREAM"], batch_size=25)
with open(os.environ["SANDBOX_MESSAGES"]) as file:
    lines = [line.strip() for line in file]
for start in range(0, len(lines), 25):
    batch = lines[start : start + 25]
    producer.put_records(batch)
    producer.flush_queue()
    for line in batch:
        print(json.dumps({"sent": json.loads(line)["messageHeader"]["messageId"]}), flush=True)
producer.close()
