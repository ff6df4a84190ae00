"""The configurations of proxies in docs/how-to/tls.md, with the real servers, where they are installed."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import socket
import ssl
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import boto3
import httpx
import pika
import pytest
from botocore.config import Config
from websockets.sync.client import connect as open_socket

from emulator.clock import Clock
from emulator.machine.certificate_authority import new_authority
from rdss_sandbox.client import Client
from rdss_sandbox.process import RunningSandbox, sandbox_process
from tests.docs.pages import ROOT, blocks
from tests.taken_out import needs
from tests.waiting import wait_until

pytestmark = [needs("queues", "topics"), pytest.mark.xdist_group("proxies")]

NAMES = [f"{name}.example.org" for name in ("aws", "control", "queues", "topics")]
TOKEN = "a-token-of-the-team"
_MODULE = Path("/usr/lib/nginx/modules/ngx_stream_module.so")
PAGE = blocks(ROOT / "docs/how-to/tls.md")
FILES = {each.said["file"]: each.text for each in PAGE if "file" in each.said}


def find_program(name: str) -> str:
    found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")
    if found is None:
        pytest.skip(f"{name} is not installed; Debian has it as a package")
    return found


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port


class Proxied:
    """A sandbox without TLS, whose ports a proxy gives the names of the page, at ``port``."""

    def __init__(self, running: RunningSandbox, folder: Path) -> None:
        self.running = running
        self.folder = folder
        self.port = free_port()
        self.trust = new_authority(Clock())
        self.bundle = str(self.trust.write_certificate(folder / "authority.pem"))
        self.context = ssl.create_default_context(cafile=self.bundle)
        issued = self.trust.issue([*NAMES, "example.org"], Clock())
        for name in ("certificate.pem", "key.pem"):
            (folder / name).write_bytes(issued)

    def url(self, name: str) -> str:
        return f"https://{name}.example.org:{self.port}"

    def configure(self, file: str) -> str:
        """A configuration as the page has it, with the ports and the folder of this test."""
        urls = {"4566": self.running.aws, "4570": self.running.control, "5672": str(self.running.amqp)}
        urls |= {"8888": self.running.ports["queues"], "9007": self.running.ports["topics"]}
        text = FILES[file].replace("/etc/sandbox", str(self.folder))
        for usual, url in urls.items():
            text = text.replace(usual, httpx.URL(url).netloc.decode().rpartition(":")[2])
        return text


@contextmanager
def started(command: list[str], folder: Path, port: int) -> Iterator[None]:
    """Run a proxy in the foreground until it is no longer needed."""
    with (folder / "said.log").open("wb") as said:
        process = subprocess.Popen(command, stdout=said, stderr=said, env={**os.environ, "HOME": str(folder)})

    def listens() -> bool:
        assert process.poll() is None, (folder / "said.log").read_text()
        with socket.socket() as trying:
            return trying.connect_ex(("127.0.0.1", port)) == 0

    try:
        wait_until(listens)
        yield
    finally:
        process.terminate()
        process.wait(20)


@pytest.fixture(scope="module")
def running() -> Iterator[RunningSandbox]:
    (start,) = [each.text for each in PAGE if "not run" in each.said]
    options = shlex.split(start.partition("sandbox up ")[2].replace("\\\n", ""))
    with pytest.MonkeyPatch.context() as patch:
        # The fixture of processes gives a sandbox none of the caller's variables.
        patch.setattr("rdss_sandbox.process._environment", lambda: {**os.environ, "SANDBOX_TOKEN": TOKEN})
        with sandbox_process(*options) as found:
            yield found


@pytest.fixture
def proxied(running: RunningSandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Proxied:
    real: Callable[..., Any] = socket.getaddrinfo

    def resolve(host: Any, *rest: Any, **further: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        return real("127.0.0.1" if str(name).endswith("example.org") else host, *rest, **further)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    return Proxied(running, tmp_path)


def test_caddy(proxied: Proxied) -> None:
    """Every port but AMQP, by the configuration as it is printed."""
    program = find_program("caddy")
    file = proxied.folder / "Caddyfile"
    head = f"{{\n\tadmin off\n\tauto_https disable_redirects\n\thttps_port {proxied.port}\n}}\n"
    file.write_text(head + proxied.configure("Caddyfile"))
    command = [program, "run", "--adapter", "caddyfile", "--config", str(file)]
    with started(command, proxied.folder, proxied.port):
        see_everything_of(proxied)


def test_nginx(proxied: Proxied) -> None:
    """The same by nginx, in the frame that Debian has around it."""
    program = find_program("nginx")
    place = proxied.folder
    sites = proxied.configure("sandbox.conf").replace("listen 443", f"listen 127.0.0.1:{proxied.port}")
    with started(nginx(program, place, f"http {{\n{_temporary(place)}\n{sites}\n}}"), place, proxied.port):
        see_everything_of(proxied)


def test_nginx_for_amqps(proxied: Proxied) -> None:
    """pika speaks AMQPS to it, with the token as the password."""
    program = find_program("nginx")
    if not _MODULE.exists():
        pytest.skip("nginx has no module stream: libnginx-mod-stream of Debian brings it")
    port = free_port()
    stream = proxied.configure("amqps.conf").replace("listen 5671", f"listen 127.0.0.1:{port}")
    with started(nginx(program, proxied.folder, stream, f"load_module {_MODULE};"), proxied.folder, port):
        parameters = pika.URLParameters(f"amqps://guest:{TOKEN}@example.org:{port}/")
        parameters.ssl_options = pika.SSLOptions(proxied.context, "example.org")
        with closing(pika.BlockingConnection(parameters)) as connection:
            channel = connection.channel()
            channel.queue_declare("proxied")
            channel.confirm_delivery()
            channel.basic_publish("", "proxied", b"x" * 300_000)
            assert len(channel.basic_get("proxied", auto_ack=True)[2]) == 300_000


def nginx(program: str, folder: Path, sites: str, before: str = "") -> list[str]:
    """The command that runs nginx in the foreground, with everything that it writes in the folder."""
    file = folder / "nginx.conf"
    file.write_text(f"{before}\ndaemon off;\npid {folder}/nginx.pid;\nevents {{}}\n{sites}\n")
    return [program, "-p", str(folder), "-e", "stderr", "-c", str(file)]


def _temporary(folder: Path) -> str:
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    return "access_log off;\n" + "\n".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)


def see_everything_of(proxied: Proxied) -> None:
    """What clients of each port see: bodies both ways, names in answers, live answers, pages, sockets."""
    see_aws(proxied)
    see_control(proxied)
    with httpx.Client(verify=proxied.context, headers={"x-auth-token": TOKEN}) as http:
        assert http.get(f"{proxied.url('queues')}/").status_code == 300
    url = proxied.url("topics").replace("https:", "wss:")
    headers = {"authorization": f"Bearer {TOKEN}"}
    with open_socket(
        f"{url}/topics/ws", ssl=proxied.context, additional_headers=headers, proxy=None
    ) as opened:
        opened.send(json.dumps({"cmd": "sow", "topic": "orders", "ack_type": "processed"}))
        assert json.loads(opened.recv(timeout=20))["cmd"] == "ack"


def see_aws(proxied: Proxied) -> None:
    def connect(service: str, token: str | None = TOKEN) -> Any:
        made: Any = boto3.client
        keys = {"aws_access_key_id": "any", "aws_secret_access_key": "any", "aws_session_token": token}
        return made(
            service,
            endpoint_url=proxied.url("aws"),
            region_name="us-east-1",
            verify=proxied.bundle,
            config=Config(s3={"addressing_style": "path"}, retries={"total_max_attempts": 1}),
            **keys,
        )

    body = os.urandom(8_000_000)
    s3, sqs, kinesis = connect("s3"), connect("sqs"), connect("kinesis")
    s3.create_bucket(Bucket="proxied")
    s3.put_object(Bucket="proxied", Key="large", Body=body)
    assert s3.get_object(Bucket="proxied", Key="large")["Body"].read() == body
    with httpx.Client(http2=True, verify=proxied.context) as http:
        found = http.get(f"{proxied.url('aws')}/proxied/large")
        assert (found.status_code, found.http_version) == (403, "HTTP/2")
    queue = sqs.create_queue(QueueName="proxied")["QueueUrl"]
    assert queue.startswith(f"{proxied.url('aws')}/")
    sqs.send_message(QueueUrl=queue, MessageBody="one")
    assert kinesis.put_record(StreamName="input", Data=body[:900_000], PartitionKey="1")["ShardId"]
    with pytest.raises(Exception, match="token"):
        connect("kinesis", token=None).list_streams()


def see_control(proxied: Proxied) -> None:
    control = proxied.url("control")
    with Client(control, token=TOKEN, trust=proxied.bundle) as client:
        assert client.status().streams
    with httpx.Client(
        base_url=control, verify=proxied.context, headers={"authorization": f"Bearer {TOKEN}"}
    ) as http:
        assert http.get("/").status_code == 200
        asked = {"origin": "https://control.example.org"}
        made = http.post("/faults", json={"type": "latency", "channel": "none"}, headers=asked)
        assert made.is_success, made.text
        assert http.post("/faults", json={}, headers={"origin": "https://else.test"}).status_code == 403
        with http.stream("GET", "/clock", headers={"accept": "text/event-stream"}) as live:
            assert next(line for line in live.iter_lines() if line.startswith("data:"))
