"""Limits of a seat: AWS's own errors, RabbitMQ's, and nobody else is touched."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

import pika
import pytest
from botocore.exceptions import ClientError

from emulator.channels.aws_session import aws_session
from emulator.clock import stopwatch
from extensions.hub.message_counts import PublishCount, count_messages
from rdss_sandbox.process import sandbox_process
from tests.extensions.hub.running_hub import RunningHub
from tests.waiting import wait_until


def code_of(call: Callable[[], object]) -> str:
    with pytest.raises(ClientError) as refused:
        call()
    return str(refused.value.response["Error"]["Code"])


def test_too_many_messages_a_second_meet_the_errors_of_each_service(hub: RunningHub) -> None:
    """Records of a batch count each; reading goes on, and so does whoever is beside."""
    anna, beside = hub.add("anna", messages=10), hub.add("beside")
    kinesis = hub.aws(anna)
    records = [{"Data": b"1", "PartitionKey": str(each)} for each in range(100)]
    kinesis.put_records(StreamName="input", Records=records)
    refused = lambda: kinesis.put_record(StreamName="input", Data=b"1", PartitionKey="1")  # noqa: E731
    assert code_of(refused) == "ProvisionedThroughputExceededException"
    objects = hub.aws(anna, "s3")
    assert code_of(lambda: objects.put_object(Bucket="rdss-error", Key="k", Body=b"1")) == "SlowDown"
    queues = hub.aws(anna, "sqs")
    url = queues.create_queue(QueueName="mine")["QueueUrl"]
    assert code_of(lambda: queues.send_message(QueueUrl=url, MessageBody="1")) == "RequestThrottled"
    topics = hub.aws(anna, "sns")
    arn = topics.create_topic(Name="mine")["TopicArn"]
    assert code_of(lambda: topics.publish(TopicArn=arn, Message="1")) == "Throttled"
    assert kinesis.list_streams()["StreamNames"]
    hub.aws(beside).put_records(StreamName="input", Records=records)
    hub.aws(beside).put_record(StreamName="input", Data=b"1", PartitionKey="1")
    assert hub.find("anna").refused == 4
    assert hub.find("beside").refused == 0

    def is_taken() -> bool:
        try:
            kinesis.put_record(StreamName="input", Data=b"1", PartitionKey="1")
        except ClientError:
            return False
        return True

    wait_until(is_taken)


def test_a_publisher_who_is_too_fast_is_read_more_slowly(hub: RunningHub) -> None:
    """Nothing is refused, and 60 messages at 20 a second take two seconds: the first 20 were saved up."""
    berta = hub.add("berta", messages=20)
    with hub.broker("berta", berta.token) as connection:
        channel = connection.channel()
        channel.queue_declare("mine", durable=True)
        channel.confirm_delivery()
        began = stopwatch()
        for _ in range(60):
            channel.basic_publish("", "mine", b"1")
        assert stopwatch() - began > 1.5
        assert channel.queue_declare("mine", passive=True).method.message_count == 60


def test_connections_beyond_the_limit_are_refused_in_rabbitmqs_words(hub: RunningHub) -> None:
    """One that closes makes room for another; calls to AWS count among them."""
    carla = hub.add("carla", connections=2)
    first, second = (hub.broker("carla", carla.token) for _ in range(2))
    with pytest.raises(pika.exceptions.ProbableAccessDeniedError) as refused:
        hub.broker("carla", carla.token)
    words = "access to vhost '/' refused for user 'carla': connection limit (2) is reached"
    assert words in str(refused.value)
    assert code_of(hub.aws(carla).list_streams) == "ProvisionedThroughputExceededException"
    first.close()

    def has_room() -> bool:
        try:
            hub.broker("carla", carla.token).close()
        except pika.exceptions.AMQPConnectionError:
            return False
        return True

    wait_until(has_room)
    second.close()


def test_a_full_disk_of_ones_own_refuses_writes_and_lets_reads_and_deletes_pass(hub: RunningHub) -> None:
    """Until the limit is raised; a publisher is told that it is not read meanwhile."""
    dora = hub.add("dora", disk_mb=4)
    objects = hub.aws(dora, "s3")
    objects.put_object(Bucket="rdss-error", Key="big", Body=os.urandom(8_000_000))
    small = {"Bucket": "rdss-error", "Key": "small", "Body": b"1"}

    def is_refused() -> bool:
        try:
            objects.put_object(**small)
        except ClientError:
            return True
        return False

    wait_until(is_refused)
    with pytest.raises(ClientError, match=r"SlowDown.*its data take more than 4 MB"):
        objects.put_object(**small)
    assert len(objects.get_object(Bucket="rdss-error", Key="big")["Body"].read()) == 8_000_000
    connection = hub.broker("dora", dora.token)
    told: list[object] = []
    connection.add_on_connection_blocked_callback(lambda _, frame: told.append(frame.method.reason))
    connection.add_on_connection_unblocked_callback(lambda *_: told.append("unblocked"))
    channel = connection.channel()
    channel.queue_declare("mine", durable=True)
    channel.basic_publish("", "mine", b"1")
    wait_until(lambda: connection.process_data_events(0.1) or told)
    assert told == ["low on disk"]
    objects.delete_object(Bucket="rdss-error", Key="big")
    hub.add("dora", disk_mb=100)
    wait_until(lambda: not is_refused())
    # It was not read on while there was no room.
    assert channel.queue_declare("mine", passive=True).method.message_count == 1
    connection.process_data_events()
    assert told[1:] == ["unblocked"]
    connection.close()


def test_a_sandbox_beyond_its_memory_refuses_writes(hub: RunningHub) -> None:
    """And says so; none of ours is as small as a megabyte."""
    ella = hub.add("ella", memory_mb=1)
    kinesis = hub.aws(ella)
    kinesis.list_streams()

    def is_refused() -> bool:
        try:
            kinesis.put_record(StreamName="input", Data=b"1", PartitionKey="1")
        except ClientError as error:
            return "it takes more than 1 MB of memory" in str(error)
        return False

    wait_until(is_refused)
    assert kinesis.list_streams()["StreamNames"]


@pytest.mark.slow
def test_nobody_waits_more_than_half_a_second_for_a_flood(hub: RunningHub) -> None:
    """One person calls from 32 threads, with large batches and listings; another's calls are timed."""
    flood, calm = hub.add("flood"), hub.add("calm")
    ended = threading.Event()
    records = [{"Data": bytes(10_000), "PartitionKey": str(each)} for each in range(100)]

    def call() -> None:
        kinesis = hub.aws(flood)
        while not ended.is_set():
            kinesis.put_records(StreamName="input", Records=records)
            kinesis.list_streams()

    threads = [threading.Thread(target=call) for _ in range(32)]
    kinesis = hub.aws(calm)
    kinesis.list_streams()
    for each in threads:
        each.start()
    took: list[float] = []
    beside: list[float] = []
    try:
        with sandbox_process("--amqp", "none") as apart:
            others = aws_session("us-east-1", "test").client("kinesis", endpoint_url=apart.aws)
            for _ in range(100):
                for client, times in ((kinesis, took), (others, beside)):
                    began = stopwatch()
                    client.put_record(StreamName="input", Data=b"1", PartitionKey="1")
                    times.append(stopwatch() - began)
    finally:
        ended.set()
        for each in threads:
            each.join()
    # What the machine takes, and the threads beside this one, is taken from who is at no hub, too.
    assert max(took) < 0.5 + max(beside)


def test_the_messages_of_a_batch_are_counted() -> None:
    """By what each of them has once."""
    assert count_messages(b"PutRecord", b'{"Data":"MQ=="}') == 1
    assert count_messages(b"PutRecords", b'{"Records":[{"PartitionKey":"1"},{"PartitionKey":"2"}]}') == 2
    assert count_messages(b"GetRecords", b"{}") == 0


def test_publishes_are_counted_however_their_bytes_are_cut() -> None:
    """Frames of other kinds, and bodies that look like publishes, count nothing."""
    from emulator.amqp.wire import frames, methods
    from emulator.amqp.wire.commands import build_command
    from emulator.amqp.wire.frames import build_content

    (publish,) = build_command(1, methods.BasicPublish(0, "", "q", False, False)).frames
    content = build_content(1, b"\0\0", publish * 3, 4096)
    sent = b"".join((publish, *content, frames.BEAT)) * 5
    ends = {0}
    for each in (publish, *content, frames.BEAT) * 5:
        ends.add(max(ends) + len(each))
    for size in (1, 7, 8, 12, 100, len(sent)):
        counting, found = PublishCount(), 0
        for at in range(0, len(sent), size):
            found += counting.count(sent[at : at + size])
            assert counting.boundary is None or at + counting.boundary in ends
            assert counting.is_between_frames <= (min(at + size, len(sent)) in ends)
        assert found == 5
        assert counting.is_between_frames
