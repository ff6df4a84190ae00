import json
import os

import pika

connection = pika.BlockingConnection(pika.URLParameters(os.environ["SANDBOX_AMQP_URL"]))
channel = connection.channel()
channel.confirm_delivery()
with open(os.environ["SANDBOX_MESSAGES"]) as file:
    for line in map(str.strip, file):
        channel.basic_publish(
            exchange="",
            routing_key=os.environ["SANDBOX_QUEUE"],
            body=line,
            properties=pika.BasicProperties(
                content_type="text/plain", delivery_mode=pika.DeliveryMode.Transient
            ),
        )
        print(json.dumps({"sent": json.loads(line)["messageHeader"]["messageId"]}), flush=True)
