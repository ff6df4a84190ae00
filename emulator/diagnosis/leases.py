"""KCL's leases, read from its tables in DynamoDB: which worker holds which shard, at which checkpoint."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from emulator.kinesis.sequence_numbers import position
from rdss_sandbox.shapes.recorded_exchange import Lease

_KEY: Final = "leaseKey"
_MODELS: Final = "moto.dynamodb.models"


def read_leases(streams: Mapping[int, str]) -> tuple[Lease, ...]:
    """Read the leases of every table with ``leaseKey``s. ``streams`` has the streams' names by number.

    DynamoDB's models are not loaded for it: a client that has leases has used them.
    """
    return tuple(
        lease
        for table in _list_tables()
        if list(table.hash_key_names) == [_KEY]
        for lease in _read_table(table.name, _list_items(table), streams)
    )


def has_tables() -> bool:
    """Whether any client has made a table in DynamoDB."""
    return bool(_list_tables())


def _list_tables() -> list[Any]:
    # While a first request loads the models, on another thread, they are there and have no backends yet.
    held = getattr(sys.modules.get(_MODELS), "dynamodb_backends", None)
    if held is None:
        return []
    backends = [regional for account in list(held.values()) for regional in list(account.values())]
    return [table for backend in backends for table in list(backend.tables.values())]


def _list_items(table: Any) -> list[Any]:
    try:
        return list(table.all_items())
    except RuntimeError:  # a client changed the table meanwhile; the next look reads it
        return []


def _read_table(table: str, items: Iterable[Any], streams: Mapping[int, str]) -> Iterator[Lease]:
    for item in items:
        values = {name: str(each.value) for name, each in list(item.attrs.items())}
        key = values.get(_KEY, "")
        parts = key.split(":")
        shard = parts[-1]
        if not shard.startswith("shardId-"):
            continue
        checkpoint = values.get("checkpoint", "")
        place = position(checkpoint)
        # A KCL that reads several streams has account:stream:creation:shard as its key.
        stream = parts[1] if len(parts) == 4 else streams.get(place.stream, "") if place else ""
        yield Lease(table, shard, values.get("leaseOwner", ""), checkpoint, stream)
