"""A sandbox with TLS on every port: what clients that others wrote see of it, and the commands too."""

from __future__ import annotations

import json
import os
import re
import shlex
import socket
import ssl
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import boto3
import httpx
import pika
import pytest
from botocore.exceptions import SSLError

from emulator.clock import Clock
from emulator.machine.certificate_authority import new_authority
from rdss_sandbox.aws_environment import aws_environment
from rdss_sandbox.client import Client, UnreachableError
from rdss_sandbox.process import RunningSandbox, sandbox_process
from tests.taken_out import needs

Process = Callable[..., Any]
QUIET = ("--aws-port", "0", "--control-port", "0", "--amqp-port", "0", "--amqp-management-port", "0")


@pytest.fixture(scope="module")
def served() -> Iterator[RunningSandbox]:
    with sandbox_process("--tls", "self-signed") as running:
        yield running


@pytest.fixture
def context(served: RunningSandbox) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=served.trust)


def connect(served: RunningSandbox, service: str, verify: str | None) -> Any:
    made: Any = boto3.client
    return made(
        service,
        endpoint_url=served.aws,
        region_name="us-east-1",
        aws_access_key_id="any",
        aws_secret_access_key="any",
        verify=verify,
    )


def test_every_port_speaks_tls_and_nothing_else(served: RunningSandbox, context: ssl.SSLContext) -> None:
    """Its certificate is for the address and for localhost; who does not speak TLS gets no answer."""
    with Client(served.control, trust=served.trust) as client:
        doors = client.status().doors
    assert doors is not None
    names = {port.name for port in doors.ports}
    assert names >= {"aws", "control", "amqp", "amqp_management"}
    for port in doors.ports:
        for name in ("127.0.0.1", "localhost"):
            with (
                socket.create_connection((port.address, port.port)) as plain,
                context.wrap_socket(plain, server_hostname=name) as secured,
            ):
                assert secured.version() == "TLSv1.3"
        with socket.create_connection((port.address, port.port), timeout=20) as plain:
            plain.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert not plain.recv(100).startswith(b"HTTP")


def test_every_url_is_one_of_tls(served: RunningSandbox) -> None:
    """Those that are printed, and those in answers of AWS's services."""
    with Client(served.control, trust=served.trust) as client:
        status = client.status()
    assert {urlsplit(url).scheme for url in (served.aws, served.control, *served.ports.values())} == {"https"}
    assert {urlsplit(str(url)).scheme for url in (status.aws, status.control, status.amqp_management)} == {
        "https"
    }
    assert str(status.amqp).startswith("amqps://guest:guest@127.0.0.1:")
    queue = connect(served, "sqs", served.trust).create_queue(QueueName="over-tls")
    assert queue["QueueUrl"].startswith(f"{served.aws}/")


def test_boto3_with_the_authority_goes_both_ways(served: RunningSandbox) -> None:
    """A record near the limit, and an object that comes in many reads, come back whole."""
    record, large = os.urandom(900_000), os.urandom(20_000_000)
    kinesis, s3 = connect(served, "kinesis", served.trust), connect(served, "s3", served.trust)

    put = kinesis.put_record(StreamName="input", Data=record, PartitionKey="k")
    s3.create_bucket(Bucket="over-tls")
    s3.put_object(Bucket="over-tls", Key="large", Body=large)

    place = {"StreamName": "input", "ShardId": put["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
    iterator = kinesis.get_shard_iterator(**place)["ShardIterator"]
    assert [each["Data"] for each in kinesis.get_records(ShardIterator=iterator)["Records"]] == [record]
    assert s3.get_object(Bucket="over-tls", Key="large")["Body"].read() == large


def test_who_is_not_told_of_the_authority_refuses(
    served: RunningSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """boto3, and our own client, which says what to do."""
    monkeypatch.delenv("AWS_CA_BUNDLE", raising=False)
    with pytest.raises(SSLError):
        connect(served, "kinesis", None).list_streams()
    with (
        Client(served.control) as client,
        pytest.raises(UnreachableError, match="AWS_CA_BUNDLE names the file"),
    ):
        client.health()


def test_a_client_may_ask_for_either_version_of_http(served: RunningSandbox, context: ssl.SSLContext) -> None:
    """By ALPN; a long body and a refusal that ends the connection are the same in both."""
    for http2, version in ((True, "HTTP/2"), (False, "HTTP/1.1")):
        with httpx.Client(http2=http2, verify=context, timeout=30) as http:
            found = http.get(f"{served.aws}/_localstack/health")
            assert (found.status_code, found.http_version) == (200, version)
            found = http.get(f"{served.control}/{'x' * 20_000}")
            assert (found.status_code, found.http_version) == (414, version)


def test_the_pages_are_those_of_their_own_origin(served: RunningSandbox, context: ssl.SSLContext) -> None:
    """A page that came over TLS may ask, one of the same host that did not may not."""
    plain = served.control.replace("https:", "http:")
    with httpx.Client(base_url=served.control, verify=context) as http:
        assert [http.get(path).status_code for path in ("/", "/docs", "/learn", "/picture")] == [200] * 4
        assert http.get("/picture", headers={"origin": served.control}).status_code == 200
        assert http.get("/picture", headers={"origin": plain}).status_code == 403


def test_pika_over_amqps(served: RunningSandbox, context: ssl.SSLContext) -> None:
    """A message of many frames comes back; the management says, as RabbitMQ's, that TLS is spoken."""
    parameters = pika.URLParameters(str(served.amqp))
    parameters.ssl_options = pika.SSLOptions(context, "127.0.0.1")
    body = os.urandom(400_000)
    with closing(pika.BlockingConnection(parameters)) as connection:
        channel = connection.channel()
        channel.queue_declare("over-tls")
        channel.confirm_delivery()
        channel.basic_publish("", "over-tls", body)
        assert channel.basic_get("over-tls", auto_ack=True)[2] == body
        with Client(served.control, trust=served.trust) as client:
            management = client.status().amqp_management
        with httpx.Client(verify=context, auth=("guest", "guest")) as http:
            assert [each["ssl"] for each in http.get(f"{management}/api/connections").json()] == [True]


@needs("topics")
def test_a_websocket_over_tls(served: RunningSandbox, context: ssl.SSLContext) -> None:
    """The topics' own, with the client that websockets has."""
    from websockets.sync.client import connect as open_socket

    url = f"{served.ports['topics'].replace('https:', 'wss:')}/topics/ws"
    with open_socket(url, ssl=context) as opened:
        opened.send(json.dumps({"cmd": "sow", "topic": "orders", "ack_type": "processed"}))
        assert json.loads(opened.recv(timeout=20))["cmd"] == "ack"


def test_tables_in_its_s3_are_written_and_read(served: RunningSandbox) -> None:
    """By the libraries of the pipeline, with the endpoint and AWS_CA_BUNDLE in the environment."""
    connect(served, "s3", served.trust).create_bucket(Bucket="tables-over-tls")
    # In a process of its own: the libraries read the environment once.
    program = """
import os, pyarrow, sys
from deltalake import write_deltalake
from rdss_sandbox.tables import read_table
from sandbox.cli.tables.pipeline_options import GivenEndpoint
from sandbox.pipeline.storage.table_storage import TableStorage
place = TableStorage.at("s3://tables-over-tls", *GivenEndpoint(sys.argv[1], None)())
with place.filesystem.open_output_stream("tables-over-tls/note") as note:
    note.write(b"x")
write_deltalake(f"{place.uri}/rows", pyarrow.table({"n": [1, 2]}), storage_options=place.options)
print(len(read_table(place.uri, "rows", endpoint_url=sys.argv[1])), flush=True)
os._exit(0)  # now and then a thread of these libraries aborts an ordinary end
"""
    ran = subprocess.run(
        [sys.executable, "-c", program, served.aws],
        env={**os.environ, **aws_environment(served.aws, served.region, trust=served.trust)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (ran.returncode, ran.stdout.strip()) == (0, "2"), ran.stderr


def test_the_line_to_paste_is_all_that_clients_need(process: Process) -> None:
    """boto3 in a shell with nothing else set, and the commands where it was started, or elsewhere by it."""
    up = process("up", *QUIET, "--tls", "self-signed", "--detach")
    assert up.code == 0, up.err
    (line,) = [line for line in up.err.splitlines() if line.startswith("export ")]
    python = shlex.quote(sys.executable)
    program = shlex.quote("import boto3; print(boto3.client('kinesis').list_streams()['StreamNames'])")
    control = json.loads(Path(".sandbox/running.json").read_text())["control"]
    pasted = f"{line}\n{python} -c {program}\ncd /\n{python} -m sandbox readers --control {control}"
    ran = subprocess.run(
        ["env", "-i", f"PYTHONPATH={os.pathsep.join(sys.path)}", "bash", "--norc", "-c", pasted],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ran.stderr == ""
    assert ran.stdout.startswith("['audit', 'error', 'input', 'invalid', 'output']\n")
    assert process("env").out.splitlines()[0] == line
    assert json.loads(process("env", "--json").out)["AWS_CA_BUNDLE"].endswith("/tls/authority.pem")

    sample = process("message", "sample")
    assert process("send", "-", stdin=sample.out).code == 0
    assert process("wait", "--for", "stream input has 1 message").code == 0
    assert process("receive", "--count", "1", "--timeout", "20s").code == 0
    assert process("wait", "--for", "bucket rdss-audit has 1 object").code == 0
    assert process("send", "--kind", "rabbitmq", "--channel", "work", "-", stdin=sample.out).code == 0
    assert process("watch", "--no-open").out.startswith("https://127.0.0.1:")
    assert process("down").code == 0


def test_the_lines_for_python_and_curl(process: Process) -> None:
    """As ``up`` and ``env`` print them, with nothing else set; env's are comments to a shell."""
    up = process("up", *QUIET, "--tls", "self-signed", "--detach")
    printed = process("env").out
    lines = dict(line.removeprefix("# ").partition(": ")[::2] for line in printed.splitlines()[1:])
    assert all(f"\n{name}: {text}\n" in up.err for name, text in lines.items() if text)
    found = json.loads(Path(".sandbox/running.json").read_text())

    program = (
        f"import pika, httpx, ssl\nparameters = pika.URLParameters({found['amqp']!r})\n{lines['pika']}\n"
        f"pika.BlockingConnection(parameters).close()\n"
        f"print({lines['httpx']}.get('{found['control']}/health').status_code)"
    )
    for command, said in (([sys.executable, "-c", program], "200"), (shlex.split(lines["curl"]), "ok")):
        ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert ran.returncode == 0, ran.stderr
        assert said in ran.stdout
    shell = subprocess.run(["sh", "-c", printed], capture_output=True, check=False, timeout=60)
    assert (shell.returncode, shell.stdout, shell.stderr) == (0, b"", b"")


def test_the_images_health_check_knows_of_tls(served: RunningSandbox) -> None:
    """By the settings that the container was started with; without them the port must speak HTTP."""
    dockerfile = Path(__file__).parents[3].joinpath("compose/Dockerfile").read_text(encoding="utf-8")
    (check,) = re.findall(r"^HEALTHCHECK .*\\\n *CMD (\[.*\])$", dockerfile, re.MULTILINE)
    port = {"SANDBOX_CONTROL_PORT": str(urlsplit(served.control).port)}

    def is_healthy(**settings: str) -> bool:
        ran = subprocess.run(
            json.loads(check), env={**os.environ, **port, **settings}, check=False, timeout=60
        )
        return ran.returncode == 0

    assert is_healthy(SANDBOX_TLS="self-signed")
    assert is_healthy(SANDBOX_TLS_CERT="/certificate.pem")
    assert not is_healthy()
    with sandbox_process() as plain:
        port["SANDBOX_CONTROL_PORT"] = str(urlsplit(plain.control).port)
        assert is_healthy()


def test_env_without_a_sandbox_says_how_to_start_one(process: Process) -> None:
    ran = process("env")
    assert (ran.code, ran.out) == (3, "")
    assert "start one with: sandbox up --detach" in ran.err


def test_a_token_comes_by_a_cookie_that_stays_on_tls(process: Process) -> None:
    """Beyond loopback there is a token; the cookie of the watch page is never sent in the clear."""
    up = process("up", *QUIET, "--host", "0.0.0.0", "--tls", "self-signed", "--detach", "--json")
    found = json.loads(up.out)
    with httpx.Client(verify=ssl.create_default_context(cafile=found["trust"])) as http:
        entered = http.get(process("watch", "--no-open").out.strip())
        assert "Secure" in entered.headers["set-cookie"]
        assert http.get(f"{found['control']}/picture").status_code == 200


def test_the_authority_is_kept_and_private(process: Process) -> None:
    """Clients are told of it once; nobody else can read its key; a broken one is told, and what to do."""
    folder = Path(".sandbox/data/tls")
    assert process("up", *QUIET, "--tls", "self-signed", "--detach").code == 0
    first = (folder / "authority.pem").read_bytes()
    modes = {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert (stat.S_IMODE(folder.stat().st_mode), modes) == (0o700, {0o600})
    assert process("down").code == 0
    assert process("up", *QUIET, "--tls", "self-signed", "--allow-host", "box.test", "--detach").code == 0
    assert (folder / "authority.pem").read_bytes() == first
    assert process("down").code == 0

    (folder / "authority-key.pem").write_text("none")
    refused = process("up", *QUIET, "--tls", "self-signed", "--detach")
    assert refused.code == 3
    assert "remove " in refused.err
    assert "clients must be told to trust" in refused.err


def test_a_certificate_of_ones_own(process: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    """By settings as all others; its authority is that of AWS_CA_BUNDLE, and queues are declared over it."""
    authority = new_authority(Clock())
    Path("host.pem").write_bytes(authority.issue(["localhost"], Clock()))
    trust = authority.write_certificate(Path("ca.pem").resolve())
    Path("topology.toml").write_text("[streams]\ninput = 1\n[queues.work]\n")
    Path("sandbox.toml").write_text(
        '[sandbox]\ntls_cert = "host.pem"\ntls_key = "host.pem"\ntopology = "topology.toml"\n'
    )
    monkeypatch.setenv("AWS_CA_BUNDLE", str(trust))

    up = process("up", *QUIET, "--detach", "--json")

    found = json.loads(up.out)
    assert found["control"].startswith("https://localhost:")
    assert found["trust"] == str(trust)
    status = json.loads(process("status", "--json").out)
    assert not [note for note in status["notes"] if "not declared" in note]


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("--tls-cert", "a.pem"), 2, "tls_cert is set, and tls_key is not"),
        (("--tls-key", "a.pem"), 2, "tls_key is set, and tls_cert is not"),
        (("--tls", "self-signed", "--tls-cert", "a.pem"), 2, "give self-signed, or a certificate of yours"),
        (("--tls", "acme"), 2, "self-signed"),
        (("--tls", "self-signed", "--profile", "compose"), 2, "put a proxy in front"),
        (("--tls-cert", "a.pem", "--tls-key", "a.pem"), 3, "a.pem cannot be read: No such file or directory"),
    ],
)
def test_what_cannot_be_is_refused_at_the_start(
    process: Process, options: tuple[str, ...], code: int, said: str
) -> None:
    """In one line, before anything listens; nothing is left."""
    refused = process("up", *QUIET, *options)
    assert refused.code == code
    assert said in refused.err
    assert "Traceback" not in refused.err
    assert not Path(".sandbox/running.json").exists()
