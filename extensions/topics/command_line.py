"""``sandbox topic``: publish to topics, ask their state of the world, subscribe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from rdss_sandbox.api.topics import Topics
from rdss_sandbox.questions.deadline import Deadline
from sandbox.cli.options.asking import asks
from sandbox.cli.options.control_connection import connect, control_option
from sandbox.cli.options.waiting import timeout_option, within
from sandbox.cli.output.exit_codes import CommandFailedError, Exit
from sandbox.cli.output.printing import always_json, json_option, print_json, print_table

if TYPE_CHECKING:
    from msgspec import Raw

    from extensions.topics.engine.commands import Publish
    from extensions.topics.engine.outgoing_messages import Message
    from extensions.topics.topic_port import TopicPort
    from rdss_sandbox.shapes.topics import Topic, TopicList

F = TypeVar("F", bound=Callable[..., Any])


@click.group()
def topic() -> None:
    """Publish to topics, ask their state of the world, subscribe.

    The topic objects holds every digital object as the last messages in the streams describe it, by its
    objectUUID. Filters are conditions like /objectTitle LIKE 'fish' AND /objectVersion > 1.
    """


def text_option(*names: str, metavar: str, help: str) -> Callable[[F], F]:  # noqa: A002 -- click's name for it
    """Add the option for a text, which is empty where nothing is said."""
    return click.option(*names, default="", show_default=False, metavar=metavar, help=help)


def filter_option(help_text: str) -> Callable[[F], F]:
    return text_option("--filter", "filter_", metavar="CONDITION", help=help_text)


def port_options(command: F) -> F:
    """Add the options for address, user and token of topics."""
    for option in (
        control_option,
        click.option("--user", metavar="NAME", help="The user to act as, where users have no tokens."),
        click.option("--token", metavar="TOKEN", envvar="SANDBOX_TOPICS_TOKEN", help="The user's token."),
    ):
        command = option(command)
    return command


def publishing(command: F) -> F:
    """Add the options of a message to a topic."""
    for option in (
        click.argument("data", nargs=-1, metavar="[MESSAGE|-]..."),
        click.argument("name", metavar="TOPIC"),
        click.option(
            "--as",
            "type_",
            type=click.Choice(["json", "nvfix", "binary"]),
            default="json",
            help="What a message is written in; text of another type is taken as it is.",
        ),
        click.option(
            "--expiration", type=float, metavar="SECONDS", help="How long the record lives; 0 means for ever."
        ),
        text_option("--correlation-id", metavar="TEXT", help="Passed on to subscribers as it is."),
        text_option("--sow-key", metavar="KEY", help="The record's key, where publishers give it."),
    ):
        command = option(command)
    return json_option(port_options(command))


@topic.command("list")
@asks(Topics.list)
def list_(found: TopicList) -> None:
    """List the topics, and the state of the links to other sandboxes."""
    columns = ("topic", "kind", "type", "records", "subscribed", "log", "downstream")
    print_table(columns, map(_row, found.topics))


@topic.command()
@publishing
def publish(name: str, data: tuple[str, ...], **given: Any) -> None:
    """Publish each MESSAGE to TOPIC; without any, each line of standard input."""
    from extensions.topics.engine import commands

    _publish(commands.Publish, name, data, **given)


@topic.command()
@publishing
def delta(name: str, data: tuple[str, ...], **given: Any) -> None:
    """Merge the fields in each MESSAGE into its record in TOPIC."""
    from extensions.topics.engine.commands import DeltaPublish

    _publish(DeltaPublish, name, data, **given)


@topic.command()
@click.argument("name", metavar="TOPIC")
@filter_option("Only the records that match.  [default: all]")
@text_option("--orderby", metavar="/FIELD [DESC],...", help="The order of the records.")
@click.option("--top", "top_n", type=click.IntRange(min=0), metavar="N", help="Show at most this many.")
@click.option("--keys", is_flag=True, help="Print each record's key and correlation id beside it.")
@port_options
@json_option
def sow(
    *, name: str, filter_: str, orderby: str, top_n: int | None, keys: bool, as_json: bool, **given: Any
) -> None:
    """Print the records of TOPIC, one a line: its state of the world."""
    from extensions.topics.engine.commands import Sow
    from extensions.topics.engine.outgoing_messages import SowMessage

    command = Sow(topic=name, filter=filter_, orderby=orderby, top_n=top_n, batch_size=100, query_id="sow")
    with _port(**given) as port:
        messages = port.execute(command)
    for message in messages:
        for record in message.data if isinstance(message, SowMessage) else ():
            click.echo(_json(record) if keys or as_json else bytes(record.data))


@topic.command()
@click.argument("name", metavar="TOPIC")
@filter_option("Only the messages that match.  [default: all]")
@click.option("--delta", is_flag=True, help="Print only the key and the changed fields of each record.")
@click.option("--live", is_flag=True, help="Print only what comes from now on, not what is there.")
@text_option(
    "--bookmark", metavar="BOOKMARK", help="Print what came after this bookmark; 0 means all that is kept."
)
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Stop after N messages.")
@timeout_option("Stop after this long: 500ms, 30s, 5m.")
@port_options
@always_json
def subscribe(
    name: str, *, delta: bool, live: bool, limit: int | None, timeout: float | None, **given: Any
) -> int:
    """Print the records of TOPIC and their changes, one JSON message a line, until Ctrl-C.

    A record that leaves (it was deleted, expired, or no longer matches) is printed as an oof (out of focus)
    message. Exit code 4: fewer than N messages came before the timeout.
    """
    from extensions.topics.engine import commands as c

    filter_, bookmark = given.pop("filter_"), given.pop("bookmark")
    command: c.Subscribe | c.SowAndSubscribe
    if live or bookmark:
        kind = c.DeltaSubscribe if delta else c.Subscribe
        command = kind(topic=name, filter=filter_, bookmark=bookmark, opts="timestamp")
    else:
        whole = c.SowAndDeltaSubscribe if delta else c.SowAndSubscribe
        command = whole(topic=name, filter=filter_, batch_size=100, opts="oof,timestamp")
    with _port(**given) as port:
        for count, message in enumerate(within(Deadline(timeout), _content(port.follow(command))), 1):
            click.echo(_json(message))
            if count == limit:
                return Exit.PASS
    return Exit.PASS if limit is None else Exit.INCONCLUSIVE


@topic.command()
@click.argument("name", metavar="TOPIC")
@filter_option("Delete the records that match; 1=1 matches all.")
@click.option("--key", "sow_keys", multiple=True, metavar="KEY", help="Delete the record with this key.")
@text_option("--data", metavar="JSON", help="Delete the record that has the same key as this one.")
@port_options
@json_option
def delete(
    name: str, filter_: str, sow_keys: tuple[str, ...], data: str, as_json: bool, **given: Any
) -> None:
    """Delete records of TOPIC, and say how many there were."""
    from extensions.topics.engine.commands import NO_DATA, SowDelete
    from extensions.topics.engine.outgoing_messages import Ack

    if sum(map(bool, (filter_, sow_keys, data))) != 1:
        raise click.UsageError("say which records: --filter, --key or --data")
    command = SowDelete(
        topic=name,
        filter=filter_,
        sow_keys=",".join(sow_keys),
        data=_raw(data) if data else NO_DATA,
        ack_type="processed,stats",
    )
    with _port(**given) as port:
        answers = port.execute(command)
    counts = [each.records_deleted for each in answers if isinstance(each, Ack) and each.ack_type == "stats"]
    deleted = (counts[0] if counts else 0) or 0
    if as_json:
        print_json({"deleted": deleted})
    click.echo(f"sandbox: {deleted} deleted", err=True)


def _publish(kind: Callable[..., Publish], name: str, data: tuple[str, ...], **given: Any) -> None:
    from extensions.topics.engine.outgoing_messages import Ack

    fields = {each: given.pop(each) for each in ("expiration", "correlation_id", "sow_key")}
    type_, as_json, count, persisted = given.pop("type_"), given.pop("as_json"), 0, 0
    with _port(**given) as port:
        for text in _texts(data):
            command = kind(topic=name, data=_raw(text, type_), ack_type="persisted", **fields)
            answers = port.execute(command)
            count += 1
            persisted += any(isinstance(one, Ack) and one.ack_type == "persisted" for one in answers)
    waiting = f", {count - persisted} of them not persisted yet" if persisted < count else ""
    if as_json:
        print_json({"published": count, "persisted": persisted})
    click.echo(f"sandbox: {count} published{waiting}", err=True)


def _raw(text: str, type_: str = "json") -> Raw:
    """Return the text as data: JSON as it is, another type as a string, binary in Base64."""
    import msgspec

    if type_ != "json":
        return msgspec.Raw(msgspec.json.encode(text.encode() if type_ == "binary" else text))
    try:
        msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise CommandFailedError(f"{text.strip()[:80]!r} is not JSON: {error}", Exit.USAGE) from None
    return msgspec.Raw(text.strip().encode())


def _texts(data: tuple[str, ...]) -> Iterable[str]:
    for text in data or ("-",):
        if text == "-":
            yield from (line.rstrip("\r\n") for line in sys.stdin if line.strip())
        else:
            yield text


def _port(control: str | None, user: str | None, token: str | None) -> TopicPort:
    from extensions.topics.topic_port import TopicPort
    from sandbox.cli.options.control_connection import reach

    with connect(control) as client:
        url = client.status().ports.get("topics")
    if url is None:
        raise CommandFailedError("this sandbox has no topics port", Exit.ENVIRONMENT)
    return TopicPort(url, token=token or reach(control)[1], user=user)


def _row(topic: Topic) -> tuple[str, ...]:
    links = (
        f"{link.name} {'downgraded' if link.downgraded else link.mode} {link.state}"
        + (f", {link.behind} behind" if link.behind else "")
        for link in topic.downstreams
    )
    records = "" if topic.records is None else str(topic.records)
    logged = "yes" if topic.logged else ""
    subscribed = str(topic.subscriptions)
    return topic.name, topic.kind, topic.message_type, records, subscribed, logged, "; ".join(links)


def _content(messages: Iterable[Message]) -> Iterable[Message]:
    from extensions.topics.engine.outgoing_messages import OofMessage, PublishMessage, SowMessage

    return (each for each in messages if isinstance(each, PublishMessage | SowMessage | OofMessage))


def _json(value: Any) -> bytes:
    import msgspec

    return msgspec.json.encode(value)
