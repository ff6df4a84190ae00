"""Long lists of the management API are made in slices, so that nobody waits for them."""

from __future__ import annotations

import asyncio
import json

from emulator.amqp.management import Document
from emulator.listeners.amqp_lists import Listing, Slices

COUNT = 20_000


def documents() -> list[Document]:
    return [{"name": f"q{number:05}", "messages": number % 7} for number in range(COUNT)]


def test_others_have_their_turn_while_a_list_is_made() -> None:
    """20,000 queues, sorted by their messages and then by name, are one list in the end."""
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def write() -> bytes:
        counting = asyncio.create_task(count_turns())
        listing = Listing(documents(), {"sort": "messages", "sort_reverse": "true"}, has_pages=True)
        written = await listing.write(Slices())
        counting.cancel()
        return written

    found = json.loads(asyncio.run(write()))
    assert found == sorted(documents(), key=lambda each: (each["messages"], each["name"]), reverse=True)
    assert turns > 10


def test_lists_share_the_slices() -> None:
    """Three that are asked for at once are made side by side, none before the other."""
    ended = []

    async def write_all() -> None:
        slices = Slices()

        async def write(count: int) -> None:
            await Listing(documents()[:count], {}, has_pages=False).write(slices)
            ended.append(count)

        await asyncio.gather(write(COUNT), write(COUNT // 2), write(100))

    asyncio.run(write_all())
    assert ended == [100, COUNT // 2, COUNT]
