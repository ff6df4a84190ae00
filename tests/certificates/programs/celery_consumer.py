import json
import os

from celery import Celery, bootsteps
from kombu import Consumer, Queue

app = Celery(broker=os.environ["SANDBOX_AMQP_URL"])
queue = Queue(os.environ["SANDBOX_QUEUE"], exchange="", routing_key=os.environ["SANDBOX_QUEUE"])


class MyConsumerStep(bootsteps.ConsumerStep):
    def get_consumers(self, channel):
        return [Consumer(channel, queues=[queue], callbacks=[self.handle_message], accept=["json"])]

    def handle_message(self, body, message):
        content = body if isinstance(body, dict) else json.loads(body)
        os.write(told, json.dumps({"processed": content["messageHeader"]["messageId"]}).encode() + b"\n")
        message.ack()


told = os.dup(1)
app.steps["consumer"].add(MyConsumerStep)
app.worker_main(["worker", "--pool=solo", "--without-mingle", "--without-gossip", "--loglevel=WARNING"])
