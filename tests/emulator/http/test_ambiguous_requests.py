"""Requests that two readers may understand differently: nobody comes in by one, at any port."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from emulator.assembly.embedded import Embedded, embedded
from emulator.settings.settings import Settings
from rdss_sandbox.admission import host_name
from rdss_sandbox.installed_extensions import list_ports

PORTS = {"aws": "/", "control": "/status"} | {name: "/nothing" for name, _ in list_ports()}
EVIL = "http://evil.example"


@pytest.fixture(scope="module")
def emulator() -> Iterator[Embedded]:
    settings = Settings(aws_port=0, control_port=0, amqp="none", data_dir=None)
    with embedded(settings) as running:
        yield running


def status(emulator: Embedded, port: str, target: str, *headers: str) -> int:
    """What a request gets that is written by hand; ``{own}`` is the port's host and number."""
    own = emulator.urls[port].removeprefix("http://")
    host, _, number = own.partition(":")
    lines = (f"GET {target or PORTS[port]} HTTP/1.1", *headers, "connection: close", "", "")
    with socket.create_connection((host, int(number)), timeout=30) as connection:
        connection.sendall("\r\n".join(lines).replace("{own}", own).encode("latin-1"))
        with connection.makefile("rb") as answer:
            return int(answer.readline().split()[1])


@pytest.mark.parametrize("port", PORTS)
@pytest.mark.parametrize(
    "headers",
    [
        ("host: evil.example", "host: {own}"),
        ("host: {own}", "host: evil.example"),
        ("host: {own}", "Host: {own}"),
        ("host: {own}", f"origin: {EVIL}", "origin: http://{own}"),
        ("host: {own}", "sec-fetch-site: cross-site", "sec-fetch-site: none"),
    ],
)
def test_what_is_said_twice_is_not_believed(emulator: Embedded, port: str, headers: tuple[str, ...]) -> None:
    """Another reader may take the other one (RFC 9112 section 3.2)."""
    assert status(emulator, port, "", *headers) == 400


@pytest.mark.parametrize("port", PORTS)
@pytest.mark.parametrize(
    "host",
    [
        *("{own}@evil.example", "127.0.0.1:80@evil.example", "{own}, evil.example", "{own} evil.example"),
        *(
            "[::1].evil.example",
            "[127.0.0.1",
            "localhost:evil.example",
            "localhost/evil.example",
            "localhost:1:2",
        ),
    ],
)
def test_a_host_that_begins_as_ours_and_is_none_is_refused(emulator: Embedded, port: str, host: str) -> None:
    """It is a host and a port, or nobody's (RFC 9110 section 7.2)."""
    assert status(emulator, port, "", f"host: {host}") == 403


@pytest.mark.parametrize("port", PORTS)
def test_the_target_says_whom_a_request_is_for(emulator: Embedded, port: str) -> None:
    """In its absolute form, whatever Host says (RFC 9112 section 3.2.2)."""
    path = PORTS[port]
    assert status(emulator, port, EVIL + path, "host: {own}") == 403
    assert status(emulator, port, "http://{own}@evil.example" + path, "host: {own}") == 403
    plain = status(emulator, port, "", "host: {own}")
    assert status(emulator, port, "http://{own}" + path, "host: evil.example") == plain != 403


@pytest.mark.parametrize("port", PORTS)
def test_an_origin_without_a_name_is_a_strangers(emulator: Embedded, port: str) -> None:
    """No browser says so of a page of ours."""
    assert status(emulator, port, "", "host: {own}", "origin:") == 403


@pytest.mark.parametrize(
    ("host", "name"),
    [
        (b"LOCALHOST:4566", "localhost"),
        (b"127.0.0.1", "127.0.0.1"),
        (b"[::1]:80", "::1"),
        (b"[::1]", "::1"),
        (b"localhost:", "localhost"),
        (b"my-bucket.s3.amazonaws.com", "my-bucket.s3.amazonaws.com"),
    ],
)
def test_the_name_of_a_host(host: bytes, name: str) -> None:
    """In lower case, without port and brackets."""
    assert host_name(host) == name
