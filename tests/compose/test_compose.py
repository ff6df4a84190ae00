"""The compose file, and the whole stack brought up from it where there is an engine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pika
import pika.exceptions
import pytest
import yaml
from botocore.exceptions import BotoCoreError, ClientError

from emulator.clock import Clock
from rdss_sandbox.client import Client
from rdss_sandbox.files.record_lines import read_line
from rdss_sandbox.machine.docker_connection import connect
from rdss_sandbox.shapes.faults import NewFault
from rdss_sandbox.shapes.streams import Reshard
from sandbox.aws_endpoint import AwsEndpoint
from schemas.rdss.envelope import serialise
from schemas.rdss.samples import Samples
from tests.compose.stack import FILE, Stack
from tests.waiting import wait_until

ROOT = Path(__file__).parents[2]
SERVICES = {"localstack", "rabbitmq", "emulator"}

pytestmark = pytest.mark.xdist_group("compose")


def configured(*profiles: str) -> dict[str, Any]:
    """The compose file as Compose understands it, or a skip where there is no Compose."""
    if shutil.which("docker") is None:
        pytest.skip("NO DOCKER: there is no docker command, so compose.yaml was not looked at by Compose")
    chosen = [word for profile in profiles for word in ("--profile", profile)]
    command = ["docker", "compose", "-f", str(FILE), *chosen, "config", "--format", "json"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    if "is not a docker command" in ran.stderr or "unknown shorthand flag" in ran.stderr:
        pytest.skip("NO COMPOSE: docker has no compose plug-in, so compose.yaml was not looked at by Compose")
    assert ran.returncode == 0, ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


@pytest.mark.compose
def test_compose_understands_the_file() -> None:
    """Without warnings; the further services only with their profiles."""
    assert set(configured()["services"]) == SERVICES
    cluster = {"spark-master", "spark-worker", "pipeline"}
    assert set(configured("tui", "pipeline")["services"]) == SERVICES | {"tui"} | cluster


@pytest.mark.compose
def test_only_the_emulator_is_published_and_on_loopback() -> None:
    """No other container can be reached from this machine, and none from another."""
    for name, service in configured("tui", "pipeline")["services"].items():
        published = {port["host_ip"] for port in service.get("ports", [])}
        assert published == ({"127.0.0.1"} if name == "emulator" else set())


def test_the_image_needs_no_other_to_be_built() -> None:
    """A syntax line would have the builder pull one; nothing names where packages come from."""
    text = (ROOT / "compose" / "Dockerfile").read_text()
    assert "syntax=" not in text
    assert "index-url" not in text
    assert "USER sandbox" in text


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
    """Sent with boto3 through a fault and a live split, read back, listed, and audited in S3."""
    control.reset()
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
    wait_until(lambda: control.messages(matching="stream:input").total >= 23)
    assert control.messages(matching="stream:input").total == 23
    assert control.drain_audit().pending == 0
    kept = [
        read_line(line)
        for row in control.objects("rdss-audit").objects
        for line in aws("s3").get_object(Bucket="rdss-audit", Key=row.key)["Body"].read().splitlines()
    ]
    # Each once: a copy that was put twice, for its first answer got lost, would have the same source.
    assert sorted(line.data for line in kept if line.source) == sorted(came)
    assert len({line.source for line in kept}) == 23
    assert control.faults()[0].injected == 3


_STALE = """
import importlib.util, os, sys, sandbox.profiles.relay_profile
for name, module in sorted(sys.modules.items()):
    if (source := getattr(module, '__file__', None) or '').endswith('.py'):
        compiled = importlib.util.cache_from_source(source)
        made = open(compiled, 'rb').read(12)[8:] if os.path.exists(compiled) else b''
        if int.from_bytes(made, 'little') != int(os.stat(source).st_mtime):
            print(name)
"""


@pytest.mark.compose
@pytest.mark.timeout(900)
def test_nothing_is_compiled_when_a_container_starts(stack: Stack) -> None:
    """What the relay's profile imports has bytecode in the image, made of the source that is there."""
    ran = stack.compose("exec", "-T", "emulator", "python", "-c", _STALE)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


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
    clock, before = Clock(), control.last_event()
    began = clock.elapsed()
    control.add_fault(NewFault(type_, name=type_, direction="control", attributes=attributes, limit=1))
    wait_until(lambda: is_struck(stack, "localstack"))

    def is_put() -> bool:
        with suppress(BotoCoreError, ClientError):
            kinesis.put_record(StreamName="error", Data=type_.encode(), PartitionKey="k")
            return True
        return False

    wait_until(is_put)
    assert clock.elapsed() - began > 2
    assert control.fault(type_).injected == 1
    assert [event for event in control.events(after=before) if event.kind == "fault.failed"] == []
    assert {b"before", type_.encode()} <= set(read_all(kinesis, "error"))


@pytest.mark.compose
@pytest.mark.timeout(900)
def test_a_killed_broker_is_named_and_has_kept_its_messages(stack: Stack, control: Client) -> None:
    """Doctor and status say which it is, what befell it and when, and the command that starts it again."""
    if os.environ.get("DOCKER_HOST", "unix:").partition(":")[0] != "unix":
        pytest.skip("REMOTE ENGINE: its socket cannot be given to the emulator, so no container was killed")
    publish_persistent(stack, "survives", b"written down")
    attributes = {"target": "rabbitmq"}
    control.add_fault(NewFault("kill", name="kill", direction="control", attributes=attributes, limit=1))
    (finding,) = wait_until(lambda: findings_about_the_broker(stack))
    assert finding["found"].startswith("rabbitmq is exited")
    assert "died with exit code 137 at " in finding["found"]
    assert f"trouble  {finding['found']}" in stack.command("status").stdout
    again = subprocess.run(finding["remedy"].split(), capture_output=True, check=False, timeout=120)
    assert again.returncode == 0, again.stderr
    assert wait_until(lambda: got_from(stack, "survives")) == b"written down"
    assert wait_until(lambda: findings_about_the_broker(stack) == [])
    assert control.remove_fault("kill").injected == 1


def findings_about_the_broker(stack: Stack) -> list[dict[str, Any]]:
    """What doctor says of it; another service may still be recovering from what struck it before."""
    found = json.loads(stack.command("doctor", "--json").stdout)
    return [each for each in found if each["about"] == "service" and each["found"].startswith("rabbitmq ")]


def publish_persistent(stack: Stack, queue: str, body: bytes) -> None:
    """With a confirm, to a durable queue that is made."""
    connection = pika.BlockingConnection(pika.URLParameters(stack.said["amqp"]))
    channel = connection.channel()
    channel.queue_declare(queue, durable=True)
    channel.confirm_delivery()
    channel.basic_publish("", queue, body, pika.BasicProperties(delivery_mode=2))
    connection.close()


def got_from(stack: Stack, queue: str) -> bytes | None:
    """A message of the queue; None while there is none, or nobody answers."""
    try:
        connection = pika.BlockingConnection(pika.URLParameters(stack.said["amqp"]))
        body: bytes | None = connection.channel().basic_get(queue, auto_ack=True)[2]
        connection.close()
    except (pika.exceptions.AMQPError, OSError):
        return None
    return body


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
def test_the_screens_image_is_built_and_reaches_the_emulator(stack: Stack) -> None:
    """By the service's name, with its own variables; Textual is in it."""
    built = stack.compose("--profile", "tui", "build", "tui")
    assert built.returncode == 0, built.stderr
    run = ("--profile", "tui", "run", "--rm", "--no-deps", "--no-TTY")
    both = "python -c 'import tui.app' && sandbox status"
    ran = stack.compose(*run, "--entrypoint", "sh", "tui", "-c", both)
    assert ran.returncode == 0, ran.stderr


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
def test_a_port_taken_before_the_engine_has_it_gives_way(
    stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody asked for that very port, so the stack is brought up at whatever is free then."""
    assert stack.command("down").returncode == 0
    lost = tmp_path / "lost"
    taking_it_first(tmp_path / "bin" / "docker", lost)
    with monkeypatch.context() as patch:
        patch.setitem(stack.environment, "PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
        stack.up()
    assert lost.exists()
    assert httpx.get(stack.said["ports"]["topics"]).status_code < httpx.codes.INTERNAL_SERVER_ERROR


def taking_it_first(command: Path, lost: Path) -> None:
    """A docker command: the real one, but at its first ``up`` somebody listens at one of the ports."""
    command.parent.mkdir()
    command.write_text(f"""#!{sys.executable}
import os, pathlib, socket, subprocess, sys

lost, line = pathlib.Path({str(lost)!r}), [{shutil.which("docker")!r}, *sys.argv[1:]]
if "up" in sys.argv and not lost.exists():
    port = os.environ["SANDBOX_TOPICS_PORT"]
    lost.write_text(port)
    with socket.create_server(("127.0.0.1", int(port))):
        sys.exit(subprocess.call(line))
os.execv(line[0], line)
""")
    command.chmod(0o755)


@pytest.mark.compose
@pytest.mark.timeout(900)
def test_down_keeps_what_it_holds(stack: Stack, aws: Callable[[str], Any]) -> None:
    """After down and up the streams, RabbitMQ's durable messages, the buckets and the audit log are there."""
    aws("kinesis").put_record(StreamName="output", Data=b"kept", PartitionKey="k")
    publish_persistent(stack, "kept", b"kept")
    # LocalStack's Kinesis writes what it has every five seconds.
    Clock().wait(6)
    down = stack.command("down", "--json")
    assert json.loads(down.stdout) == {"pid": None, "stopped": True}
    assert stack.command("status").returncode == 3
    stack.up()
    assert got_from(stack, "kept") == b"kept"
    anew = AwsEndpoint(stack.said["aws"], stack.said["region"], stack.said["token"])
    kinesis, s3 = anew.kinesis(), anew.s3()
    assert b"kept" in read_all(kinesis, "output")
    # The audit bucket is made again from the audit stream.
    assert {"rdss-audit", "rdss-error", "rdss-invalid"} <= {b["Name"] for b in s3.list_buckets()["Buckets"]}
    with Client(stack.said["control"], token=stack.said["token"]) as control:
        assert control.drain_audit().pending == 0
        keys = [row.key for row in control.objects("rdss-audit").objects]
        lines = [read_line(line) for key in keys for line in control.object("rdss-audit", key).splitlines()]
    assert [line.data for line in lines if line.source and line.source.stream == "output"].count(b"kept") == 1
    kinesis.close()
    s3.close()


@pytest.mark.compose
@pytest.mark.timeout(900)
def test_a_killed_stack_has_what_users_put(stack: Stack, aws: Callable[[str], Any]) -> None:
    """Every container is killed right after the last answer: objects are as they were, each version."""
    s3 = aws("s3")
    s3.create_bucket(Bucket="mine")
    s3.put_bucket_versioning(Bucket="mine", VersioningConfiguration={"Status": "Enabled"})
    for number in range(20):
        s3.put_object(
            Bucket="mine", Key="thing", Body=b"%d" % number, Metadata={"n": str(number)}, Tagging="a=b"
        )
    before = all_versions(s3)
    killed = stack.compose("kill", "--signal", "KILL")
    assert killed.returncode == 0, killed.stderr
    assert stack.command("down").returncode == 0
    stack.up()
    again = AwsEndpoint(stack.said["aws"], stack.said["region"], stack.said["token"]).s3()
    assert all_versions(again) == before
    assert again.get_object(Bucket="mine", Key="thing")["Metadata"] == {"n": "19"}
    assert again.get_object_tagging(Bucket="mine", Key="thing")["TagSet"] == [{"Key": "a", "Value": "b"}]
    again.close()


def all_versions(s3: Any) -> list[tuple[str, str, Any]]:
    listed = s3.list_object_versions(Bucket="mine")["Versions"]
    return [(each["VersionId"], each["ETag"], each["LastModified"]) for each in listed]


def test_the_number_of_published_ports_is_the_one_that_is_told() -> None:
    """The compose file's own words and the page of profiles say how many there are, and where."""
    services = yaml.safe_load(FILE.read_text(encoding="utf-8"))["services"]
    published = {name: service["ports"] for name, service in services.items() if service.get("ports")}
    assert list(published) == ["emulator"]
    assert all(port.startswith("127.0.0.1:") for port in published["emulator"])
    assert len(published["emulator"]) == 5
    assert "the emulator's five ports, on loopback" in FILE.read_text(encoding="utf-8")
    assert "Only the emulator's five ports are published" in (ROOT / "docs" / "profiles.md").read_text()
