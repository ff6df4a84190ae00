"""Everything that has a name, and the screen that shows it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping

from rdss_sandbox.client import AsyncClient, RefusedError
from rdss_sandbox.text import figures
from tui.state.worker_messages import ObservedState

_MESSAGE_ID = re.compile(r"[0-9a-f]{6,8}(?:-[0-9a-f-]*)?", re.IGNORECASE)


async def gather_places(
    client: AsyncClient, snapshot: ObservedState, screens: Mapping[str, str]
) -> dict[str, str]:
    """The screen of each name: of ``screens``, streams, shards, faults, codes, buckets and others.

    What the sandbox does not have, such as scenarios, has no names. Raises UnreachableError.
    """
    found = dict(screens)
    known: dict[str, Iterable[str]] = {
        "streams": [each.name for each in snapshot.status.streams],
        "faults": [each.name for each in snapshot.faults],
        "errors": [each.code for each in snapshot.contract.codes],
    }
    asked: Mapping[str, Callable[[], Awaitable[Iterable[str]]]] = {
        "streams": lambda: _list_shards(client, snapshot),
        "faults": lambda: _name(client.fault_types(), "type"),
        "buckets": lambda: _name(client.buckets(), "name"),
        "scenarios": lambda: _name(client.scenarios.list(), "name"),
        "queues": lambda: _list_queues(client),
        "topics": lambda: _name(client.topics.list(), "name"),
    }
    answers = await asyncio.gather(*(_ask(each) for each in asked.values()))
    for screen, names in (*known.items(), *zip(asked, answers, strict=True)):
        for name in names:
            found.setdefault(name, screen)
    return found


def find_place(text: str, named: Mapping[str, str]) -> str | None:
    """The name that ``text`` is or begins, in any case; None where it begins none, or several.

    What ``input`` and ``input 0001`` share is the beginning of ``input``.
    """
    wanted = " ".join(text.split()).lower()
    names = [name for name in named if name.lower().startswith(wanted)]
    shortest = min(names, key=len, default="").lower()
    return min(names, key=len, default=None) if all(n.lower().startswith(shortest) for n in names) else None


def is_message_id(text: str) -> bool:
    """Whether this is a messageId or its beginning of at least six digits, one of them a letter or many."""
    return _MESSAGE_ID.fullmatch(text) is not None and not text.isdecimal()


async def _ask(names: Callable[[], Awaitable[Iterable[str]]]) -> Iterable[str]:
    try:
        return await names()
    except RefusedError:
        return ()


async def _name(listed: Awaitable[Iterable[object]], field: str) -> Iterable[str]:
    return [str(getattr(each, field)) for each in await listed]


async def _list_queues(client: AsyncClient) -> Iterable[str]:
    return [queue.name for queue in (await client.queues.list()).queues]


async def _list_shards(client: AsyncClient, snapshot: ObservedState) -> Iterable[str]:
    details = await asyncio.gather(*(client.stream(each.name) for each in snapshot.status.streams))
    return [f"{each.name} {figures.shard(shard.id)}" for each in details for shard in each.shards]
