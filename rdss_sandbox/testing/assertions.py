"""Assertions about what became of messages. One that fails says what the sandbox saw instead."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from rdss_sandbox.questions.reject_queues import find_queue

if TYPE_CHECKING:
    from rdss_sandbox.client import Client
    from rdss_sandbox.shapes.messages import MessageRow
    from rdss_sandbox.shapes.streams import Shard

_MOST_TOLD: Final = 5
_QUEUES: Final = ("error", "invalid")


def assert_processed_once(client: Client, ids: Iterable[str], processed: Sequence[str]) -> None:
    """Assert that each of the ids is exactly once among those that the test's application processed."""
    __tracebackhide__ = True
    unique_ids = list(dict.fromkeys(ids))
    counts = Counter(processed)
    wrong = [each for each in unique_ids if counts[each] != 1]
    if not wrong:
        return
    lines = [f"{len(unique_ids) - len(wrong)} of {len(unique_ids)} messages were processed once:"]
    lines += [f"  {each} {_explain_count(client, each, counts[each])}" for each in wrong[:_MOST_TOLD]]
    if len(wrong) > _MOST_TOLD:
        lines.append(f"  and {len(wrong) - _MOST_TOLD} more")
    if not processed:
        lines.append(
            "  nothing was told: call sandbox.processed(message_id) where your application has processed one"
        )
    raise AssertionError("\n".join(lines))


def assert_all_shards_read(client: Client, stream: str) -> None:
    """Assert that every record of every shard was read, of those that a split or a merge made too."""
    __tracebackhide__ = True
    shards = client.stream(stream).shards
    wrong = [shard for shard in shards if _count_unread(shard)]
    if wrong:
        read = len(shards) - len(wrong)
        text = "".join(f"\n  {describe_shard(shard, shards)}" for shard in wrong)
        raise AssertionError(f"{read} of the {len(shards)} shards of {stream} were read to the end:{text}")


def assert_rejected(client: Client, message_id: str, code: str | None) -> None:
    """Assert that the message is in the error or the invalid queue, with this error code if one is given."""
    __tracebackhide__ = True
    status = client.status()
    names = {name: queue for queue in _QUEUES if (name := find_queue(queue, status))}
    found = [row for row in _find(client, message_id) if row.stream in names]
    if any(code in (None, row.code) for row in found):
        return
    unique_ids = f"with {code}" if code else "with any code"
    if found:
        text = ", ".join(f"{row.code or 'no code'} (in the {names[row.stream]} queue)" for row in found)
        raise AssertionError(f"{message_id} was rejected with {text}, and not {unique_ids}")
    queued = [
        f"  the {queue} queue holds {_list_rejects(client, name)}" for name, queue in names.items()
    ] or ["  the topology has no error queue"]
    where = _explain_place(client, message_id)
    raise AssertionError("\n".join([f"{message_id} was not rejected {unique_ids}: it {where}", *queued]))


def describe_shard(shard: Shard, shards: Sequence[Shard]) -> str:
    """A shard in words: what made it, and how much of it nobody read."""
    known = {each.id for each in shards}
    origin = ""
    if parents := [parent for parent in shard.parents if parent in known]:
        made = "a merge" if len(parents) > 1 else "a split"
        origin = f", made by {made} of {' and '.join(parents)},"
    unread = _count_unread(shard)
    if unread == shard.records:
        return f"{shard.id}{origin} was not read: it holds {_counted(unread)}"
    return f"{shard.id}{origin} was not read to the end: {unread} of {_counted(shard.records)} are unread"


def _count_unread(shard: Shard) -> int:
    return shard.records if shard.unread is None else shard.unread


def _explain_count(client: Client, message_id: str, count: int) -> str:
    if count == 0:
        return f"was not processed: it {_explain_place(client, message_id)}"
    stored = [row for row in _find(client, message_id) if not row.code]
    places = Counter(row.stream for row in stored)
    text = ", ".join(f"{number} times in {stream}" for stream, number in places.items() if number > 1)
    came = f"; it is {text}" if text else "; it is in its stream once"
    return f"was processed {count} times{came}"


def _explain_place(client: Client, message_id: str) -> str:
    """Where a message is, and whether it was read, as the end of a sentence about it."""
    found = _find(client, message_id)
    if not found:
        return "is in no stream"
    if rejected := [row for row in found if row.code]:
        return f"was rejected with {rejected[0].code}, and is in {rejected[0].stream}"
    row = found[0]
    shards = client.stream(row.stream).shards
    shard = next((each for each in shards if each.id == row.shard), None)
    if shard is None or not _count_unread(shard):
        return f"is in {row.stream}, {row.shard}, which was read to the end"
    return f"is in {row.stream}; {describe_shard(shard, shards)}"


def _find(client: Client, message_id: str) -> Sequence[MessageRow]:
    return client.messages(matching=f'id:"{message_id}"', limit=1000).messages


def _list_rejects(client: Client, stream: str) -> str:
    rows = client.messages(matching=f'stream:"{stream}"', limit=1000).messages
    if not rows:
        return "nothing"
    some = ", ".join(f"{row.message_id} ({row.code or 'no code'})" for row in rows[:_MOST_TOLD])
    return some if len(rows) <= _MOST_TOLD else f"{some} and {len(rows) - _MOST_TOLD} more"


def _counted(count: int) -> str:
    return f"{count} record" if count == 1 else f"{count} records"
