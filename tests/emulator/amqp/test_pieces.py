"""The broker answers the same however a client's bytes are cut, right or wrong."""

from __future__ import annotations

from typing import Any

import pytest

from emulator.amqp.wire import methods
from emulator.amqp.wire.frames import BODY, HEADER, METHOD, build_frame
from emulator.amqp.wire.method_codec import encode_method
from emulator.amqp.wire.methods import Method
from emulator.amqp.wire.properties import Properties
from tests.emulator.amqp.calls import table
from tests.emulator.amqp.engine_client import OwnBroker
from tests.emulator.amqp.raw_client import Came

BODY_OF_FIVE = build_frame(BODY, 1, b"12345")
AFTERWARDS = build_frame(
    METHOD, 1, encode_method(methods.QueueDeclare(0, "q", True, False, False, False, False, {}))
)


def say(method: Method, channel: int = 1) -> bytes:
    return build_frame(METHOD, channel, encode_method(method))


def publish(
    exchange: str = "", *, mandatory: bool = False, immediate: bool = False, channel: int = 1
) -> bytes:
    return say(methods.BasicPublish(0, exchange, "q", mandatory, immediate), channel)


def header(size: int = 5, *, class_id: int = 60, weight: int = 0, properties: bytes = b"\0\0") -> bytes:
    head = class_id.to_bytes(2) + weight.to_bytes(2) + size.to_bytes(8) + properties
    return build_frame(HEADER, 1, head)


CC = Properties()
CC.set_headers(table({"CC": ["q", "other"]}))

SAID = {
    "a publish": publish() + header() + BODY_OF_FIVE,
    "two of them": 2 * (publish() + header() + BODY_OF_FIVE),
    "many with different properties": 3 * (publish() + header() + BODY_OF_FIVE)
    + 3 * (publish() + header(properties=b"\x10\0\x02") + BODY_OF_FIVE),
    "a wrong expiration among many": 2 * (publish() + header() + BODY_OF_FIVE)
    + publish()
    + header(properties=b"\x01\0\x01x")
    + 2 * (BODY_OF_FIVE + publish() + header())
    + BODY_OF_FIVE,
    "other keys among many, by a header": 3
    * (publish() + header(properties=b"\x20\0" + CC.encode()[2:]) + BODY_OF_FIVE),
    "many that expire": 3 * (publish() + header(properties=b"\x01\0\x0599999") + BODY_OF_FIVE),
    "many to several queues": 5 * (publish("amq.fanout") + header() + BODY_OF_FIVE),
    "no body": publish() + header(0),
    "a body in two frames": publish() + header(10) + BODY_OF_FIVE + BODY_OF_FIVE,
    "a body that is too long": publish() + header(3) + BODY_OF_FIVE,
    "a header with a weight": publish() + header(weight=1) + BODY_OF_FIVE,
    "a header of another class": publish() + header(class_id=50) + BODY_OF_FIVE,
    "a header without flags": publish() + header(properties=b"") + BODY_OF_FIVE,
    "a header that is too short": publish()
    + build_frame(HEADER, 1, b"\0\x3c" + bytes(9))
    + build_frame(BODY, 1, bytes(206)),
    "properties that end too early": publish() + header(properties=b"\x80\0\x09x") + BODY_OF_FIVE,
    "a body of another channel": publish() + header() + build_frame(BODY, 2, b"12345"),
    "a publish in a publish": publish() + publish() + header() + BODY_OF_FIVE,
    "immediate": publish(immediate=True) + header() + BODY_OF_FIVE,
    "mandatory, to nowhere": publish("amq.direct", mandatory=True) + header() + BODY_OF_FIVE,
    "an exchange that is not there": publish("none")
    + header()
    + BODY_OF_FIVE
    + publish()
    + header()
    + BODY_OF_FIVE,
    "a channel that is not open": publish(channel=2) + header() + BODY_OF_FIVE,
    "channel 0": publish(channel=0) + header() + BODY_OF_FIVE,
    "arguments that end too early": build_frame(
        METHOD, 1, encode_method(methods.BasicPublish(0, "", "q", False, False))[:-1]
    )
    + header()
    + BODY_OF_FIVE,
    "in a transaction": say(methods.TxSelect())
    + publish()
    + header()
    + BODY_OF_FIVE
    + say(methods.TxCommit()),
}


def answers(data: bytes, step: int, *, confirming: bool) -> tuple[list[Any], list[int]]:
    """What comes, with confirms that share a frame taken apart, and the messages in the queues."""
    own = OwnBroker()
    client = own.client()
    for queue in ("q", "another"):
        client.ask(methods.QueueDeclare(0, queue, False, False, False, False, False, {}))
        client.ask(methods.QueueBind(0, queue, "amq.fanout", "", False, {}))
    if confirming:
        client.ask(methods.ConfirmSelect(False))
    for at in range(0, len(data), step):
        client.give(data[at : at + step])
    client.give(AFTERWARDS)
    came: list[Any] = []
    confirmed = 0
    for method in client.take():
        if isinstance(method, methods.BasicAck):
            came += [f"acked {tag}" for tag in range(confirmed + 1, method.delivery_tag + 1)]
            confirmed = method.delivery_tag
        else:
            came.append((method.method, method.body) if isinstance(method, Came) else method)
    return came, [own.broker.vhost.find_queue(queue).ready for queue in ("q", "another")]


@pytest.mark.parametrize("confirming", [False, True])
@pytest.mark.parametrize("said", SAID)
def test_cuts_change_nothing(said: str, *, confirming: bool) -> None:
    data = SAID[said]
    whole = answers(data, len(data), confirming=confirming)
    assert whole[0]
    assert answers(data, 1, confirming=confirming) == whole
