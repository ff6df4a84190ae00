"""Events in sentences, the subject first: for the TUI, the page of a run, and people who watch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from rdss_sandbox.shapes.events import Event
from rdss_sandbox.text import figures

_Fields: TypeAlias = Mapping[str, Any]


def sentence(event: Event, meanings: Mapping[str, str]) -> str:
    """Tell an event in a sentence, with the ``meanings`` of error codes, and shards by their whole names.

    An event of an unknown kind is told by its name and its reason.
    """
    if event.kind == "message.rejected":
        return _rejected(event.fields, meanings)
    say = _SENTENCES.get(event.kind)
    if say is not None:
        return say(event.fields) if callable(say) else say.format_map(_Known(event.fields))
    named = event.kind.replace(".", " ").replace("_", " ")
    reason = next((str(event.fields[name]) for name in _REASONS if event.fields.get(name)), "")
    return f"{named}: {reason}" if reason else named


class _Known(dict[str, Any]):
    """The fields of an event for a template; one that is missing becomes a question mark."""

    def __missing__(self, name: str) -> str:
        return "?"


def _name_of(fields: _Fields) -> str:
    """The short name of a message: the first part of its messageId, and its position in a sequence."""
    name = str(fields.get("message_id") or "")
    if not name:
        return "a message without an id"
    if name.startswith("unreadable"):
        return "an unreadable message"
    part = f" part {fields['position']}" if "position" in fields else ""
    return f"{name[:8]}{part}"


def _offered(fields: _Fields) -> str:
    return f"the application offers {_name_of(fields)} to be sent, {figures.size(fields.get('size', 0))}"


def _acknowledged(fields: _Fields) -> str:
    return f"the broker has {_name_of(fields)} on {_place(fields)}"


def _refused(fields: _Fields) -> str:
    return f"the broker did not take {_name_of(fields)}: {fields.get('code') or 'it did not say why'}"


def _delivered(fields: _Fields) -> str:
    return f"the receiver is given {_name_of(fields)} from {_place(fields)}"


def _processed(fields: _Fields) -> str:
    joined = f", joined from {fields['parts']} parts" if fields.get("parts", 1) > 1 else ""
    return f"the application has processed {_name_of(fields)}{joined}"


def _rejected(fields: _Fields, meanings: Mapping[str, str]) -> str:
    code = fields.get("code") or "no code"
    why = ", ".join(filter(None, (code, meanings.get(code, "").removesuffix("."))))
    return f"{_name_of(fields)} is in the {fields.get('queue')} queue: {why}"


def _resharded(fields: _Fields) -> str:
    closed, opened = (", ".join(fields.get(name) or ()) for name in ("closed", "opened"))
    return f"{fields.get('stream')} was resharded: {closed} closed, {opened} opened"


def _injected(fields: _Fields) -> str:
    struck = f" {_name_of(fields)}" if fields.get("message_id") else ""
    return f"the fault {fields.get('fault')} struck{struck}: {fields.get('did', fields.get('type'))}"


def _added(fields: _Fields) -> str:
    name, kind = fields.get("fault"), fields.get("type")
    of_kind = "" if name == kind else f" ({kind})"
    return f"the fault {name}{of_kind} is in force on {fields.get('channel')}"


def _created(fields: _Fields) -> str:
    shards = fields.get("shards")
    return f"the stream {fields.get('stream')} was made with {shards} shard{'' if shards == 1 else 's'}"


def _clock(fields: _Fields) -> str:
    match fields.get("action"):
        case "advance":
            return f"the clock went on by {figures.span(fields.get('seconds') or 0.0)}"
        case "speed":
            return f"the clock runs at speed {fields.get('speed') or 0.0:g}"
        case "set":
            return f"the clock was set to {figures.date_time(fields.get('time') or 0.0)} UTC"
        case "freeze":
            return "the clock stands still"
    return "the clock shows real time"


def _moved(fields: _Fields) -> str:
    first, last, at = (float(fields.get(name) or 0.0) for name in ("first", "last", "at"))
    share = 100 * (at - first) / (last - first) if last > first else 100.0
    where = f"{figures.date_time(at)} UTC, {share:.0f} % of it"
    how = f"has ended at {where}" if fields.get("ended") else f"is at {where}"
    messages = figures.count(fields.get("messages") or 0)
    return f"the replay of {fields.get('tape')} {how}, after {messages} messages"


def _changed(fields: _Fields) -> str:
    match fields.get("enabled"):
        case False:
            return f"the fault {fields.get('fault')} is paused"
        case True:
            return f"the fault {fields.get('fault')} strikes again"
    return f"the fault {fields.get('fault')} has other settings"


def _processing(fields: _Fields) -> str:
    cause = f": {fields['cause']}" if fields.get("cause") else ""
    return f"asynchronous message {fields.get('message', '?')} is {fields.get('after', '?')}{cause}"


def _found(fields: _Fields) -> str:
    """What a client did wrong; most findings name the client themselves."""
    client, said = str(fields.get("client") or ""), str(fields.get("said", "?"))
    return said if client in said else f"{client}: {said}"


def _ended(fields: _Fields) -> str:
    why = f": {fields['why']}" if fields.get("why") else ""
    return f"the receiving process was ended{why}"


def _in_queue(did: str) -> Callable[[_Fields], str]:
    """``mine claims 3 messages of reviews``, for what happens to the messages of a queue."""

    def say(fields: _Fields) -> str:
        messages = fields.get("messages", ())
        count = messages if isinstance(messages, int) else len(messages)
        known = _Known(fields)
        known["messages"] = f"{figures.count(count)} message{'' if count == 1 else 's'}"
        known["client"] = fields.get("client") or "a client"
        return did.format_map(known)

    return say


def _invoked(fields: _Fields) -> str:
    ended = f"failed: {fields['error']}" if fields.get("error") else "has ended"
    return f"a call of {fields.get('function')} {ended}, after {fields.get('milliseconds', '?')} ms"


def _deployed(fields: _Fields) -> str:
    why = f": {fields['why']}" if fields.get("why") else ""
    return f"the stack {fields.get('stack')} is {fields.get('status')}{why}"


def _delete_refused(fields: _Fields) -> str:
    return f"{fields.get('worker')} may not delete {str(fields.get('message'))[:8]}: {fields.get('why')}"


def _claim_lost(fields: _Fields) -> str:
    return f"{fields.get('worker')} leaves {str(fields.get('message'))[:8]}, whose claim it holds no more"


def _place(fields: _Fields) -> str:
    shard = f", shard {fields['shard']}" if fields.get("shard") else ""
    return f"{fields.get('channel', 'the channel')}{shard}"


_REASONS = ("why", "error", "reason", "said")
_SENTENCES: dict[str, str | Callable[[_Fields], str]] = {
    "access.denied": "{access_key} may not {operation} on {resource}",
    "access.forgotten": "the access key {access_key} may do everything again",
    "access.permitted": "the access key {access_key} may do only what it was permitted",
    "amqp.dead_lettered": "a message of {from_queue} was dead-lettered to {exchange}: {reason}",
    "amqp.dead_letters": "{channel} has dead letters in {exchange}",
    "amqp.published": _in_queue("{messages} came through the AMQP port, for {channel}"),
    "amqp.unrecorded": "a message for {channel} was not written down: {why}",
    "archives.failed": "the archives could not go on: {why}",
    "archives.restarted": "the archive of {stream} begins again: its stream is another one",
    "audit.refused": "a message could not be copied to the audit log: {why}",
    "aws.moto.started": "the AWS services beside Kinesis have started",
    "aws.request.failed": "the sandbox failed at a request for {service}: {error}",
    "broker.failed": "the AMQP broker failed: {why}",
    "broker.started": "the AMQP broker has started",
    "broker.waits": "the AMQP port answers as soon as there is space on the disk: {why}",
    "claim.lost": _claim_lost,
    "client.finding": _found,
    "clock.changed": _clock,
    "consumer.deregistered": "{consumer} is no longer a consumer of {stream}",
    "consumer.registered": "{consumer} is registered as a consumer of {stream}",
    "delete.refused": _delete_refused,
    "diagnosis.failed": "clients cannot be judged: {why}",
    "events.unwritten": "events cannot be written down: {why}",
    "events.written": "events are written down again: {late} late, {lost} lost",
    "fault.added": _added,
    "fault.changed": _changed,
    "fault.failed": "a fault failed itself: {why}",
    "fault.injected": _injected,
    "fault.removed": "the fault {fault} is removed; it struck {injected} times",
    "function.destination_failed": "what became of a call of {function} could not be passed on: {why}",
    "function.event_failed": "a call of {function} could not be made: {why}",
    "function.invoked": _invoked,
    "iterator.wanted": "the receiver asks for an iterator: {why}",
    "journal.cut": "{bytes} bytes of an unfinished write were cut from {file}",
    "journal.damaged": "{why}",
    "journal.lost": "{held} could not be read back from {file}: {how}",
    "journal.put_aside": "{file} was put aside: {why}",
    "journal.taken_over": "the data directory {directory} said no format, and was taken over",
    "journal.unpacked": "a file of records stays as large as it is: {why}",
    "mapping.destination_failed": "what {mapping} gave up could not be passed on: {why}",
    "mapping.gave_up": "{function} was given up on {records} records of shard {shard}: {why}",
    "mapping.result": "the last call of {function} by its mapping: {result}",
    "message.acknowledged": _acknowledged,
    "message.delivered": _delivered,
    "message.offered": _offered,
    "message.processed": _processed,
    "message.refused": _refused,
    "original.kept": "the application has kept the original {uri}",
    "processing.changed": _processing,
    "processing.confirmed": "asynchronous message {message}: {source} was told its outcome",
    "processing.failed": "processing failed: {why}",
    "processing.unconfirmed": "asynchronous message {message}: {source} could not be told its outcome: {why}",
    "queue.claim_expired": _in_queue("a claim of {client} on {messages} of {queue} expired"),
    "queue.claim_renewed": "{client} renewed a claim on {queue}",
    "queue.claimed": _in_queue("{client} claims {messages} of {queue}"),
    "queue.created": "the queue {queue} was made",
    "queue.dead_lettered": _in_queue("{messages} of {queue} went to the dead letters in {to}"),
    "queue.deleted": "the queue {queue} was deleted",
    "queue.message_expired": _in_queue("{messages} of {queue} expired"),
    "queue.messages_arrived": _in_queue("{messages} arrived in {queue}"),
    "queue.messages_posted": _in_queue("{client} posted {messages} to {queue}"),
    "queue.notification_failed": "a subscriber of {queue} could not be notified: {why}",
    "queue.notified": "a subscriber of {queue} was notified",
    "queue.purged": _in_queue("{messages} were purged from {queue}"),
    "queues.failed": "the queues failed: {why}",
    "read.refused": "a read was refused: {why}",
    "receiver.crashed": "the receiving process is killed ({target})",
    "receiver.ended": _ended,
    "receiver.failed": "the receiving process ends: {why}",
    "receiver.read_empty": "the receiver reads and finds nothing",
    "receiver.started": "the receiving process starts",
    "relay.amqp.failed": "the relay to the broker failed: {error}",
    "relay.amqp.unreachable": "the broker {upstream} cannot be reached: {why}",
    "replay.moved": _moved,
    "request.failed": "the sandbox failed at a request: {error}",
    "request.refused": "a request to the port {port} was refused: {why}",
    "retention.failed": "what is old could not be removed: {why}",
    "router.failed": "the router failed: {why}",
    "sandbox.reset": "the sandbox was emptied",
    "sandbox.started": "the sandbox started, version {version}, seed {seed}",
    "sandbox.stopped": "the sandbox stopped",
    "scenario.finished": "the scenario {scenario} is over, verdict {verdict}",
    "scenario.started": "the scenario {scenario} plays with seed {seed}",
    "sender.failed": "sending ends: {why}",
    "service.restored": "{service} has the {values} values of before",
    "snapshot.loaded": "the snapshot {snapshot} was loaded, {records} records",
    "snapshot.removed": "the snapshot {snapshot} was removed",
    "snapshot.saved": "the snapshot {snapshot} was saved, {records} records",
    "sns.notification_failed": "{subscriber} could not be notified: {why}",
    "sns.notified": "{subscriber} was notified",
    "stack.changed": _deployed,
    "stream.created": _created,
    "stream.deleted": "the stream {stream} was deleted",
    "stream.resharded": _resharded,
    "topic.access_changed": "who may do what with topics was changed",
    "topic.checkpoint_failed": "the topics could not write a checkpoint: {error}",
    "topic.command_failed": "{user} may not {command} {topic}: {reason}",
    "topic.downstreams_changed": "the topics have other downstream sandboxes",
    "topic.expiry_failed": "a record of {topic} could not expire: {reason}",
    "topic.link_caught_up": "the downstream sandbox {downstream} has everything",
    "topic.link_down": "the downstream sandbox {downstream} does not answer: {why}",
    "topic.link_downgraded": "publishers wait for the downstream sandbox {downstream} no more",
    "topic.link_gap": "the downstream sandbox {downstream} misses {missing} entries that the log has no more",
    "topic.link_refused": "the downstream sandbox {downstream} refuses an entry: {why}",
    "topic.link_up": "the downstream sandbox {downstream} answers",
    "topic.link_upgraded": "publishers wait for the downstream sandbox {downstream} again",
    "topic.queue_discarded": "{count} messages of the queue {topic} were dropped: {reason}",
    "topic.queue_failed": "the queue {topic} could not give out a message: {reason}",
    "topic.session_failed": "the session of {user} failed: {error}",
    "topics.failed": "the topics failed: {why}",
}
