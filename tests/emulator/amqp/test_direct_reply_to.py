"""Direct reply-to: questions with ``amq.rabbitmq.reply-to``, and answers without a queue."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from emulator.amqp.wire import methods as m
from tests.emulator.amqp.calls import (
    cancel,
    closed,
    consume,
    declared,
    delete,
    get,
    publish,
    queue,
)
from tests.emulator.amqp.differences import answer_of
from tests.emulator.amqp.raw_client import Came, RawClient, build_properties

NAME = "amq.rabbitmq.reply-to"
QUESTION = build_properties(reply_to=NAME, correlation_id="c1")


def ask(client: RawClient, body: bytes = b"6 * 7") -> Came:
    """A question, as the one who answers it gets it."""
    client.ask(queue())
    client.publish(publish(), body, QUESTION)
    return client.ask(get(no_ack=True))


def address(question: Came) -> str:
    """Where a question wants its answer."""
    found = question.properties.text("reply_to")
    assert found is not None
    assert found.startswith(f"{NAME}.")
    return found


def test_an_answer_comes_back_on_the_channel_that_asked(connect: Callable[..., RawClient]) -> None:
    """The asker gets it from the default exchange, with the key that its question carried."""
    asker, answerer = connect(), connect()
    assert asker.ask(consume(NAME, no_ack=True)) == m.BasicConsumeOk("t1")
    asker.ask(queue())
    asker.publish(publish(), b"6 * 7", QUESTION)
    asker.ask(queue(passive=True))
    came = answerer.ask(get(no_ack=True))
    assert came.body == b"6 * 7"
    for body in (b"42", b"43"):
        answerer.publish(publish(address(came)), body, build_properties(correlation_id="c1"))
    for body in (b"42", b"43"):
        answer = asker.next()
        # Nobody acknowledges an answer, and RabbitMQ gives all of them the same tag.
        assert answer.method._replace(delivery_tag=1) == m.BasicDeliver("t1", 1, False, "", address(came))
        assert (answer.body, answer.properties.text("correlation_id")) == (body, "c1")


def test_each_question_of_a_channel_has_the_same_address(client: RawClient) -> None:
    """An asker may keep it; another channel's is another."""
    client.ask(consume(NAME, no_ack=True))
    assert address(ask(client)) == address(ask(client))


def test_a_generated_tag_is_returned(client: RawClient) -> None:
    """Clients mostly give none."""
    answer = client.ask(consume(NAME, "", no_ack=True))
    assert answer.consumer_tag.startswith("amq.ctag")


REFUSALS = {
    "acknowledging": (
        [consume(NAME)],
        closed(406, "PRECONDITION_FAILED - reply consumer cannot acknowledge", (60, 20)),
    ),
    "twice": (
        [consume(NAME, no_ack=True), consume(NAME, "t2", no_ack=True)],
        closed(406, "PRECONDITION_FAILED - reply consumer already set", (60, 20)),
    ),
    "get": ([get(NAME)], closed(404, f"NOT_FOUND - no queue '{NAME}' in vhost '/'", (60, 70))),
    "an address that is none": (
        [queue(f"{NAME}.nobody", passive=True)],
        closed(404, f"NOT_FOUND - no queue '{NAME}.nobody' in vhost '/'", (50, 10)),
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_it_is_refused_as_rabbitmq_refuses_it(client: RawClient, case: str) -> None:
    """The last of the methods gets the refusal."""
    asked, answer = REFUSALS[case]
    found = [client.ask(each) for each in asked]
    assert found[-1] == answer


def test_a_question_needs_the_consumer_first(client: RawClient) -> None:
    """Before it, and after its cancel, the channel is closed."""
    client.ask(queue())
    client.ask(consume(NAME, no_ack=True))
    assert client.ask(cancel()) == m.BasicCancelOk("t1")
    client.publish(publish(), b"", QUESTION)
    text = "PRECONDITION_FAILED - fast reply consumer does not exist"
    assert client.next() == closed(406, text, (60, 40))


def test_the_name_can_be_declared_by_who_wants_to_know(client: RawClient) -> None:
    """It and an asker's address are there, with no message and one consumer; a delete changes nothing."""
    client.ask(consume(NAME, no_ack=True))
    assert client.ask(queue(NAME)) == declared(NAME, 0, 1)
    assert client.ask(queue(NAME, passive=True)) == declared(NAME, 0, 1)
    found = address(ask(client))
    assert client.ask(delete(found)) == m.QueueDeleteOk(0)
    client.publish(publish(found), b"42")
    assert client.next().body == b"42"


def test_an_answerer_can_look_whether_the_asker_is_there(client: RawClient, version: tuple[int, ...]) -> None:
    """By a passive declare of the address, which RabbitMQ 3.10 fails at."""
    client.ask(consume(NAME, no_ack=True))
    found = address(ask(client))
    latest = declared(found, 0, 1)
    assert client.ask(queue(found, passive=True)) == answer_of(version, "address of an asker", latest)


def test_a_mandatory_answer_is_returned_and_delivered(connect: Callable[..., RawClient]) -> None:
    """RabbitMQ before 4.2 counts it as not routed, although it delivers it."""
    asker, answerer = connect(), connect()
    asker.ask(consume(NAME, no_ack=True))
    found = address(ask(asker))
    answerer.publish(publish(found, mandatory=True), b"42")
    assert answerer.next().method == m.BasicReturn(312, "NO_ROUTE", "", found)
    assert asker.next().body == b"42"


@pytest.mark.parametrize("end", ["cancel", "channel", "connection"])
def test_an_answer_that_comes_too_late_is_not_routed(connect: Callable[..., RawClient], end: str) -> None:
    """Nobody consumes any more: the cancel, the end of the channel and of the connection are alike."""
    asker, answerer = connect(), connect()
    asker.ask(consume(NAME, no_ack=True))
    found = address(ask(asker))
    if end == "cancel":
        asker.ask(cancel())
    elif end == "channel":
        asker.ask(m.ChannelClose(200, "", 0, 0))
    else:
        asker.ask(m.ConnectionClose(200, "", 0, 0), 0)
    answerer.publish(publish(found, mandatory=True), b"42")
    assert answerer.next().method == m.BasicReturn(312, "NO_ROUTE", "", found)
    assert answerer.ask(queue(found, passive=True)) == closed(
        404, f"NOT_FOUND - no queue '{found}' in vhost '/'", (50, 10)
    )


def test_a_large_answer_comes_whole(client: RawClient) -> None:
    """Half a mebibyte a hundred times, in order, although the asker reads none of it meanwhile."""
    client.ask(consume(NAME, no_ack=True))
    found = address(ask(client))
    for number in range(100):
        client.publish(publish(found), b"%03d" % number + bytes(1 << 19))
    assert [int(client.next().body[:3]) for _ in range(100)] == list(range(100))
