import json
import os

from amqpstorm import UriConnection


def on_message(message):
    print(json.dumps({"processed": message.json()["messageHeader"]["messageId"]}), flush=True)
    message.ack()


with UriConnection(os.environ["SANDBOX_AMQP_URL"] + "?heartbeat=60") as connection:
    with connection.channel() as channel:
        channel.basic.qos(10)
        channel.basic.consume(on_message, os.environ["SANDBOX_QUEUE"])
        channel.start_consuming()
