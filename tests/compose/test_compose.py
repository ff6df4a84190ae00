"""The compose file, and the whole stack brought up from it where there is an engine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pika
import pytest
from botocore.exceptions import BotoCoreError, ClientError
from docker.errors import DockerException

from emulator.client import Client
from emulator.clock import Clock
from emulator.record_lines import read_line
from emulator.resources import NewFault, Reshard
from emulator.rng import new_uuid
from sandbox.profiles.docker_engine import connect
from schemas.envelope import serialise
from schemas.samples import Samples

ROOT = Path(__file__).parents[2]
FILE = ROOT / "compose" / "compose.yaml"
SERVICES = {"localstack", "rabbitmq", "emulator"}

pytestmark = pytest.mark.xdist_group("compose")


@dataclass
class Stack:
    """A stack that is up: what ``sandbox up --json`` said, and how to run further commands beside it."""

    said: dict[str, Any]
    command: Callable[..., subprocess.CompletedProcess[str]]
    name: str


def configured(*profiles: str) -> dict[str, Any]:
    """The compose file as Compose understands it, or a skip where there is no Compose."""
    if shutil.which("docker") is None:
        pytest.skip("NO DOCKER: there is no docker command, so compose.yaml was not looked at by Compose")
    chosen = [word for profile in profiles for word in ("--profile", profile)]
    command = ["docker", "compose", "-f", str(FILE), *chosen, "config", "--format", "json"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    if "is not a docker command" in ran.stderr:
        pytest.skip("NO COMPOSE: docker has no compose plug-in, so compose.yaml was not looked at by Compose")
    assert ran.returncode == 0, ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def test_compose_understands_the_file() -> None:
    """Without warnings; the further services only with their profiles."""
    assert set(configured()["services"]) == SERVICES
    assert set(configured("tui", "pipeline")["services"]) == SERVICES | {"tui", "pipeline"}


def test_only_the_emulator_is_published_and_on_loopback() -> None:
    """No other container can be reached from this machine, and none from another."""
    for name, service in configured("tui", "pipeline")["services"].items():
        published = service.get("ports", [])
        assert [port["host_ip"] for port in published] == (["127.0.0.1"] * 3 if name == "emulator" else [])


def test_the_image_needs_no_other_to_be_built() -> None:
    """A syntax line would have the builder pull one; nothing names where packages come from."""
    text = (ROOT / "compose" / "Dockerfile").read_text()
    assert "syntax=" not in text
    assert "index-url" not in text
    assert "USER sandbox" in text


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The whole stack, on free ports and under a name of its own, taken down with its volumes."""
    try:
        client = connect(os.environ)
        client.ping()
        client.close()
    except (DockerException, OSError) as error:
        pytest.skip(
            f"NO DOCKER ENGINE ({error}): the stack was not brought up, nothing was tested against it"
        )
    name = f"rdss-sandbox-test-{new_uuid()[:8]}"
    directory = tmp_path_factory.mktemp("compose")
    environment = {**os.environ, "SANDBOX_COMPOSE_NAME": name}
    host = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
    if host.startswith("unix://"):
        environment["SANDBOX_DOCKER_SOCKET"] = host.removeprefix("unix://")

    def command(*words: str) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-m", "sandbox", *words]
        return subprocess.run(
            line, capture_output=True, text=True, check=False, cwd=directory, env=environment, timeout=900
        )

    ports = ("--aws-port", "0", "--control-port", "0", "--amqp-port", "0")
    up = command("up", "--profile", "compose", *ports, "--seed", "7", "--json")
    try:
        assert up.returncode == 0, up.stderr
        yield Stack(json.loads(up.stdout), command, name)
    finally:
        down = ["docker", "compose", "--project-name", name, "-f", str(FILE), "down", "--volumes"]
        subprocess.run(down, capture_output=True, check=False, timeout=300)


@pytest.fixture
def control(stack: Stack) -> Iterator[Client]:
    with Client(stack.said["control"], token=stack.said["token"]) as client:
        yield client


@pytest.fixture
def aws(stack: Stack) -> Iterator[Callable[[str], Any]]:
    made: list[Any] = []

    def client(service: str) -> Any:
        made.append(
            boto3.client(
                service,
                endpoint_url=stack.said["aws"],
                region_name=stack.said["region"],
                aws_access_key_id="sandbox",
                aws_secret_access_key="sandbox",
            )
        )
        return made[-1]

    yield client
    for each in made:
        each.close()


def is_struck(stack: Stack, service: str) -> bool:
    """Whether a container is paused, or on no network."""
    client = connect(os.environ)
    labels = [f"com.docker.compose.project={stack.name}", f"com.docker.compose.service={service}"]
    (container,) = client.containers.list(filters={"label": labels})
    client.close()
    return container.status == "paused" or not container.attrs["NetworkSettings"]["Networks"]


def read_all(kinesis: Any, stream: str) -> list[bytes]:
    found: list[bytes] = []
    for shard in kinesis.list_shards(StreamName=stream)["Shards"]:
        place = kinesis.get_shard_iterator(
            StreamName=stream, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
        )["ShardIterator"]
        while place:
            answer = kinesis.get_records(ShardIterator=place)
            found += [record["Data"] for record in answer["Records"]]
            place = answer.get("NextShardIterator") if answer["Records"] else None
    return found


@pytest.mark.compose
@pytest.mark.timeout(900)
def test_messages_through_the_stack(stack: Stack, control: Client, aws: Callable[[str], Any]) -> None:
    """Sent with boto3 through a fault and a live split, read back, listed, and audited in LocalStack's S3."""
    kinesis = aws("kinesis")
    messages = [serialise(message) for message in Samples(3).stream(20)]
    control.add_fault(NewFault("duplicate", name="twice", direction="publish", channel="input", limit=3))
    for number, message in enumerate(messages):
        if number == 10:
            control.reshard("input", Reshard("split"))
        kinesis.put_record(StreamName="input", Data=message, PartitionKey=f"{number}")
    came = read_all(kinesis, "input")
    assert len(came) == 23
    assert set(came) == set(messages)
    clock = Clock()
    deadline = clock.elapsed() + 60
    while control.messages(matching="stream:input").total < 23 and clock.elapsed() < deadline:
        clock.wait(0.5)
    assert control.messages(matching="stream:input").total == 23
    assert control.drain_audit().pending == 0
    kept = [
        read_line(line)
        for row in control.objects("rdss-audit").objects
        for line in aws("s3").get_object(Bucket="rdss-audit", Key=row.key)["Body"].read().splitlines()
    ]
    # Other tests send to the other streams of this stack, which are audited as well.
    sent = [line for line in kept if line.source is not None and line.source.stream == "input"]
    assert sorted(line.data for line in sent) == sorted(came)
    assert len({line.source for line in sent}) == 23
    assert control.faults()[0].injected == 3


@pytest.mark.compose
@pytest.mark.timeout(900)
def test_rabbitmq_through_the_stack(stack: Stack) -> None:
    """pika declares, publishes with a confirm, and gets its message back."""
    connection = pika.BlockingConnection(pika.URLParameters(stack.said["amqp"]))
    channel = connection.channel()
    channel.queue_declare("demo", durable=True)
    channel.confirm_delivery()
    channel.basic_publish("", "demo", b"a message", pika.BasicProperties(delivery_mode=2))
    assert channel.basic_get("demo", auto_ack=True)[2] == b"a message"
    connection.close()


@pytest.mark.compose
@pytest.mark.timeout(900)
@pytest.mark.parametrize("type_", ["pause", "isolate"])
def test_a_container_is_struck_and_comes_back(
    stack: Stack, control: Client, aws: Callable[[str], Any], type_: str
) -> None:
    """Halted or off its network for three seconds: puts fail or wait, then go through, and none is lost."""
    if os.environ.get("DOCKER_HOST", "unix:").partition(":")[0] != "unix":
        pytest.skip("REMOTE ENGINE: its socket cannot be given to the emulator, so no container was struck")
    kinesis = aws("kinesis")
    kinesis.put_record(StreamName="error", Data=b"before", PartitionKey="k")
    attributes = {"target": "localstack", "lasts": "3s"}
    clock = Clock()
    began = clock.elapsed()
    control.add_fault(NewFault(type_, name=type_, direction="control", attributes=attributes, limit=1))
    deadline = clock.elapsed() + 60
    while not is_struck(stack, "localstack"):
        assert clock.elapsed() < deadline
        clock.wait(0.05)
    while True:
        try:
            kinesis.put_record(StreamName="error", Data=type_.encode(), PartitionKey="k")
            break
        except (BotoCoreError, ClientError):
            assert clock.elapsed() < deadline
            clock.wait(0.2)
    assert clock.elapsed() - began > 2
    assert control.fault(type_).injected == 1
    assert [event for event in control.events() if event.kind == "fault.failed"] == []
    assert {b"before", type_.encode()} <= set(read_all(kinesis, "error"))


@pytest.mark.compose
@pytest.mark.timeout(900)
def test_status_logs_and_doctor_know_the_stack(stack: Stack) -> None:
    """Each finds it without being told where; a second up is refused."""
    status = json.loads(stack.command("status", "--json").stdout)
    assert (status["aws"], status["amqp"]) == (stack.said["aws"], stack.said["amqp"])
    assert {found["name"] for found in status["streams"]} >= {"input", "audit"}
    assert "RDSS sandbox" in stack.command("logs", "emulator").stdout
    assert stack.command("logs", "nobody").returncode == 2
    assert stack.command("doctor").returncode == 0
    second = stack.command("up", "--profile", "compose")
    assert (second.returncode, "runs here already" in second.stderr) == (3, True)


@pytest.mark.compose
@pytest.mark.timeout(900)
def test_the_emulators_container_is_locked_down(stack: Stack) -> None:
    """It cannot write its own files, is not root, and has no capabilities."""
    client = connect(os.environ)
    (container,) = client.containers.list(
        filters={"label": [f"com.docker.compose.project={stack.name}", "com.docker.compose.service=emulator"]}
    )
    attributes = container.attrs
    client.close()
    assert attributes["HostConfig"]["ReadonlyRootfs"]
    assert attributes["HostConfig"]["CapDrop"] == ["ALL"]
    assert attributes["Config"]["User"] == "sandbox"


@pytest.mark.compose
@pytest.mark.timeout(900)
def test_down_keeps_what_it_holds(stack: Stack, aws: Callable[[str], Any]) -> None:
    """After down and up the streams and RabbitMQ's durable messages are there."""
    aws("kinesis").put_record(StreamName="output", Data=b"kept", PartitionKey="k")
    connection = pika.BlockingConnection(pika.URLParameters(stack.said["amqp"]))
    channel = connection.channel()
    channel.queue_declare("kept", durable=True)
    channel.confirm_delivery()
    channel.basic_publish("", "kept", b"kept", pika.BasicProperties(delivery_mode=2))
    connection.close()
    # LocalStack's Kinesis writes what it has every five seconds.
    Clock().wait(6)
    down = stack.command("down", "--json")
    assert json.loads(down.stdout) == {"pid": None, "stopped": True}
    assert stack.command("status").returncode == 3
    ports = ("--aws-port", "0", "--control-port", "0", "--amqp-port", "0")
    up = stack.command("up", "--profile", "compose", *ports, "--json")
    assert up.returncode == 0, up.stderr
    stack.said = json.loads(up.stdout)
    connection = pika.BlockingConnection(pika.URLParameters(stack.said["amqp"]))
    assert connection.channel().basic_get("kept", auto_ack=True)[2] == b"kept"
    connection.close()
