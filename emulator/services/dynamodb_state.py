"""DynamoDB's tables, with indexes, settings and stream records, and their items, as keys and values."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

import msgspec

from emulator.journal import Change
from emulator.rng import new_uuid
from emulator.services.packing import make, pack, unpack
from emulator.services.swept_values import READING, SweptValues
from emulator.services.touched import Touched, note_touched

_NAME: Final = "dynamodb"
_ITEM_OPERATIONS: Final = frozenset(
    ("PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems")
)
_APART: Final = frozenset(("items", "stream_shard", "lambda_event_source_mappings"))
_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder().decode


class DynamodbState:
    """DynamoDB in moto.

    Each table gets an identity, so that the items of a table that was deleted are never those of another one
    of its name. The values of a table, of an item and of a stream's record are stored apart.
    """

    name = _NAME

    def __init__(self) -> None:
        self._settings = SweptValues()
        self._streamed: list[tuple[Any, int]] = []
        self._stored: set[str] = set()
        self._fresh: set[str] = set()

    def install(self) -> None:
        from moto.dynamodb.models import DynamoDBBackend
        from moto.dynamodb.models.table import Table

        backends: Any = DynamoDBBackend
        tables: Any = Table
        # moto is changed once in a process, however many sandboxes it has.
        if getattr(tables.put_item, "touches", False):
            return
        put_item, delete_item, update_item = tables.put_item, tables.delete_item, backends.update_item

        def put(table: Any, *given: Any, **named: Any) -> Any:
            item = put_item(table, *given, **named)
            note_touched(_NAME, (table, item.hash_key, item.range_key))
            return item

        def delete(table: Any, hash_key: Any, range_key: Any) -> Any:
            note_touched(_NAME, (table, hash_key, range_key))
            return delete_item(table, hash_key, range_key)

        def update(backend: Any, table_name: str, key: Any, *given: Any, **named: Any) -> Any:
            try:
                return update_item(backend, table_name, key, *given, **named)
            finally:
                # An update that fails half way may have changed the item too.
                with suppress(Exception):
                    table = backend.get_table(table_name)
                    note_touched(_NAME, (table, *backend.get_keys_value(table, key)))

        changed: Any = put
        changed.touches = True
        tables.put_item, tables.delete_item, backends.update_item = changed, delete, update

    def restore(self, values: Mapping[bytes, bytes]) -> None:
        # Keys come in any order, and what is kept apart needs its table.
        apart: dict[str, list[tuple[list[Any], bytes]]] = {"item": [], "record": []}
        tables: dict[str, Any] = {}
        for key, value in values.items():
            kind, *names = _decode(key)
            if kind in apart:
                apart[kind].append((names, value))
                continue
            self._settings.note([(key, value)])
            if kind == "table":
                tables[names[2]] = _restore_table(names, unpack(value))
            else:
                _restore_backup_or_policy(kind, names, unpack(value))
        restore_items(tables, apart["item"])
        _restore_records(tables, apart["record"])
        self._stored.update(tables)

    def changes(self, touched: Touched, units: Iterable[Any]) -> Iterator[Change]:
        if self._may_change_settings(touched, units):
            for table in _tables():
                _identify(table)
            yield from self._settings.sweep(_settings())
            for table in _tables():
                # A table may begin with items: from a backup, or by an import.
                if table.kept_as not in self._stored:
                    self._fresh.add(table.kept_as)
                    yield from _items(table)
                    yield from self._new_records(table)
        tables: dict[str, Any] = {}
        for touched_table, hash_key, range_key in units:
            table = _present_table(touched_table)
            if table is not None:
                tables[table.kept_as] = table
                yield _item_key(table.kept_as, hash_key, range_key), _item_value(table, hash_key, range_key)
        for table in tables.values():
            yield from self._new_records(table)

    def everything(self) -> Iterator[Change]:
        for table in _tables():
            _identify(table)
        yield from _settings()
        for table in _tables():
            yield from _items(table)
            yield from _records(table, 0)

    def settle(self) -> None:
        self._settings.settle()
        self._stored |= self._fresh
        self._fresh.clear()
        for shard, count in self._streamed:
            shard.kept = count
        self._streamed.clear()

    def forget(self) -> None:
        self._settings.forget()
        self._stored.clear()

    def _may_change_settings(self, touched: Touched, units: Iterable[Any]) -> bool:
        if any(_identity(table) not in self._stored for table, _, _ in units):
            return True
        action = touched.action
        return touched.service == _NAME and action not in _ITEM_OPERATIONS and not action.startswith(READING)

    def _new_records(self, table: Any) -> Iterator[Change]:
        """Yield the records of a table's stream that are not stored."""
        shard = table.stream_shard
        if shard is not None:
            yield from _records(table, vars(shard).get("kept", 0))
            self._streamed.append((shard, len(shard.items)))


def _restore_records(tables: Mapping[str, Any], records: list[tuple[list[Any], bytes]]) -> None:
    from moto.dynamodb.models.table import StreamRecord

    for (identity, _), value in sorted(records, key=lambda each: each[0]):
        table = tables.get(identity)
        if table is not None and table.stream_shard is not None:
            table.stream_shard.items.append(make(StreamRecord, {"record": unpack(value)}))
            table.stream_shard.kept = len(table.stream_shard.items)


def restore_items(tables: Mapping[str, Any], items: Iterable[tuple[list[Any], bytes]]) -> None:
    """Put stored items into their tables. Those of a table that is gone are left out."""
    from moto.dynamodb.models.dynamo_type import DynamoType, Item, LimitedSizeDict

    for (identity, *_), value in items:
        table = tables.get(identity)
        if table is None:
            continue
        # The stored item has passed moto's limits, which take longer to check than all the rest.
        attributes = LimitedSizeDict.__new__(LimitedSizeDict)
        for name, each in _decode(value).items():
            dict.__setitem__(attributes, name, DynamoType(each))
        item: Any = object.__new__(Item)
        item.attrs = attributes
        item.hash_key = DynamoType(attributes[table.hash_key_attr])
        item.range_key = None
        if table.range_key_attr is None:
            table.items[item.hash_key] = item
        else:
            item.range_key = DynamoType(attributes[table.range_key_attr])
            table.items[item.hash_key][item.range_key] = item


def _backends() -> Iterator[Any]:
    from moto.dynamodb.models import dynamodb_backends

    for _, _, backend in dynamodb_backends.iter_backends():
        yield backend


def _tables() -> Iterator[Any]:
    for backend in _backends():
        yield from backend.tables.values()


def _present_table(table: Any) -> Any:
    """The table that has the place of ``table`` now: a transaction that fails replaces tables by copies."""
    from moto.dynamodb.models import dynamodb_backends

    present = dynamodb_backends[table.account_id][table.region_name].tables.get(table.name)
    return present if present is not None and _identity(present) == _identity(table) is not None else None


def _identity(table: Any) -> str | None:
    """Its identity; None while it has none."""
    identity: str | None = vars(table).get("kept_as")
    return identity


def _identify(table: Any) -> bool:
    """Give a table its identity, and return whether it had none."""
    if _identity(table) is not None:
        return False
    table.kept_as = new_uuid()
    return True


def _settings() -> Iterator[tuple[bytes, bytes]]:
    """What is few: settings of tables, backups, policies."""
    for backend in _backends():
        place = (backend.account_id, backend.region_name)
        for table in backend.tables.values():
            yield _encode(("table", *place, _identity(table))), pack(_attributes_of(table))
        for arn, backup in backend.backups.items():
            attributes = dict(vars(backup))
            table = attributes.pop("table")
            items = [_item_of(item) for item in table.all_items()]
            yield _encode(("backup", *place, arn)), pack((attributes, _attributes_of(table), items))
        for arn, policy in backend.resource_policies.items():
            yield _encode(("policy", *place, arn)), pack(policy)


def _attributes_of(table: Any) -> dict[str, Any]:
    attributes = {name: value for name, value in vars(table).items() if name not in _APART}
    attributes["class"] = type(table).__name__
    if table.stream_shard is not None:
        shard = table.stream_shard
        attributes["shard"] = (shard.id, shard.starting_sequence_number, shard.created_on)
    return attributes


def _table_with(attributes: dict[str, Any]) -> Any:
    from moto.dynamodb.models import table as models

    shard = attributes.pop("shard", None)
    table = make(getattr(models, attributes.pop("class")), attributes)
    table.items = defaultdict(dict)
    table.lambda_event_source_mappings = {}
    table.stream_shard = None
    if shard is not None:
        table.stream_shard = models.StreamShard(table.account_id, table)
        table.stream_shard.id, table.stream_shard.starting_sequence_number, table.stream_shard.created_on = (
            shard
        )
    return table


def _restore_table(names: list[Any], attributes: dict[str, Any]) -> Any:
    from moto.dynamodb.models import dynamodb_backends

    account, region, _ = names
    table = _table_with(attributes)
    dynamodb_backends[account][region].tables[table.name] = table
    return table


def _restore_backup_or_policy(kind: str, names: list[Any], value: Any) -> None:
    from moto.dynamodb.models import dynamodb_backends
    from moto.dynamodb.models.table import Backup

    account, region, arn = names
    backend = dynamodb_backends[account][region]
    if kind == "policy":
        backend.resource_policies[arn] = value
        return
    attributes, settings, items = value
    table = _table_with(settings)
    restore_items({"": table}, (([""], item) for item in items))
    backend.backups[arn] = make(Backup, {**attributes, "table": table})


def _item_key(identity: str, hash_key: Any, range_key: Any) -> bytes:
    keys = [_json(key) for key in (hash_key, range_key) if key is not None]
    return _encode(("item", identity, *keys))


def _item_value(table: Any, hash_key: Any, range_key: Any) -> bytes | None:
    """The item with this key, as it is now; None when there is none."""
    found = table.items.get(hash_key)
    if found is not None and range_key is not None:
        found = found.get(range_key)
    return None if found is None else _item_of(found)


def _item_of(item: Any) -> bytes:
    return _encode({name: _json(value) for name, value in item.attrs.items()})


def _items(table: Any) -> Iterator[Change]:
    for item in table.all_items():
        yield _item_key(table.kept_as, item.hash_key, item.range_key), _item_of(item)


def _records(table: Any, start: int) -> Iterator[Change]:
    """The records of a table's stream from ``start`` on."""
    if table.stream_shard is None:
        return
    for number in range(start, len(table.stream_shard.items)):
        record = table.stream_shard.items[number].record
        yield _encode(("record", table.kept_as, number)), pack(_without_types(record))


def _json(value: Any) -> dict[str, Any]:
    """An attribute's value as requests have it: ``{"S": "text"}``."""
    inside = value.value
    if isinstance(inside, dict):
        inside = {name: _json(each) for name, each in inside.items()}
    elif isinstance(inside, list):
        inside = [_json(each) if hasattr(each, "to_json") else each for each in inside]
    return {value.type: inside}


def _without_types(value: Any) -> Any:
    """A stream's record with every attribute as requests have it."""
    if isinstance(value, dict):
        return {name: _without_types(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_without_types(each) for each in value]
    return _json(value) if hasattr(value, "to_regular_json") else value
