"""The clauses on publishes: persistent, told after their confirm, and again after a failure."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import inf

from rdss_sandbox.shapes.certificate import Finding
from sandbox.certify.clause import RABBITMQ, Clause, Group, Judgement, Role, judged, report
from sandbox.certify.history import History, Level
from sandbox.certify.producer_clauses.failure_clauses import judge_failed_puts

_clause = partial(Clause, role=Role.PRODUCER, group=Group.DELIVERY, channels=RABBITMQ)

_ANSWERS = frozenset({"", "nack", "returned"})


@partial(
    _clause,
    id="publishes-persistently",
    level=Level.BRONZE,
    demand="Every message is published with the delivery mode 2, persistent.",
    source="RabbitMQ documentation, Queues: durability, and Publishers: message properties",
    exercise="The properties of every publish are looked at.",
    advice="Publish with the property delivery_mode 2.",
    needed=10,
)
def publishes_persistently(history: History) -> Judgement:
    puts = history.puts()
    findings = [
        report(
            history,
            put.at,
            f"{put.entries[0].message_id} was published with a delivery mode other than 2: "
            "a restart of the broker loses it",
        )
        for put in puts
        if not put.persistent
    ]
    return judged(len(puts), findings)


@partial(
    _clause,
    id="tells-after-the-confirm",
    level=Level.BRONZE,
    demand="A message is reported as sent after the broker has confirmed it.",
    source="RabbitMQ documentation, Consumer Acknowledgements and Publisher Confirms",
    exercise="The order of the broker's confirms and of what the producer tells is compared.",
    advice="Call confirm.select, and tell a message as sent when its ack came.",
    needed=10,
)
def tells_after_the_confirm(history: History) -> Judgement:
    confirmed: dict[str | None, float] = {}
    for put in history.puts():
        if put.confirmed and put.error != "nack":
            for entry in put.entries:
                confirmed.setdefault(entry.message_id, put.at)
    findings = [
        report(
            history,
            statement.at,
            f"{statement.message_id} was reported as sent "
            + (
                "without a confirm of the broker"
                if at == inf
                else f"at {statement.at:.3f} s, and confirmed at {at:.3f} s"
            ),
            messageId=statement.message_id,
        )
        for statement in history.told
        if statement.at < (at := confirmed.get(statement.message_id, inf))
    ]
    return judged(len(history.told), findings)


@partial(
    _clause,
    id="publishes-again-what-was-nacked",
    level=Level.SILVER,
    demand="A message that the broker answers with basic.nack is published again.",
    source="RabbitMQ documentation, Publisher Confirms: negative acknowledgements",
    exercise="Some messages are nacked, and taken when they come again.",
    advice="Keep each message until its ack came, and publish it again at a nack.",
    needed=2,
)
def publishes_again_what_was_nacked(history: History) -> Judgement:
    return judge_failed_puts(history, "nack".__eq__)


@partial(
    _clause,
    id="survives-errors",
    level=Level.SILVER,
    demand="After a cut connection or a closed channel it connects, and publishes what was not confirmed.",
    source="RabbitMQ documentation, Reliability Guide: connection failures and publishers",
    exercise="Some connections are cut and some channels closed, before and after a message was taken.",
    advice="Connect again when connection or channel ends, and publish what has no confirm.",
    needed=2,
)
def survives_errors(history: History) -> Judgement:
    return judge_failed_puts(history, lambda error: error not in _ANSWERS)


@partial(
    _clause,
    id="notices-returned-messages",
    level=Level.SILVER,
    demand="A message is published as mandatory, and again when the broker returns it.",
    source="RabbitMQ documentation, Publishers: unroutable message handling",
    exercise="Some messages are returned with NO_ROUTE, as while a queue is not bound, and then confirmed.",
    advice="Publish with mandatory on, and publish again what basic.return brings, although it is confirmed.",
    needed=2,
)
def notices_returned_messages(history: History) -> Judgement:
    """A broker confirms what no queue takes, and returns it only if it is mandatory."""
    returned = judge_failed_puts(history, lambda error: error == "returned")
    stored = history.stored_in_time()
    unnoticed = [
        report(
            history,
            put.at,
            f"{put.entries[0].message_id} was confirmed at {put.at:.2f} s and is in no queue: "
            "it was not published as mandatory",
        )
        for put in history.puts()
        if not (put.mandatory or put.error or put.entries[0].message_id in stored)
    ]
    findings = (*_told_all_the_same(history), *returned.findings, *unnoticed)
    return judged(returned.exposure + len(unnoticed), findings)


def _told_all_the_same(history: History) -> Iterator[Finding]:
    """A finding for each message that was told after its return, and before it was published again."""
    for put in history.puts():
        name = put.entries[0].message_id
        moments = [each.at for each in history.told if (each.message_id, each.life) == (name, put.life)]
        tries = (each.asked for each in history.puts() if each.entries[0].message_id == name)
        again = min((asked for asked in tries if asked > put.at), default=inf)
        if put.error == "returned" and (early := [at for at in moments if put.at < at < again]):
            sentence = f"{name} was returned at {put.at:.2f} s, and reported as sent at {early[0]:.2f} s"
            yield report(history, put.at, sentence, messageId=name)
