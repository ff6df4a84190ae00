import json
import os

from kombu import Connection

options = {"confirm_publish": True}
with Connection(os.environ["SANDBOX_AMQP_URL"], transport_options=options) as connection:
    producer = connection.Producer(serializer="json")
    with open(os.environ["SANDBOX_MESSAGES"]) as file:
        for message in map(json.loads, file):
            producer.publish(message, routing_key=os.environ["SANDBOX_QUEUE"], retry=True)
            print(json.dumps({"sent": message["messageHeader"]["messageId"]}), flush=True)
