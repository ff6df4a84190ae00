"""What the sandbox does not call for anybody: itself, link-local addresses, what it stands in front of."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

import boto3
import httpx
import pytest

from emulator.assembly.embedded import Embedded, embedded
from emulator.destinations import Destinations, ForbiddenError
from emulator.settings.settings import Settings
from rdss_sandbox.installed_extensions import list_ports
from tests.taken_out import needs
from tests.waiting import wait_until

SETTINGS = Settings(aws_port=0, control_port=0, data_dir=None)
OWN_NAMES = (
    *("127.0.0.1", "localhost", "LOCALHOST", "[::1]", "0.0.0.0", "[::]", "127.9.8.7", "127.1"),
    *("2130706433", "0x7f000001", "0177.0.0.1", "0x7f.1", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]"),
    *("[::127.0.0.1]", "[::ffff:0:127.0.0.1]", "[64:ff9b:1::127.0.0.1]"),
    *(
        "localhost.",
        "LocalHost..",
        "some.localhost",
        "a.b.localhost.",
        "127.0.0.1.",
        "127。0。0。1",
        "localhost。",
    ),
    *("[64:ff9b::127.0.0.1]", "[2002:7f00:1::]", "①②⑦.⓪.⓪.①", "user:pw@127.0.0.1"),
)
LINK_LOCAL = (
    *("169.254.169.254", "169.254.0.1", "2852039166", "0xa9fea9fe", "[::ffff:169.254.169.254]"),
    *("[fe80::1]", "[fe80::1%lo]", "[fd00:ec2::254]", "100.100.100.200", "168.63.129.16"),
)
HEADERS = {"client-id": "3381af92-2b9e-11e3-b191-71861300734c", "x-project-id": "p"}


@pytest.fixture(scope="module")
def emulator() -> Iterator[Embedded]:
    with embedded(SETTINGS) as running:
        yield running


class Subscriber:
    """A server of the user's, on a loopback port of its own, that may redirect."""

    def __init__(self) -> None:
        self.came: list[bytes] = []
        self.location = ""
        subscriber = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                subscriber.came.append(body)
                self.send_response(307 if subscriber.location else 200)
                if subscriber.location:
                    self.send_header("location", subscriber.location)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/hook"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()


@pytest.fixture
def subscriber() -> Iterator[Subscriber]:
    found = Subscriber()
    yield found
    found.server.shutdown()
    found.server.server_close()


@contextmanager
def resolving(monkeypatch: pytest.MonkeyPatch, name: str, *addresses: str) -> Iterator[None]:
    """A name that leads to the next of these addresses each time, and to the last from then on."""
    asked, left = socket.getaddrinfo, list(addresses)

    def resolve(host: Any, *given: Any, **named: Any) -> Any:
        if host == name:
            host = left.pop(0) if len(left) > 1 else left[0]
        return asked(host, *given, **named)

    with monkeypatch.context() as patched:
        patched.setattr(socket, "getaddrinfo", resolve)
        yield


# The rule


@pytest.mark.parametrize("host", OWN_NAMES)
def test_the_sandboxs_own_ports_are_not_called_by_any_name(host: str) -> None:
    """Nor by any way to write an address; another port of this machine is."""
    destinations = Destinations()
    destinations.add_port(4570)
    with pytest.raises(ForbiddenError, match=r"the sandbox itself|no URL"):
        destinations.check(f"http://{host}:4570/faults")
    destinations.check("http://127.0.0.1:4571/hook")


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:4570\\@example.com/",
        "http://127.0.0.1:4570\\.example.com/",
        "http://%31%32%37.0.0.1:4570/",
        "http://127.0.0.1\t:4570/",
        "http://example.com /",
        "http://exam\nple.com/",
    ],
)
def test_a_url_whose_host_clients_read_differently_is_refused(url: str) -> None:
    """A backslash is a slash to some, an escape a character, a blank nothing."""
    with pytest.raises(ForbiddenError, match="no URL that can be called"):
        Destinations().check(url)


def test_nor_by_the_machines_own_addresses() -> None:
    """Its name, and what it is called in its network."""
    destinations = Destinations()
    destinations.add_port(4570)
    names = {socket.gethostname(), *socket.gethostbyname_ex(socket.gethostname())[2]}
    with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as outward:
        try:
            outward.connect(("192.0.2.1", 9))
            names.add(outward.getsockname()[0])
        except OSError:
            pass
    for name in names:
        with pytest.raises(ForbiddenError, match="the sandbox itself"):
            destinations.check(f"http://{name}:4570/reset")


@pytest.mark.parametrize("host", LINK_LOCAL)
def test_link_local_addresses_are_not_called(host: str) -> None:
    """On no port."""
    for port in ("", ":80", ":8080"):
        with pytest.raises(ForbiddenError, match="link-local"):
            Destinations().check(f"http://{host}{port}/latest/meta-data/")


def test_a_port_that_nobody_wrote_is_the_schemes() -> None:
    """A sandbox may listen on port 80."""
    destinations = Destinations()
    destinations.add_port(80)
    with pytest.raises(ForbiddenError):
        destinations.check("http://localhost/")
    destinations.check("https://localhost/")


def test_what_the_sandbox_stands_in_front_of_is_not_called() -> None:
    """A broker's management takes whom its own network lets in."""
    destinations = Destinations()
    destinations.add_upstream("localhost", 15672)
    with pytest.raises(ForbiddenError, match="stands in front of"):
        destinations.check("http://127.0.0.1:15672/api/queues")
    destinations.check("http://127.0.0.1:15673/")


def test_a_name_that_nobody_knows_is_looked_at_again_later() -> None:
    """Whoever subscribes a server that is not there yet is not refused."""
    Destinations().check("http://nobody.invalid:80/")
    with pytest.raises(OSError, match=r".+"):
        Destinations().resolve("nobody.invalid", 80)


def test_one_bad_address_among_good_ones_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client would try them all."""

    def resolve(_host: str, port: int, **_: Any) -> Any:
        stream = (socket.AF_INET, socket.SOCK_STREAM, 6, "")
        return [(*stream, ("192.0.2.1", port)), (*stream, ("169.254.169.254", port))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    with pytest.raises(ForbiddenError):
        Destinations().resolve("both.example", 80)


# Queues


def own_ports(emulator: Embedded) -> list[int]:
    """AWS's, that of the control API, and those of extensions."""
    return [int(urlsplit(emulator.urls[name]).port or 0) for name in ("aws", "control", *dict(list_ports()))]


def subscribe(emulator: Embedded, queue: str, url: str) -> httpx.Response:
    body = {"subscriber": url, "ttl": 3600, "options": {"post_data": "{}"}}
    where = f"{emulator.urls['queues']}/v2/queues/{queue}/subscriptions"
    return httpx.post(where, headers=HEADERS, json=body, trust_env=False)


def post(emulator: Embedded, queue: str) -> None:
    where = f"{emulator.urls['queues']}/v2/queues/{queue}/messages"
    body = {"messages": [{"body": 1, "ttl": 300}]}
    assert httpx.post(where, headers=HEADERS, json=body, trust_env=False).status_code == 201


def events(emulator: Embedded, kind: str, subscriber: str) -> list[dict[str, Any]]:
    found = [each.fields for each in emulator.components.events.since(limit=100_000) if each.kind == kind]
    return [fields for fields in found if fields["subscriber"] == subscriber]


@needs("queues")
@pytest.mark.parametrize("scheme", ["http", "trust+http"])
def test_a_queue_takes_no_subscriber_that_must_not_be_called(emulator: Embedded, scheme: str) -> None:
    """400 with the reason, for a new subscription and for a changed one."""
    for port in own_ports(emulator):
        answer = subscribe(emulator, "own", f"{scheme}://localhost:{port}/reset")
        assert answer.status_code == 400
        assert "the sandbox itself" in answer.json()["description"]
    assert subscribe(emulator, "own", f"{scheme}://169.254.169.254/").status_code == 400
    made = subscribe(emulator, "own", f"{scheme}://127.0.0.1:1/fine")
    assert made.status_code == 201
    where = f"{emulator.urls['queues']}/v2/queues/own/subscriptions/{made.json()['subscription_id']}"
    change = {"subscriber": f"{scheme}://127.0.0.1:{own_ports(emulator)[1]}/faults"}
    assert httpx.patch(where, headers=HEADERS, json=change, trust_env=False).status_code == 400


@needs("queues")
def test_a_subscriber_of_the_users_own_is_told(emulator: Embedded, subscriber: Subscriber) -> None:
    """On another port of this machine, by address and by name."""
    for number, host in enumerate(("127.0.0.1", "localhost")):
        url = f"http://{host}:{subscriber.port}/hook"
        assert subscribe(emulator, f"users-{number}", url).status_code == 201
        post(emulator, f"users-{number}")
        wait_until(lambda url=url: events(emulator, "queue.notified", url))
    assert len(subscriber.came) == 2


@needs("queues")
@pytest.mark.parametrize("later", ["own", "169.254.169.254"])
def test_a_name_that_leads_elsewhere_at_delivery_is_not_called(
    emulator: Embedded, monkeypatch: pytest.MonkeyPatch, later: str
) -> None:
    """It was harmless when it was subscribed."""
    before = emulator.components.events.last
    port = own_ports(emulator)[1]
    address = "127.0.0.1" if later == "own" else later
    url = f"http://rebound-{later}.example:{port}/reset"
    name = f"rebound-{later}.example"
    with resolving(monkeypatch, name, "192.0.2.1", address):
        assert subscribe(emulator, f"rebound-{later}", url).status_code == 201
        post(emulator, f"rebound-{later}")
        (failed, *_) = wait_until(lambda: events(emulator, "queue.notification_failed", url))
    assert "refused" in failed["why"]
    assert not [each for each in emulator.components.events.since(before) if each.kind == "sandbox.reset"]


@needs("queues")
def test_the_address_that_was_looked_at_is_the_one_that_is_called(
    emulator: Embedded, monkeypatch: pytest.MonkeyPatch, subscriber: Subscriber
) -> None:
    """A name that leads to the sandbox the moment after it was looked at gains nothing."""
    url = f"http://flips.example:{subscriber.port}/hook"
    # At subscription, at delivery, and whatever comes after.
    with resolving(monkeypatch, "flips.example", "127.0.0.1", "127.0.0.1", "169.254.169.254"):
        assert subscribe(emulator, "flips", url).status_code == 201
        post(emulator, "flips")
        wait_until(lambda: events(emulator, "queue.notified", url))
    assert len(subscriber.came) == 1


# SNS


def sns(emulator: Embedded) -> Any:
    keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "region_name": "us-east-1"}
    return boto3.client("sns", endpoint_url=emulator.aws, **keys)


def test_sns_takes_no_subscriber_that_must_not_be_called(emulator: Embedded) -> None:
    """InvalidParameter, as SNS says it of an endpoint that it does not like."""
    client = sns(emulator)
    topic = client.create_topic(Name="refused")["TopicArn"]
    urls = [f"http://localhost:{port}/reset" for port in own_ports(emulator)] + ["https://169.254.169.254/"]
    for url in urls:
        with pytest.raises(client.exceptions.InvalidParameterException, match="must not be called"):
            client.subscribe(TopicArn=topic, Protocol=urlsplit(url).scheme, Endpoint=url)
    assert not client.list_subscriptions_by_topic(TopicArn=topic)["Subscriptions"]


def test_sns_tells_a_subscriber_of_the_users_own(emulator: Embedded, subscriber: Subscriber) -> None:
    """And one that does not answer keeps nobody from publishing."""
    client = sns(emulator)
    topic = client.create_topic(Name="told")["TopicArn"]
    client.subscribe(TopicArn=topic, Protocol="http", Endpoint="http://127.0.0.1:1/nobody")
    client.subscribe(TopicArn=topic, Protocol="http", Endpoint=subscriber.url)
    client.publish(TopicArn=topic, Message="hello")
    wait_until(lambda: subscriber.came)
    assert b'"Message": "hello"' in subscriber.came[0]
    assert wait_until(lambda: events(emulator, "sns.notified", subscriber.url))
    assert wait_until(lambda: events(emulator, "sns.notification_failed", "http://127.0.0.1:1/nobody"))


def test_sns_follows_no_redirect_to_the_sandbox(emulator: Embedded, subscriber: Subscriber) -> None:
    """307 would have it POST to the control API."""
    before = emulator.components.events.last
    client = sns(emulator)
    topic = client.create_topic(Name="redirected")["TopicArn"]
    client.subscribe(TopicArn=topic, Protocol="http", Endpoint=subscriber.url)
    subscriber.location = f"{emulator.control}/reset"
    client.publish(TopicArn=topic, Message="hello")
    (failed, *_) = wait_until(lambda: events(emulator, "sns.notification_failed", subscriber.url))
    assert "the sandbox itself" in failed["why"]
    assert not [each for each in emulator.components.events.since(before) if each.kind == "sandbox.reset"]


def test_sns_does_not_call_a_name_that_leads_elsewhere_by_then(
    emulator: Embedded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was harmless when it was subscribed."""
    client = sns(emulator)
    topic = client.create_topic(Name="rebound")["TopicArn"]
    url = "http://rebound-sns.example/latest"
    # Every sandbox of this process looks, so that how often the name is asked for is not known.
    with resolving(monkeypatch, "rebound-sns.example", "192.0.2.1"):
        client.subscribe(TopicArn=topic, Protocol="http", Endpoint=url)
    with resolving(monkeypatch, "rebound-sns.example", "169.254.169.254"):
        client.publish(TopicArn=topic, Message="hello")
        (failed, *_) = wait_until(lambda: events(emulator, "sns.notification_failed", url))
    assert "link-local" in failed["why"]


def test_moto_is_as_it_was_once_the_sandbox_is_gone() -> None:
    """A suite that uses moto's own decorators, with its calls mocked, is not in our way nor we in its."""
    import moto.sns.models
    import requests

    with embedded(SETTINGS) as running:
        sns(running).list_topics()
    from emulator.listeners.aws import moto_calls

    if not moto_calls._running:
        assert vars(moto.sns.models)["requests"] is requests
