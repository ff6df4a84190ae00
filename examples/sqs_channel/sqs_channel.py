"""Channels over SQS: for gateways, for scenarios and their faults, for the commands that send and receive."""

from contextlib import suppress

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from emulator.channels.aws_session import aws_session
from emulator.channels.channel import (
    ChannelUnavailableError,
    Delivery,
    PublishRefusedError,
    PublishUnknownError,
    Receipt,
)
from emulator.channels.faulted_channel import FaultedChannel
from emulator.channels.kinds import ChannelKind, QueueAsShard
from rdss_sandbox.extension import Extension

_KEY = "partition-key"
_MOST = 10
"""The messages of one ReceiveMessage."""
_LONGEST = 20
"""Seconds for which ReceiveMessage waits."""


class SqsChannel:
    """One queue, which is one shard, made where it is missing.

    What is not committed comes again when the channel is closed, or after its visibility timeout.
    """

    def __init__(self, client, name):
        self.name = name
        self._client = client
        self._receipts = {}
        try:
            self._url = client.create_queue(QueueName=name)["QueueUrl"]
        except (BotoCoreError, ClientError) as error:
            raise ChannelUnavailableError(f"{name}: {error}") from error

    def publish(self, data, key):
        about = {_KEY: {"DataType": "String", "StringValue": key}}
        try:
            answer = self._client.send_message(
                QueueUrl=self._url, MessageBody=data.decode(), MessageAttributes=about
            )
        except UnicodeDecodeError as error:
            raise PublishRefusedError("InvalidMessageContents", f"SQS carries text: {error}") from error
        except ClientError as error:
            said = error.response["Error"]
            raise PublishRefusedError(said["Code"], said["Message"]) from error
        except BotoCoreError as error:
            raise PublishUnknownError(type(error).__name__, str(error)) from error
        return Receipt(self.name, answer["MessageId"])

    def publish_many(self, entries):
        outcomes = []
        for data, key in entries:
            try:
                outcomes.append(self.publish(data, key))
            except (PublishRefusedError, PublishUnknownError) as error:
                outcomes.append(error)
        return outcomes

    def read(self, *, limit=100, wait=0.0, in_hand=()):
        if self.name in in_hand:
            return []
        try:
            answer = self._client.receive_message(
                QueueUrl=self._url,
                MaxNumberOfMessages=min(limit, _MOST),
                WaitTimeSeconds=min(int(wait), _LONGEST),
                AttributeNames=["All"],
                MessageAttributeNames=[_KEY],
            )
        except (BotoCoreError, ClientError) as error:
            raise ChannelUnavailableError(f"{self.name}: {error}") from error
        return [self._delivery(message) for message in answer.get("Messages", [])]

    def commit(self, delivery):
        """Delete what was received up to this delivery, as a queue is acknowledged."""
        if delivery.sequence_number not in self._receipts:
            return
        done = [*self._receipts]
        for number in done[: done.index(delivery.sequence_number) + 1]:
            self._client.delete_message(QueueUrl=self._url, ReceiptHandle=self._receipts.pop(number))

    def close(self):
        for handle in self._receipts.values():
            with suppress(BotoCoreError, ClientError):
                self._client.change_message_visibility(
                    QueueUrl=self._url, ReceiptHandle=handle, VisibilityTimeout=0
                )
        self._receipts.clear()
        self._client.close()

    def _delivery(self, message):
        number, told = message["MessageId"], message["Attributes"]
        self._receipts[number] = message["ReceiptHandle"]
        key = message.get("MessageAttributes", {}).get(_KEY, {}).get("StringValue", "")
        arrived = int(told["SentTimestamp"]) / 1000
        again = int(told["ApproximateReceiveCount"]) > 1
        return Delivery(message["Body"].encode(), key, self.name, number, arrived, again)


class SqsQueues:
    """The queues behind an AWS endpoint."""

    def __init__(self, broker, clock):
        self._broker = broker
        self._clock = clock

    def channel(self, name, _checkpoints=None):
        config = Config(read_timeout=self._broker.timeout + _LONGEST, retries={"total_max_attempts": 1})
        session = aws_session(self._broker.region, self._broker.token)
        client = session.client("sqs", endpoint_url=self._broker.address, config=config)
        return FaultedChannel(SqsChannel(client, name), KIND.name, self._broker.fault_engine, self._clock)

    def shards(self, name):
        return QueueAsShard(self.channel(name))

    def close(self):
        """Do nothing: every channel has its own client."""


KIND = ChannelKind("sqs", SqsQueues, "aws")
EXTENSION = Extension(name="sqs_channel", channels=("sqs_channel:KIND",))
