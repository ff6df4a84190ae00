"""Sentences about a sandbox that can be waited for: ``stream input has 10 messages``.

``sandbox wait --for`` and ``wait_until`` of the fixtures read the same ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from rdss_sandbox.questions.deadline import Deadline
from rdss_sandbox.questions.reject_queues import find_queue
from rdss_sandbox.transports import RefusedError, UnreachableError

if TYPE_CHECKING:
    from rdss_sandbox.client import Client
    from rdss_sandbox.shapes.messages import MessageRow

_PAGE: Final = 1000


class ConditionReading(NamedTuple):
    """Whether a condition holds, and what was seen, as a sentence."""

    holds: bool
    seen: str


Condition: TypeAlias = Callable[["Client"], ConditionReading]


class UnknownConditionError(ValueError):
    """A sentence that is no condition; the message lists those that are."""


class ConditionNotMetError(TimeoutError):
    """A condition did not hold in time; the message says what was seen last."""


def wait_for(
    condition: Condition,
    connect: Callable[[], Client],
    *,
    seconds: float,
    wanted: str,
    absent: tuple[type[Exception], ...] = (UnreachableError,),
) -> ConditionReading:
    """Ask the sandbox again and again until the condition holds, and return what was seen then.

    While no sandbox answers, which the errors ``absent`` tell, it does not hold. Raises
    ``ConditionNotMetError``, with ``wanted`` in it, after ``seconds``.
    """
    deadline = Deadline(seconds)
    while True:
        last = deadline.passed
        try:
            with connect() as client:
                reading = condition(client)
                while not reading.holds and not deadline.passed:
                    deadline.pause()
                    reading = condition(client)
        except absent as error:
            reading = ConditionReading(holds=False, seen=str(error))
        if reading.holds:
            return reading
        if last or deadline.passed:
            raise ConditionNotMetError(f"after {seconds:g} s: {reading.seen}; waited for: {wanted}")
        deadline.pause()


def read_condition(sentence: str) -> Condition:
    """The condition that a sentence states. Raises ``UnknownConditionError``."""
    for form in FORMS:
        if found := form.pattern.fullmatch(" ".join(sentence.split())):
            return form.build(found)
    raise UnknownConditionError(
        f"{sentence!r} cannot be waited for; write one of these:\n"
        + "\n".join(f"  {form.example}" for form in FORMS)
    )


@dataclass(frozen=True, slots=True)
class ConditionForm:
    """A form of sentence: an example for people, its pattern, and the condition of a match."""

    example: str
    pattern: re.Pattern[str]
    build: Callable[[re.Match[str]], Condition]


_COUNT = r"(?P<how>exactly |at least |at most )?(?P<count>\d+|no)"


def _form(example: str, pattern: str, build: Callable[[re.Match[str]], Condition]) -> ConditionForm:
    return ConditionForm(example, re.compile(pattern, re.IGNORECASE), build)


def _compare(found: re.Match[str], count: int) -> bool:
    """Whether a count is the wanted one. A number alone is the least; ``no`` is none."""
    if found["count"].lower() == "no":
        return count == 0
    number = int(found["count"])
    match (found["how"] or "at least ").strip().lower():
        case "exactly":
            return count == number
        case "at most":
            return count <= number
        case _:
            return count >= number


def _messages(found: re.Match[str]) -> Condition:
    name = found["stream"]

    def look(client: Client) -> ConditionReading:
        return _count_messages(client, name, found, f"stream {name}")

    return look


def _queue_messages(found: re.Match[str]) -> Condition:
    queue = found["queue"].lower()

    def look(client: Client) -> ConditionReading:
        name = find_queue(queue, client.status())
        if name is None:
            return ConditionReading(holds=False, seen=f"the topology has no {queue} queue")
        return _count_messages(client, name, found, f"the {queue} queue, {name},")

    return look


def _count_messages(client: Client, stream: str, found: re.Match[str], thing: str) -> ConditionReading:
    try:
        count = client.stream(stream).records
    except RefusedError as error:
        return ConditionReading(holds=False, seen=str(error))
    return ConditionReading(_compare(found, count), f"{thing} has {_counted(count, 'message')}")


def _read(found: re.Match[str]) -> Condition:
    name = found["stream"]

    def look(client: Client) -> ConditionReading:
        try:
            stream = client.stream(name)
        except RefusedError as error:
            return ConditionReading(holds=False, seen=str(error))
        unread = stream.records if stream.unread is None else stream.unread
        return ConditionReading(unread == 0, f"{_counted(unread, 'message')} of stream {name} not read")

    return look


def _shards(found: re.Match[str]) -> Condition:
    name = found["stream"]

    def look(client: Client) -> ConditionReading:
        try:
            count = client.stream(name).open_shards
        except RefusedError as error:
            return ConditionReading(holds=False, seen=str(error))
        return ConditionReading(_compare(found, count), f"stream {name} has {_counted(count, 'open shard')}")

    return look


def _struck(found: re.Match[str]) -> Condition:
    name = found["fault"]

    def look(client: Client) -> ConditionReading:
        try:
            count = client.fault(name).injected
        except RefusedError as error:
            return ConditionReading(holds=False, seen=str(error))
        return ConditionReading(_compare(found, count), f"fault {name} has struck {_counted(count, 'time')}")

    return look


def _rejected(found: re.Match[str]) -> Condition:
    message_id, code = found["id"], found["code"]

    def look(client: Client) -> ConditionReading:
        codes = [row.code for row in _rejects(client, message_id)]
        if not codes:
            return ConditionReading(
                holds=False, seen=f"message {message_id} is in neither the error nor the invalid queue"
            )
        with_codes = ", ".join(each or "no code" for each in codes)
        return ConditionReading(
            code is None or code.upper() in codes, f"message {message_id} was rejected with {with_codes}"
        )

    return look


def _rejects(client: Client, message_id: str) -> list[MessageRow]:
    status = client.status()
    names = [name for queue in ("error", "invalid") if (name := find_queue(queue, status))]
    if not names:
        return []
    matching = f'id:"{message_id}" stream:{",".join(names)}'
    return list(client.messages(matching=matching).messages)


def _objects(found: re.Match[str]) -> Condition:
    name = found["bucket"]

    def look(client: Client) -> ConditionReading:
        count, after = 0, None
        try:
            while True:
                page = client.objects(name, after=after, limit=_PAGE)
                count, after = count + len(page.objects), page.next
                if after is None:
                    break
        except RefusedError as error:
            return ConditionReading(holds=False, seen=str(error))
        return ConditionReading(_compare(found, count), f"bucket {name} has {_counted(count, 'object')}")

    return look


def _events(found: re.Match[str]) -> Condition:
    kind, seen, after = found["kind"], 0, 0

    def look(client: Client) -> ConditionReading:
        nonlocal seen, after
        while page := client.events(after=after, limit=_PAGE):
            after = page[-1].id
            seen += sum(event.kind == kind for event in page)
        return ConditionReading(_compare(found, seen), f"event {kind} has happened {_counted(seen, 'time')}")

    return look


def _ready(_found: re.Match[str]) -> Condition:
    def look(client: Client) -> ConditionReading:
        return ConditionReading(holds=client.health().status == "ok", seen="the sandbox answers")

    return look


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


FORMS: Final = (
    _form("the sandbox is ready", "(the )?sandbox is ready|ready", _ready),
    _form(
        "stream input has 10 messages",
        rf"stream (?P<stream>\S+) has {_COUNT} (messages?|records?)",
        _messages,
    ),
    _form("stream input has been read", r"stream (?P<stream>\S+) (has been|is) read", _read),
    _form(
        "stream input has exactly 3 open shards",
        rf"stream (?P<stream>\S+) has {_COUNT} open shards?",
        _shards,
    ),
    _form(
        "error queue has 1 message",
        rf"(the )?(?P<queue>error|invalid) queue has {_COUNT} messages?",
        _queue_messages,
    ),
    _form(
        "message 5680e8e0-28a5-4b20-948e-fd0d08781e2c was rejected with CODE",
        r"message (?P<id>\S+) (was|is) rejected( with (?P<code>\S+))?",
        _rejected,
    ),
    _form("fault duplicate has struck 3 times", rf"fault (?P<fault>\S+) has struck {_COUNT} times?", _struck),
    _form("bucket rdss-audit has 1 object", rf"bucket (?P<bucket>\S+) has {_COUNT} objects?", _objects),
    _form(
        "event stream.created has happened 2 times",
        rf"event (?P<kind>\S+) has happened {_COUNT} times?",
        _events,
    ),
)
"""Everything that can be waited for."""
