import json
import os

from kombu import Connection, Queue
from kombu.mixins import ConsumerMixin


class Worker(ConsumerMixin):
    def __init__(self, connection):
        self.connection = connection

    def get_consumers(self, Consumer, channel):
        queue = Queue(os.environ["SANDBOX_QUEUE"], exchange="", routing_key=os.environ["SANDBOX_QUEUE"])
        return [Consumer([queue], callbacks=[self.on_message], accept=["json"], prefetch_count=10)]

    def on_message(self, body, message):
        content = body if isinstance(body, dict) else json.loads(body)
        print(json.dumps({"processed": content["messageHeader"]["messageId"]}), flush=True)
        message.ack()


with Connection(os.environ["SANDBOX_AMQP_URL"]) as connection:
    Worker(connection).run()
