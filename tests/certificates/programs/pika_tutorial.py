import json
import os

import pika


def callback(ch, method, properties, body):
    print(json.dumps({"processed": json.loads(body)["messageHeader"]["messageId"]}), flush=True)
    ch.basic_ack(delivery_tag=method.delivery_tag)


connection = pika.BlockingConnection(pika.URLParameters(os.environ["SANDBOX_AMQP_URL"]))
channel = connection.channel()
channel.queue_declare(queue=os.environ["SANDBOX_QUEUE"], durable=True)
channel.basic_qos(prefetch_count=1)
channel.basic_consume(queue=os.environ["SANDBOX_QUEUE"], on_message_callback=callback)
channel.start_consuming()
