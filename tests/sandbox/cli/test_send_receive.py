"""``sandbox send`` and ``sandbox receive``: what goes in comes out once, and nothing that fails is lost."""

from __future__ import annotations

import io
import json
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from emulator.assembly.embedded import Embedded
from emulator.channels.kind_registry import KINDS, KinesisQueues
from emulator.channels.kinds import ChannelKind
from rdss_sandbox.client import Client
from rdss_sandbox.shapes.messages import NewMessage
from schemas.rdss.envelope import serialise
from schemas.rdss.error_codes import ErrorCode
from schemas.rdss.peek import peek
from schemas.rdss.samples import Samples

Ask = Callable[..., Any]


def _lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def _given(monkeypatch: pytest.MonkeyPatch, text: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))


def test_messages_of_a_file_arrive_once_each(ask: Ask) -> None:
    """NDJSON sent twice is received once, message by message as it was sent; the next receive has nothing."""
    messages = list(Samples(1).stream(5))
    Path("many.ndjson").write_bytes(b"\n".join(map(serialise, messages)))
    assert ask("send", "many.ndjson").code == 0
    sent = ask("send", "many.ndjson", "--json")
    assert [line["messageId"] for line in _lines(sent.out)] == [
        m["messageHeader"]["messageId"] for m in messages
    ]
    received = ask("receive", "--json")
    assert received.code == 0
    assert sorted(map(str, _lines(received.out))) == sorted(map(str, messages))
    assert ask("receive").out == ""


def test_a_large_message_arrives_whole(ask: Ask) -> None:
    """Sent as a sequence of three, received as one with the body that was in the file."""
    message = Samples(1).big_message(3)
    Path("large.json").write_text(json.dumps(message, ensure_ascii=False), encoding="utf-8")
    assert len(ask("send", "large.json").out.splitlines()) == 3
    (received,) = _lines(ask("receive", "--json").out)
    assert received == message


def test_count_stops_there_and_goes_on_from_there(ask: Ask) -> None:
    """--count takes so many; the rest comes the next time; asking for more than there is fails."""
    Path("many.ndjson").write_bytes(b"\n".join(map(serialise, Samples(1).stream(5))))
    ask("send", "many.ndjson")
    assert len(ask("receive", "--count", "2").out.splitlines()) == 2
    rest = ask("receive", "--count", "4")
    assert (rest.code, len(rest.out.splitlines())) == (1, 3)
    assert rest.err == "sandbox: 3 of 4 messages came\n"


@pytest.mark.parametrize("channel", ["input", "error"])
def test_a_signal_ends_it_behind_the_message_in_hand(
    ask: Ask, emulator: Embedded, monkeypatch: pytest.MonkeyPatch, channel: str
) -> None:
    """What was printed when Ctrl-C came is not printed again; the rest comes the next time."""
    Path("many.ndjson").write_bytes(b"\n".join(map(serialise, Samples(1).stream(5))))
    ask("send", "many.ndjson", "--channel", channel)
    echo = click.echo
    interrupted: list[bool] = []

    def echo_and_interrupt(*args: Any, **options: Any) -> None:
        echo(*args, **options)
        if not interrupted:
            interrupted.append(True)
            signal.raise_signal(signal.SIGINT)

    # A shell that runs the tests in the background has Ctrl-C ignored.
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    with monkeypatch.context() as patch:
        patch.setattr(click, "echo", echo_and_interrupt)
        first = ask("receive", "--channel", channel, "--json", "--follow")
    signal.signal(signal.SIGINT, usual)
    assert first.code == 130
    assert len(_lines(first.out)) == 1
    second = ask("receive", "--channel", channel, "--json")
    ids = [line["messageHeader"]["messageId"] for line in _lines(first.out + second.out)]
    assert len(ids) == len(set(ids)) == 5


def test_a_bad_message_is_found_in_the_invalid_queue(ask: Ask) -> None:
    """It is not printed by receive, and is in the channel invalid with its code."""
    Path("bad.json").write_bytes(Samples(1).bad(ErrorCode.GENERR004))
    ask("send", "bad.json")
    assert ask("receive").out == ""
    (rejected,) = _lines(ask("receive", "--channel", "invalid", "--json").out)
    assert rejected["messageHeader"]["errorCode"] == "GENERR004"


def test_what_is_rejected_is_told(ask: Ask, emulator: Embedded) -> None:
    """A line with code, queue and id for each, a count at the end, rows of their own kind, and events."""
    good = serialise(Samples(1).message())
    bad = [Samples(2).bad(code) for code in (ErrorCode.GENERR004, ErrorCode.GENERR003, ErrorCode.GENERR010)]
    ids = [peek(each).message_id for each in bad]
    Path("four.ndjson").write_bytes(b"\n".join((bad[0], good, *bad[1:])))
    ask("send", "four.ndjson")
    ran = ask("receive", "--json")
    rows = _lines(ran.out)
    rejected = [row["rejected"] for row in rows if "rejected" in row]
    assert len(rows) == 4
    assert [row["code"] for row in rejected] == ["GENERR004", "GENERR003", "GENERR010"]
    assert [row["queue"] for row in rejected] == ["invalid", "error", "invalid"]
    assert [row["messageId"] for row in rejected] == ids
    *lines, last = ran.err.splitlines()
    for line, row in zip(lines, rejected, strict=True):
        start = f"sandbox: {row['code']} moved {row['messageId']} to the queue {row['queue']}: "
        assert line.startswith(start), line
        assert row["why"][:40] in line
    assert last == "sandbox: 3 rejected: 1 in error, 2 in invalid"
    assert ask("receive").err == ""

    with Client(emulator.control) as client:
        client.drain_audit()
        events = [each.fields for each in client.events() if each.kind == "message.rejected"]
    assert sorted((each["message_id"], each["code"], each["queue"]) for each in events) == sorted(
        (row["messageId"], row["code"], row["queue"]) for row in rejected
    )


def test_what_has_expired_is_told_when_it_is_sent_and_refused_on_demand(ask: Ask, emulator: Embedded) -> None:
    """By the sandbox's clock (GENERR003: expired when delivery was attempted); the others go out."""
    message, other = Samples(1).stream(2)
    message["messageHeader"]["messageTimings"]["expirationTimestamp"] = "2035-01-01T00:00:00Z"
    Path("two.ndjson").write_bytes(serialise(message) + b"\n" + serialise(other))
    assert ask("send", "two.ndjson", "--strict").err == ""
    emulator.components.clock.set_time(2_100_000_000.0)
    sent = ask("send", "two.ndjson")
    assert (sent.code, len(sent.out.splitlines())) == (0, 2)
    said = "sandbox: two.ndjson:1 expired at 2035-01-01T00:00:00Z (GENERR003); "
    assert sent.err == f"{said}it is sent all the same\n"
    strict = ask("send", "two.ndjson", "--strict", "--json")
    assert (strict.code, strict.err) == (1, f"{said}--strict did not send it\n")
    assert [row["messageId"] for row in _lines(strict.out)] == [other["messageHeader"]["messageId"]]


def test_what_is_no_json_is_sent_only_on_demand(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """One clear line and exit code 2, the other messages sent; with --as-is it goes out as it is."""
    good = serialise(Samples(1).message())
    _given(monkeypatch, good + b'\n{"messageHeader": \n')
    sent = ask("send", "-")
    assert (sent.code, len(sent.out.splitlines())) == (2, 1)
    assert sent.err.startswith("sandbox: standard input:2 is not JSON (")
    assert sent.err.endswith("); it was not sent, and --as-is sends it all the same\n")
    _given(monkeypatch, b'{"messageHeader": ')
    assert ask("send", "-", "--as-is").code == 0
    assert len(ask("receive").out.splitlines()) == 1
    (rejected,) = _lines(ask("receive", "--channel", "invalid", "--json").out)
    assert rejected["messageHeader"]["errorCode"] == "GENERR007"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b'{"hello": 1}', "is an object without messageHeader and messageBody, and so not a message"),
        (b"{}", "is an object without"),
        (b"[]", "is an array and not a message"),
        (b'[{"messageHeader": {}, "messageBody": {}}]', "is an array"),
        (b'"x"', "is a string"),
        (b"12", "is a number"),
        (b"-1.5e3", "is a number"),
        (b"true", "is true or false"),
        (b"null", "is null"),
        (b"hello", "is not JSON ("),
        (b'{"messageHeader": "\xff"}', "is not JSON ("),
        (b"[" * 5000, "is not JSON ("),
        (b"", "is empty"),
        (b"\n \n", "is empty"),
    ],
)
def test_what_is_no_message_is_not_sent(
    ask: Ask, monkeypatch: pytest.MonkeyPatch, text: bytes, why: str
) -> None:
    """Exit code 2 and a line that says what it is instead; --as-is sends the very bytes."""
    _given(monkeypatch, text)
    sent = ask("send", "-")
    assert (sent.code, sent.out, sent.err.count("\n")) == (2, "", 1)
    assert sent.err.startswith(f"sandbox: standard input {why}")
    assert ask("messages", "--json").out == ""

    if text.strip():
        _given(monkeypatch, text)
        assert ask("send", "-", "--as-is").code == 0
        (row,) = _lines(ask("messages", "--json").out)
        assert row["size"] == len(text)


@pytest.mark.parametrize(
    "text",
    [
        b'{"messageHeader": {}, "messageBody": {}}',
        b'{"messageHeader": 5}',
        b'{"messageBody": null}',
        b'{"messageHeader": {"messageType": "Letter"}, "more": []}',
    ],
)
def test_a_message_however_wrong_is_sent_for_its_receiver_to_reject(
    ask: Ask, monkeypatch: pytest.MonkeyPatch, text: bytes
) -> None:
    """The invalid queue shows the code that it deserves."""
    _given(monkeypatch, text)
    assert ask("send", "-").code == 0
    assert ask("receive").out == ""
    (rejected,) = _lines(ask("receive", "--channel", "invalid", "--json").out)
    assert rejected["messageHeader"]["errorCode"].startswith("GENERR")


def test_a_timeout_ends_the_wait_for_messages_that_do_not_come(ask: Ask) -> None:
    """Exit code 4 when fewer came than were to come, 0 when nothing was asked for; what came is printed."""
    nothing = ask("receive", "--follow", "--count", "5", "--timeout", "300ms")
    assert (nothing.code, nothing.out) == (4, "")
    assert nothing.err == "sandbox: 0 of 5 messages came within 0.3 s\n"

    Path("two.ndjson").write_bytes(b"\n".join(map(serialise, Samples(1).stream(2))))
    ask("send", "two.ndjson")
    some = ask("receive", "--count", "5", "--timeout", "1s")
    assert (some.code, len(some.out.splitlines())) == (4, 2)
    assert ask("receive", "--follow", "--timeout", "100ms").code == 0


def test_what_comes_before_the_timeout_is_waited_for(ask: Ask, emulator: Embedded) -> None:
    """The count ends the wait, without --follow too."""
    message = serialise(Samples(1).message())
    with Client(emulator.control) as client:
        later = threading.Timer(0.5, client.send, [NewMessage("input", message)])
        later.start()
        ran = ask("receive", "--count", "1", "--timeout", "60s")
        later.join()

    assert (ran.code, len(ran.out.splitlines())) == (0, 1)


def test_a_timeout_that_is_no_time_is_refused(ask: Ask) -> None:
    """With what one looks like."""
    refused = ask("receive", "--timeout", "soon")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "'soon'" in refused.err


def test_a_published_body_is_sent_in_a_message(ask: Ask) -> None:
    """A body alone gets a header; the application receives the body as it was."""
    body = Samples(1).message("MetadataCreate")["messageBody"]
    Path("body.json").write_text(json.dumps(body), encoding="utf-8")
    assert ask("send", "body.json").code == 0
    (received,) = _lines(ask("receive", "--json").out)
    assert received["messageBody"] == body


def test_what_cannot_be_read_is_one_line(ask: Ask) -> None:
    """A file that is not there: its name, why, exit code 2; the other file is sent."""
    Path("good.json").write_bytes(serialise(Samples(1).message()))
    sent = ask("send", "missing.json", "good.json")
    assert (sent.code, len(sent.out.splitlines())) == (2, 1)
    assert sent.err == "sandbox: missing.json cannot be read: No such file or directory\n"


def test_a_stream_that_is_not_there_is_named(ask: Ask) -> None:
    """The line says which streams there are."""
    refused = ask("receive", "--channel", "inputs")
    assert refused.code == 2
    assert "no stream 'inputs'; there are: audit, error, input, invalid, output" in refused.err


@pytest.mark.parametrize("command", [("send", "-"), ("receive",)])
def test_without_a_sandbox_nothing_is_read(
    sandbox: Ask, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    """A dead address is one line and exit code 3, and standard input is left alone."""
    _given(monkeypatch, b"{}")
    ran = sandbox(*command, "--control", "http://127.0.0.1:9")
    assert ran.code == 3
    assert ran.err.startswith("sandbox: no sandbox answers at http://127.0.0.1:9")
    assert sys.stdin.read() == "{}"


def test_a_kind_of_an_extension_is_sent_to_and_received_from(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the port that the kind names; its bad messages are in its own invalid queue."""
    monkeypatch.setitem(KINDS, "theirs", ChannelKind("theirs", KinesisQueues, "aws"))
    good, bad = Samples(1).message(), {"messageHeader": {"messageId": "bad"}}
    Path("two.ndjson").write_bytes(b"\n".join(map(serialise, (good, bad))))
    at = ("--kind", "theirs")
    assert ask("send", "two.ndjson", *at).code == 0
    received = ask("receive", *at)
    assert [line.split()[0] for line in received.out.splitlines()] == [good["messageHeader"]["messageId"]]
    assert "1 rejected: 1 in invalid" in received.err
    assert len(ask("receive", *at, "--channel", "invalid").out.splitlines()) == 1


def test_a_kind_whose_port_does_not_answer_is_told(ask: Ask) -> None:
    """This sandbox has no AMQP; the mock of a gateway is in no sandbox at all."""
    told = ask("send", "-", "--kind", "rabbitmq")
    assert (told.code, told.err) == (3, "sandbox: nothing answers at the port amqp\n")
    assert (
        "'mock' is not one of kinesis, rabbitmq: its kind does not say at which port"
        in ask("send", "-", "--kind", "mock").err
    )
