"""Source systems of a running sandbox are told of ends as its integration file says."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from emulator.assembly.embedded import embedded
from emulator.clock import Clock
from emulator.settings.settings import Settings
from extensions.processing.integration import Integration
from extensions.processing.integration_file import read_integration
from extensions.processing.processing_errors import IntegrationError
from extensions.processing.sources import check_confirmations
from rdss_sandbox.shapes.processing import Answer, AsyncMessageDetail, OutsideCall, Restart, Script
from sandbox.cli import main
from schemas.rdss.envelope import serialise
from schemas.rdss.samples import Samples
from tests.extensions.processing.test_control import ProcessingSandbox, run_sandbox
from tests.taken_out import needs
from tests.waiting import wait_until

ROUTES = """
[systems.crm]
[[routes]]
service = "metadata"
operation = "create"
calls = ["crm"]
[[routes]]
service = "metadata"
operation = "ask"
steps = [{do = "wait"}]
"""


@dataclass
class Source:
    """A source system that listens on ``url``, and answers by ``answers`` first and 200 then."""

    url: str = ""
    answers: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    heard: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)

    @property
    def said(self) -> list[Any]:
        return [json.loads(body) for _, _, _, body in self.heard]


@contextmanager
def _listening() -> Iterator[Source]:
    source = Source()

    class Handler(BaseHTTPRequestHandler):
        def _take(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            source.heard.append((self.command, self.path, headers, body))
            status, more = source.answers.pop(0) if source.answers else (200, {})
            self.send_response(status)
            for name, value in more.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_POST = do_PUT = do_GET = _take  # noqa: N815 -- the names of the library

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        source.url = f"http://127.0.0.1:{server.server_port}"
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield source
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def source() -> Iterator[Source]:
    with _listening() as found:
        yield found


def _integration(tmp_path: Path, confirm: str) -> Integration:
    path = tmp_path / "integration.toml"
    path.write_text(f"{confirm}\n{ROUTES}")
    return read_integration(path)


def _told(found: ProcessingSandbox, number: int, *states: str) -> OutsideCall:
    """The confirmation of a message, once it is in one of these states."""

    def look() -> OutsideCall | None:
        calls = found.client.processing.show(number).calls
        return next(
            (each for each in calls if each.operation == "confirmation" and each.state in states), None
        )

    return wait_until(look)


def _retried(found: ProcessingSandbox, number: int, failed: int, *states: str) -> OutsideCall:
    """Once it has failed so often; the clock brings the attempts."""

    def look() -> OutsideCall | None:
        call = _told(found, number, "PROCESSING", "FAILED", "FAILED_END", "OK")
        if call.failed == failed and call.state in states:
            return call
        found.clock.advance(61)
        return None

    return wait_until(look)


def test_a_source_is_told_over_http_of_every_kind_of_end(tmp_path: Path, source: Source) -> None:
    """OK, SKIPPED, FAILED, CANCEL, and anew what a restart led to; each once, with its reason."""
    way = f'[confirm.crm]\nby = "http"\nurl = "{source.url}/ends"\n'
    with run_sandbox(None, _integration(tmp_path, way)) as found:
        processing = found.client.processing
        processing.script("crm", Script(("500",)))
        older = found.send(source="crm", correlation="older", object_id="5")
        found.settled(older, "PARTLY_FAILED")
        found.settled(found.send(source="CRM", correlation="newer", object_id="5"), "OK")
        wait_until(lambda: len(source.heard) == 1)
        found.clock.advance(121)
        found.settled(older, "SKIPPED")
        processing.script("crm", Script(("validation: no title",)))
        failed = found.send(source="CRM", correlation="bad", object_id="6")
        found.settled(failed, "FAILED")
        asked = found.send(source="CRM", correlation="asked", operation="ask", object_id="7")
        found.settled(asked, "WAITING_FOR_RES")
        processing.cancel(asked)
        wait_until(lambda: len(source.heard) == 4)
        processing.restart(failed, Restart("total"))
        found.clock.advance(121)
        found.settled(failed, "OK")
        wait_until(lambda: len(source.heard) == 5)
        elsewhere = found.send(source="ERP", correlation="elsewhere", object_id="8")
        _told(found, elsewhere, "OK")
    said = [(each["correlationID"], each["processingResult"]) for each in source.said]
    assert said == [
        ("newer", "OK"),
        ("older", "SKIPPED"),
        ("bad", "FAILED"),
        ("asked", "CANCEL"),
        ("bad", "OK"),
    ]
    assert "is newer" in source.said[1]["additionalInfo"]
    assert source.said[2]["additionalInfo"] == "no title"
    method, path, headers, _ = source.heard[0]
    assert (method, path, headers["content-type"]) == ("POST", "/ends", "application/json")


def test_method_headers_and_body_are_the_files(tmp_path: Path, source: Source) -> None:
    """A text is sent as it is: so XML, as a service of SOAP wants it."""
    way = f"""
[confirm.CRM]
by = "http"
url = "{source.url}/soap?x=1"
method = "PUT"
ends = ["FAILED"]
[confirm.CRM.headers]
Content-Type = "text/xml"
X-Key = "k"
[confirm.CRM.body]
"$text" = ["<confirm><id>", "$.message.correlation", "</id>", "$.result", " ", "$.body.title", "</confirm>"]
"""
    with run_sandbox(None, _integration(tmp_path, way)) as found:
        found.settled(found.send(source="CRM", object_id=None), "OK")
        found.client.processing.script("crm", Script(("validation: no",)))
        found.send(source="CRM", correlation="1", object_id=None, body='{"title": "Reef"}')
        wait_until(lambda: source.heard)
    ((method, path, headers, body),) = source.heard
    assert (method, path) == ("PUT", "/soap?x=1")
    assert (headers["content-type"], headers["x-key"]) == ("text/xml", "k")
    assert body == b"<confirm><id>1</id>FAILED Reef</confirm>"


def test_a_source_that_does_not_listen_is_tried_as_often_as_the_file_says(
    tmp_path: Path, source: Source, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its failures are counted in the store, shown with the reason and the next time, and an event."""
    source.answers = [(503, {})] * 9
    way = f'[confirm."*"]\nby = "http"\nurl = "{source.url}/ends"\nretries = 2\ninterval = 30\n'
    integration = _integration(tmp_path, way)
    with run_sandbox(tmp_path / "data", integration) as found:
        number = found.send(correlation="c")
        first = _told(found, number, "FAILED")
        assert (first.failed, first.due) == (1, found.clock.time() + 30)
        assert first.description == f"{source.url}/ends answered 503 Service Unavailable"
        assert main(["process", "show", str(number), "--control", found.control]) == 0
        out = capfd.readouterr().out
        assert "confirmation" in out
        assert "answered 503 Service Unavailable" in out
        (event,) = [e for e in found.client.events(limit=10_000) if e.kind == "processing.unconfirmed"]
        assert (event.fields["message"], event.fields["failures"]) == (number, 1)
        found.clock.advance(30)
        wait_until(lambda: _told(found, number, "FAILED", "PROCESSING").failed == 2)
    with run_sandbox(tmp_path / "data", integration) as found:
        last = _retried(found, number, 3, "FAILED_END")
        assert last.due is None
        found.clock.advance(600)
        assert found.client.processing.show(number).message.state == "OK"
        assert len(source.heard) == 3
        source.answers = []
        found.client.processing.restart(number, Restart("partial"))
        found.clock.advance(61)
        assert _told(found, number, "OK").failed == 0


def test_a_source_is_told_by_an_rdss_message(tmp_path: Path) -> None:
    """On the stream that the file names; what is none of RDSS cannot be, and is tried no more."""
    message = serialise(next(Samples(3).stream(1)))
    way = '[confirm.CRM]\nby = "rdss"\nstream = "output"\n'
    with run_sandbox(None, _integration(tmp_path, way)) as found:
        _told(found, found.send(source="CRM", body=message.decode(), object_id=None), "OK")
        (row,) = [row for row in found.client.messages().messages if row.stream == "output"]
        assert row.message_class == "Document"
        call = _told(found, found.send(source="CRM", body="{}", object_id=None), "FAILED_END")
        assert call.failed == 1
        assert "no RDSS message" in str(call.description)


def test_a_stream_that_is_not_there_is_tried_again(tmp_path: Path) -> None:
    """Somebody may make it: the call says what is missing."""
    message = serialise(next(Samples(3).stream(1)))
    with run_sandbox(None, _integration(tmp_path, '[confirm.CRM]\nby = "rdss"\nstream = "ends"\n')) as found:
        number = found.send(source="CRM", body=message.decode(), object_id=None)
        assert "ends" in str(_told(found, number, "FAILED").description)


@needs("topics")
def test_a_source_is_told_by_a_topic(tmp_path: Path) -> None:
    """Whoever subscribes to it hears of the end."""
    body = '{objectUUID = "$.message.correlation", end = "$.result"}'
    way = f'[confirm.CRM]\nby = "topic"\ntopic = "objects"\nbody = {body}'
    with run_sandbox(None, _integration(tmp_path, way)) as found:
        _told(found, found.send(source="CRM", correlation="c-9", object_id=None), "OK")
        records = found.client.topics.records("objects").records
        assert [json.loads(bytes(each.data)) for each in records] == [{"objectUUID": "c-9", "end": "OK"}]


@needs("topics")
def test_a_topic_that_does_not_take_it_says_why(tmp_path: Path) -> None:
    """Without its key a record is none."""
    way = '[confirm.CRM]\nby = "topic"\ntopic = "objects"\n'
    with run_sandbox(None, _integration(tmp_path, way)) as found:
        call = _told(found, found.send(source="CRM", object_id=None), "FAILED")
        assert "objects did not take it" in str(call.description)


def test_a_redirect_is_followed_where_it_keeps_the_method(tmp_path: Path, source: Source) -> None:
    """Another would ask for a page, and the end would not have been told."""
    source.answers = [(308, {"Location": "/there"}), (200, {}), (302, {"Location": "/page"})]
    way = f'[confirm.CRM]\nby = "http"\nurl = "{source.url}/here"\n'
    with run_sandbox(None, _integration(tmp_path, way)) as found:
        _told(found, found.send(source="CRM", object_id=None), "OK")
        call = _told(found, found.send(source="CRM", object_id=None), "FAILED")
        assert str(call.description).endswith("/here answered 302 Found")
    assert [(method, path) for method, path, _, _ in source.heard] == [
        ("POST", "/here"),
        ("POST", "/there"),
        ("POST", "/here"),
    ]
    assert source.heard[0][3] == source.heard[1][3]


@pytest.mark.parametrize("where", ["http://169.254.169.254/latest", "control", "[::ffff:169.254.169.254]"])
def test_a_redirect_to_what_must_not_be_called_is_refused(tmp_path: Path, source: Source, where: str) -> None:
    """Neither where clouds keep credentials nor the sandbox itself."""
    with run_sandbox(
        None, _integration(tmp_path, f'[confirm.CRM]\nby = "http"\nurl = "{source.url}/"\n')
    ) as found:
        target = {"control": f"{found.control}/reset"}.get(where, f"http://{where.removeprefix('http://')}")
        source.answers = [(307, {"Location": target})]
        call = _told(found, found.send(source="CRM", object_id=None), "FAILED")
        assert "refused: " in str(call.description)
        assert "must not be called" in str(call.description)
        assert found.client.processing.search()  # nobody has reset it


@pytest.mark.parametrize("where", ["http://169.254.169.254/", "http://[fe80::1]/", "control"])
def test_what_must_not_be_called_is_refused_where_it_is_declared(tmp_path: Path, where: str) -> None:
    """With the line of the URL, as soon as the sandbox's own ports are known."""
    settings = Settings(aws_port=0, control_port=0, data_dir=None)
    path = tmp_path / "integration.toml"
    with embedded(settings, Clock()) as emulator:
        url = emulator.control.replace("127.0.0.1", "localhost") if where == "control" else where
        path.write_text(f'[confirm.CRM]\nby = "http"\n\nurl = "{url}"\n')
        with pytest.raises(IntegrationError, match=r"integration\.toml:4: .*must not be called: .*elsewhere"):
            check_confirmations(read_integration(path), emulator.components)


def test_a_slow_source_holds_nobody_up(tmp_path: Path) -> None:
    """Who cancels is answered, while a worker waits for a source that takes the call and says nothing."""
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        run_sandbox(None, _integration(tmp_path, _waiting_for(silent, seconds=30))) as found,
    ):
        number = found.send(source="CRM", operation="ask", object_id=None)
        found.settled(number, "WAITING_FOR_RES")
        found.client.processing.cancel(number)
        call, _ = silent.accept()
        assert {each.state for each in found.client.processing.show(number).calls} & {"PROCESSING"}
        call.close()
        _told(found, number, "FAILED")


def test_a_source_that_says_nothing_is_given_up(tmp_path: Path) -> None:
    """After the seconds that the file gives it."""
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        run_sandbox(None, _integration(tmp_path, _waiting_for(silent, seconds=1))) as found,
    ):
        number = found.send(source="CRM", operation="ask", object_id=None)
        found.settled(number, "WAITING_FOR_RES")
        found.client.processing.cancel(number)
        assert "timed out" in str(_told(found, number, "FAILED").description)


def _waiting_for(silent: socket.socket, *, seconds: int) -> str:
    url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
    return f'[confirm.CRM]\nby = "http"\nurl = "{url}"\ntimeout = {seconds}\n'


def test_a_message_is_given_its_answer_by_the_control_api_and_the_command(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Once: one that does not wait, or no more, is refused."""
    with run_sandbox(None, _integration(tmp_path, "")) as found:
        first, second = (found.send(operation="ask", object_id=None) for _ in range(2))
        waiting: AsyncMessageDetail = found.settled(first, "WAITING_FOR_RES")
        assert waiting.actions == ("cancel", "answer")
        found.client.processing.answer(first, Answer("42"))
        found.settled(first, "OK")
        found.settled(second, "WAITING_FOR_RES")
        assert main(["process", "answer", str(second), "42", "--control", found.control]) == 0
        found.settled(second, "OK")
        capfd.readouterr()
        assert main(["process", "answer", str(second), "42", "--control", found.control]) != 0
        assert "one that is WAITING_FOR_RES can" in capfd.readouterr().err
