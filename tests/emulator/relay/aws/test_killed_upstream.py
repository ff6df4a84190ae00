"""The sandbox's own S3 in front of moto in another process, which forgets everything when it is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest

from emulator.rng import Chance
from rdss_sandbox.installed_extensions import list_ports
from rdss_sandbox.machine.watchdog import watchdog
from rdss_sandbox.process import RunningSandbox
from tests.emulator.relay.aws.test_own_buckets import bucket_names
from tests.emulator.services.conftest import client_of
from tests.emulator.services.load import Clients, load, read_everything
from tests.emulator.services.test_being_killed import Expected, free_port, moto_server
from tests.waiting import wait_until

SEED = 20_261_123
DEATHS = 4
LEAST, MOST = 10, 80
"""How many acknowledgements a stack lives to give."""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@contextmanager
def sandbox_in_front_of(upstream: str, folder: Path, port: int = 0) -> Iterator[RunningSandbox]:
    """A process in front of an upstream of its own, as the profiles compose and localstack have it."""
    ports = [word for name in ("control", *dict(list_ports())) for word in (f"--{name}-port", "0")]
    options = ["--profile", "relay", "--upstream-aws", upstream, "--topology", "none", "--amqp", "none"]
    with (
        subprocess.Popen(
            [
                sys.executable,
                "-P",
                "-m",
                "sandbox",
                "up",
                "--json",
                "--aws-port",
                str(port),
                *ports,
                *options,
            ],
            cwd=folder,
            env={**os.environ, "SANDBOX_UPSTREAM_OWNED": "true"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
        ) as process,
        watchdog(process.pid),
    ):
        try:
            assert process.stdout is not None
            yield msgspec.json.decode(process.stdout.readline(), type=RunningSandbox)
        finally:
            process.kill()


def test_a_killed_stack_has_every_object_that_was_acknowledged(tmp_path: Path) -> None:
    """Sandbox and upstream are killed under load, again and again; the upstream has forgotten it all."""
    draws = Chance(SEED).draws("deaths")
    expected = Expected()
    upstream, port = free_port(), free_port()
    clients = Clients(f"http://127.0.0.1:{port}")
    for death in range(DEATHS + 1):
        with (
            moto_server(upstream) as behind,
            sandbox_in_front_of(f"http://127.0.0.1:{upstream}", tmp_path, port) as sandbox,
        ):
            assert urlsplit(sandbox.aws).port == port
            if death:
                assert expected.compare(read_everything(clients, ("s3",))) == [], f"after death {death}"
            last = expected.acknowledged + draws.randrange(LEAST, MOST)

            def note(*what: str | None, pid: int = sandbox.pid, last: int = last) -> None:
                expected.note(*what)
                if expected.acknowledged == last:
                    behind.kill()
                    os.kill(pid, signal.SIGKILL)

            if death < DEATHS:
                load(clients, SEED + death, note, ("s3",))
    assert expected.acknowledged >= DEATHS * LEAST


def test_buckets_notify_queues_of_the_upstream(tmp_path: Path) -> None:
    """A put does not wait for an upstream that stands still; the upstream has the queue, and no bucket."""
    port = free_port()
    upstream = f"http://127.0.0.1:{port}"
    with moto_server(port) as behind, sandbox_in_front_of(upstream, tmp_path) as sandbox:
        s3, sqs = client_of(sandbox.aws, "s3"), client_of(sandbox.aws, "sqs")
        prepare_notifications(s3, sqs)
        s3.put_object(Bucket="mine", Key="first", Body=b"body")
        wait_until(lambda: received_keys(sqs) == ["first"])
        assert bucket_names(client_of(upstream, "s3")) == []
        behind.send_signal(signal.SIGSTOP)
        s3.put_object(Bucket="mine", Key="second", Body=b"body")
        behind.send_signal(signal.SIGCONT)
        wait_until(lambda: received_keys(sqs) == ["second"])


def prepare_notifications(s3: Any, sqs: Any) -> None:
    """A bucket that tells a queue what is made in it."""
    queue = sqs.create_queue(QueueName="news")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    s3.create_bucket(Bucket="mine")
    told = [{"QueueArn": arn, "Events": ["s3:ObjectCreated:*"]}]
    s3.put_bucket_notification_configuration(
        Bucket="mine", NotificationConfiguration={"QueueConfigurations": told}
    )


def received_keys(sqs: Any) -> list[str]:
    """The keys of the objects that the messages of the queue name; the messages are deleted."""
    queue = sqs.get_queue_url(QueueName="news")["QueueUrl"]
    keys = []
    for message in sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10).get("Messages", ()):
        said = msgspec.json.decode(message["Body"])
        keys += [record["s3"]["object"]["key"] for record in said.get("Records", ())]
        sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
    return keys
