"""Who comes in at the ports of a whole sandbox, and who does not: the same rule at each of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import boto3
import httpx
import pytest
from botocore.exceptions import ClientError
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from emulator.assembly.embedded import Embedded, embedded
from emulator.settings.settings import Settings
from rdss_sandbox.client import Client, RefusedError
from rdss_sandbox.installed_extensions import list_ports
from tests.taken_out import needs

SETTINGS = Settings(aws_port=0, control_port=0, data_dir=None)
PORTS = ("aws", "control", *dict(list_ports()))
SOCKETS = {"queues": "/v2", "topics": "/topics/ws"}
REQUESTS = {
    "aws": ("POST", "/", {"x-amz-target": "Kinesis_20131202.ListStreams"}),
    "control": ("GET", "/status", {}),
    "queues": ("GET", "/v1/health", {}),
    "topics": ("GET", "/topics/messages", {}),
}
APP = "http://app.example:3000"
SECRET = "not-to-be-guessed"


@pytest.fixture(scope="module")
def emulator() -> Iterator[Embedded]:
    with embedded(SETTINGS) as running:
        yield running


@pytest.fixture(scope="module")
def open_to_app() -> Iterator[Embedded]:
    """A sandbox that one page may use, and that is called by another name too."""
    with embedded(replace(SETTINGS, allowed_origins=(APP,), allowed_hosts=("emulator",))) as running:
        yield running


@pytest.fixture(scope="module")
def guarded() -> Iterator[Embedded]:
    """A sandbox with a token."""
    with embedded(replace(SETTINGS, token=SECRET)) as running:
        yield running


def ask(emulator: Embedded, port: str, method: str = "", **headers: str) -> httpx.Response:
    """A request that the port answers to anybody of this machine."""
    usual, path, needed = REQUESTS[port]
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    url = emulator.urls[port] + path
    return httpx.request(method or usual, url, headers=needed | given, trust_env=False, timeout=30)


def handshake(emulator: Embedded, port: str, **headers: str) -> int:
    """The status that a WebSocket gets."""
    at = httpx.URL(emulator.urls[port])
    url = f"ws://{headers.pop('host', at.netloc.decode())}{SOCKETS[port]}"
    try:
        with connect(url, proxy=None, additional_headers=headers, address=(at.host, at.port)):
            return 101
    except InvalidStatus as refused:
        return refused.response.status_code


def silent(answer: httpx.Response) -> bool:
    """Whether it is the answer that tells nothing, not even which port gave it."""
    told = {name: value for name, value in answer.headers.items() if name != "date"}
    return (answer.status_code, answer.content, told) == (403, b"", {"content-length": "0"})


@pytest.mark.parametrize("port", PORTS)
@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "evil.example:4570", "127.0.0.1.evil.example", "localhost.evil.example", "[::2]:1"),
        *("", "0.0.0.0", "evil.amazonaws.com.example", "amazonaws.com.evil.example"),
    ],
)
def test_a_page_that_rebinds_its_name_is_refused(emulator: Embedded, port: str, host: str) -> None:
    """A request that names another host learns nothing, wherever it asks."""
    assert silent(ask(emulator, port, host=host))
    rebound = ask(emulator, port, host=host, origin=f"http://{host}")
    assert silent(rebound)
    health = emulator.urls[port] + "/health"
    assert silent(httpx.get(health, headers={"host": host}, trust_env=False))


@pytest.mark.parametrize("port", PORTS)
@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://localhost:3000", "file://", "http://127.0.0.1", APP]
)
def test_a_web_page_of_elsewhere_is_refused(emulator: Embedded, port: str, origin: str) -> None:
    """So are a simple request, one that a browser asks about first, and that question."""
    assert silent(ask(emulator, port, origin=origin))
    wanted = {"access_control_request_method": "POST", "access_control_request_headers": "x-amz-target"}
    assert silent(ask(emulator, port, "OPTIONS", origin=origin, **wanted))


@pytest.mark.parametrize("port", PORTS)
@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_images_scripts_and_links_of_elsewhere_are_refused(emulator: Embedded, port: str, site: str) -> None:
    """They carry no origin, but browsers say how far away they come from."""
    assert silent(ask(emulator, port, "GET", sec_fetch_site=site, sec_fetch_mode="no-cors"))


@pytest.mark.parametrize("port", PORTS)
def test_the_ports_own_page_and_an_address_typed_by_hand_come_in(emulator: Embedded, port: str) -> None:
    """The origin that is the address itself is no stranger."""
    own = emulator.urls[port]
    assert not silent(ask(emulator, port, origin=own, sec_fetch_site="same-origin"))
    assert not silent(ask(emulator, port, "GET", sec_fetch_site="none"))


@pytest.mark.parametrize("port", PORTS)
@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:4570", "127.0.0.1:1", "[::1]:4570"])
def test_the_names_of_this_machine_are_ours(emulator: Embedded, port: str, host: str) -> None:
    """Any name of loopback, with any port, since a container may map another one."""
    assert not silent(ask(emulator, port, host=host))


@pytest.mark.parametrize(
    "host",
    [
        *("bucket.localhost:4566", "my.bucket.s3.localhost:4566", "s3.localhost.localstack.cloud:4566"),
        *("bucket.s3.localhost.localstack.cloud:4566", "localhost.localstack.cloud"),
        *("bucket.s3.amazonaws.com", "kinesis.eu-west-2.amazonaws.com", "s3.cn-north-1.amazonaws.com.cn"),
        "kinesis.eu-west-2.api.aws",
    ],
)
def test_aws_clients_call_buckets_and_services_by_name(emulator: Embedded, host: str) -> None:
    """Virtual-hosted S3, and clients that are led here by a proxy or a name service of their own."""
    assert not silent(ask(emulator, "aws", host=host))
    assert silent(ask(emulator, "control", host=host))
    assert silent(ask(emulator, "aws", host=host, origin="http://evil.example"))


@pytest.mark.parametrize("port", PORTS)
def test_another_name_can_be_allowed(open_to_app: Embedded, port: str) -> None:
    """In a compose network the sandbox is called by its service's name."""
    assert not silent(ask(open_to_app, port, host="emulator:4570"))
    assert silent(ask(open_to_app, port, host="emulators:4570"))


@pytest.mark.parametrize("port", PORTS)
def test_an_allowed_page_may_ask_and_read(open_to_app: Embedded, port: str) -> None:
    """What it asks about first is allowed, and what is answered may be read, by that page and no other."""
    wanted = {"access_control_request_method": "DELETE", "access_control_request_headers": "x-a,x-b"}
    allowed = ask(open_to_app, port, "OPTIONS", origin=APP, **wanted)
    assert allowed.status_code == 204
    assert allowed.headers["access-control-allow-origin"] == APP
    assert allowed.headers["access-control-allow-methods"] == "DELETE"
    assert allowed.headers["access-control-allow-headers"] == "x-a,x-b"
    answer = ask(open_to_app, port, origin=APP)
    assert answer.status_code != 403
    assert answer.headers.get_list("access-control-allow-origin") == [APP]
    image = ask(open_to_app, port, "GET", sec_fetch_site="cross-site", referer=f"{APP}/page")
    assert not silent(image)
    assert silent(ask(open_to_app, port, origin=f"{APP}1"))
    assert silent(ask(open_to_app, port, "GET", sec_fetch_site="cross-site", referer="http://evil.example/"))


@pytest.mark.parametrize("port", [port for port in PORTS if port in SOCKETS])
def test_a_socket_is_for_programs_and_the_ports_own_page(emulator: Embedded, port: str) -> None:
    """No page of elsewhere gets one, nor one that has rebound its name."""
    for origin in ("http://evil.example", "null"):
        assert handshake(emulator, port, origin=origin) == 403
    assert handshake(emulator, port, host="evil.example", origin="http://evil.example") == 403
    assert handshake(emulator, port) == 101
    assert handshake(emulator, port, origin=emulator.urls[port]) == 101


def test_a_buckets_own_rules_open_nothing(emulator: Embedded) -> None:
    """PutBucketCors is kept and told, but which pages come in is for whoever starts the sandbox to say."""
    s3: Any = client(emulator, "s3")
    s3.create_bucket(Bucket="open")
    rule = {"AllowedMethods": ["GET", "PUT"], "AllowedOrigins": ["*"], "AllowedHeaders": ["*"]}
    s3.put_bucket_cors(Bucket="open", CORSConfiguration={"CORSRules": [rule]})
    assert s3.get_bucket_cors(Bucket="open")["CORSRules"] == [rule]
    s3.put_object(Bucket="open", Key="k", Body=b"v")
    url = f"{emulator.aws}/open/k"
    assert silent(httpx.get(url, headers={"origin": "http://evil.example"}, trust_env=False))
    signed = s3.generate_presigned_url("get_object", Params={"Bucket": "open", "Key": "k"})
    answer = httpx.get(signed, trust_env=False)
    assert answer.content == b"v"
    assert not [name for name in answer.headers if name.startswith("access-control")]


def test_the_sandbox_tells_its_user_why(emulator: Embedded) -> None:
    """Once for each name and page, with the option that would allow it."""
    for _ in range(3):
        ask(emulator, "control", host="docker.internal:8888")
        ask(emulator, "control", origin="http://page.example")
    told = [event.fields for event in emulator.components.events.since() if event.kind == "request.refused"]
    hosts = [each for each in told if each.get("host") == "docker.internal:8888"]
    origins = [each for each in told if each.get("origin") == "http://page.example"]
    assert [each["port"] for each in hosts + origins] == ["control", "control"]
    assert "--allow-host" in hosts[0]["why"]
    assert "--allow-origin" in origins[0]["why"]


# With a token


def client(emulator: Embedded, service: str, **keys: str) -> Any:
    given = {"aws_access_key_id": "sandbox", "aws_secret_access_key": "sandbox"} | keys
    return boto3.client(service, endpoint_url=emulator.aws, region_name="us-east-1", **given)


CALLS = {
    "kinesis": ("list_streams", "UnrecognizedClientException"),
    "dynamodb": ("list_tables", "UnrecognizedClientException"),
    "s3": ("list_buckets", "InvalidAccessKeyId"),
    "sqs": ("list_queues", "InvalidClientTokenId"),
    "sns": ("list_topics", "InvalidClientTokenId"),
    "sts": ("get_caller_identity", "InvalidClientTokenId"),
}


@pytest.mark.parametrize("service", CALLS)
def test_aws_clients_give_the_token_as_session_token_or_access_key(guarded: Embedded, service: str) -> None:
    """Unmodified, by the environment alone; without it they get AWS's error, which says what to do."""
    operation, code = CALLS[service]
    for keys in ({"aws_session_token": SECRET}, {"aws_access_key_id": SECRET}):
        assert getattr(client(guarded, service, **keys), operation)()
    for keys in ({}, {"aws_session_token": "wrong"}, {"aws_secret_access_key": SECRET}):
        with pytest.raises(ClientError, match="AWS_SESSION_TOKEN") as refused:
            getattr(client(guarded, service, **keys), operation)()
        assert refused.value.response["Error"]["Code"] == code


def test_a_presigned_url_carries_the_token(guarded: Embedded) -> None:
    """One made without it opens nothing."""
    s3 = client(guarded, "s3", aws_session_token=SECRET)
    s3.create_bucket(Bucket="signed")
    s3.put_object(Bucket="signed", Key="k", Body=b"v")
    where = {"Bucket": "signed", "Key": "k"}
    url = s3.generate_presigned_url("get_object", Params=where)
    assert httpx.get(url, trust_env=False).content == b"v"
    poor = client(guarded, "s3").generate_presigned_url("get_object", Params=where)
    for bare in (poor, f"{guarded.aws}/signed/k"):
        assert httpx.get(bare, trust_env=False).status_code == 403


@pytest.mark.parametrize("port", PORTS[1:])
def test_without_the_token_nobody_gets_in(guarded: Embedded, port: str) -> None:
    """401 without or with a wrong one, which tells programs what to send."""
    for given in ({}, {"authorization": "Bearer wrong"}, {"authorization": f"Basic {SECRET}"}):
        assert ask(guarded, port, **given).status_code == 401
    assert ask(guarded, port, authorization=f"Bearer {SECRET}").status_code != 401


@needs("queues")
def test_queues_take_the_token_as_openstack_sends_it(guarded: Embedded) -> None:
    """X-Auth-Token."""
    assert ask(guarded, "queues", x_auth_token="wrong").status_code == 401
    assert ask(guarded, "queues", x_auth_token=SECRET).status_code == 204


@needs("topics")
def test_a_socket_of_topics_needs_the_token(guarded: Embedded) -> None:
    """In its handshake."""
    assert handshake(guarded, "topics") == 401
    assert handshake(guarded, "topics", authorization=f"Bearer {SECRET}") == 101


@needs("queues")
def test_a_socket_of_queues_authenticates_first(guarded: Embedded) -> None:
    """With its handshake or its first action; nothing else is done before."""

    def said(socket: Any, action: str, **headers: str) -> int:
        project = {"X-Project-ID": "p", "Client-ID": "3381af92-2b9e-11e3-b191-71861300734c"}
        socket.send(json.dumps({"action": action, "headers": project | headers, "body": {}}))
        status: int = json.loads(socket.recv())["headers"]["status"]
        return status

    url = guarded.urls["queues"].replace("http", "ws") + "/v2"
    with connect(url, proxy=None) as socket:
        assert said(socket, "queue_list") == 403
        assert said(socket, "authenticate") == 403
        assert said(socket, "authenticate", **{"X-Auth-Token": "wrong"}) == 403
        assert said(socket, "queue_list") == 403
        assert said(socket, "authenticate", **{"X-Auth-Token": SECRET}) == 200
        assert said(socket, "queue_list") == 200
    with connect(url, proxy=None, additional_headers={"X-Auth-Token": SECRET}) as socket:
        assert said(socket, "queue_list") == 200


@pytest.mark.parametrize("port", PORTS)
def test_with_the_token_any_name_will_do_but_no_page(guarded: Embedded, port: str) -> None:
    """It is the proof that no page asks by a rebound name; without it such a page learns nothing."""
    given = {"authorization": f"Bearer {SECRET}", "host": "any.example"}
    assert not silent(ask(guarded, port, **given))
    assert silent(ask(guarded, port, **given, origin="http://evil.example"))
    assert silent(ask(guarded, port, host="any.example"))
    assert silent(httpx.get(guarded.urls[port] + "/health", headers={"host": "evil.example"}))


@pytest.mark.parametrize("port", ["aws", "control"])
def test_health_needs_no_token(guarded: Embedded, port: str) -> None:
    """For those who wait for a start."""
    assert httpx.get(f"{guarded.urls[port]}/health", trust_env=False).status_code == 200


def test_our_own_client_says_what_is_missing(guarded: Embedded) -> None:
    """As the control API's error, which commands show."""
    with Client(guarded.control) as bare, pytest.raises(RefusedError, match="SANDBOX_TOKEN") as refused:
        bare.status()
    assert (refused.value.status, refused.value.code) == (401, "token_needed")
    with Client(guarded.control, token=SECRET) as api:
        assert api.buckets()
