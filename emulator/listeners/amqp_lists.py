"""What a query of RabbitMQ's management API makes of a list: order, filter, page and columns."""

from __future__ import annotations

import asyncio
import heapq
import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias, TypeVar

from emulator.amqp.management import Document
from emulator.clock import stopwatch
from emulator.http.bounds.client_limits import SLICE_SECONDS
from emulator.patterns import BadPatternError, Pattern

_USUAL_PAGE: Final = 100
_LARGEST_PAGE: Final = 500
_SORTED_AT_ONCE: Final = 500
_TRUE: Final = "true"
_ORDER: Final = ("name", "source", "destination", "routing_key", "properties_key")
Query: TypeAlias = Mapping[str, str]
_Each = TypeVar("_Each")


class BadQueryError(ValueError):
    """The page cannot be had. ``error`` is RabbitMQ's word for why, the text its sentence."""

    def __init__(self, error: str, why: str) -> None:
        super().__init__(why)
        self.error = error


class Slices:
    """Long lists are made in slices: one slice of one list in each turn of the event loop."""

    def __init__(self) -> None:
        self._slice = asyncio.Lock()

    async def over(self, items: Iterable[_Each]) -> AsyncIterator[_Each]:
        until = stopwatch() + SLICE_SECONDS
        for each in items:
            yield each
            if stopwatch() >= until:
                async with self._slice:
                    await asyncio.sleep(0)
                until = stopwatch() + SLICE_SECONDS


class Listing:
    """A list of documents, which are described while it is written, as the query asks."""

    def __init__(self, found: Iterable[Document], query: Query, *, has_pages: bool) -> None:
        self._found = found
        self._query = query
        self._is_page = has_pages and "page" in query

    async def write(self, slices: Slices) -> bytes:
        """The list as JSON. Raises BadQueryError."""
        page = _read_page(self._query) if self._is_page else None
        ordered = await self._sort(slices)
        if page is not None:
            return write_json(select(await self._paginate(ordered, page, slices), self._query))
        columns = _read_columns(self._query)
        written = [write_json(_keep(each, columns)) async for each in slices.over(ordered)]
        return b"[" + b",".join(written) + b"]"

    async def _sort(self, slices: Slices) -> list[Document]:
        """Sort by the path that ``sort`` names, and by name; backwards with ``sort_reverse``."""
        path = self._query.get("sort", "")

        def rank(each: Document) -> tuple[Any, ...]:
            return (_rank(_follow(each, path)), *(each.get(key, "") for key in _ORDER))

        found = [each async for each in slices.over(self._found)]
        starts = range(0, len(found), _SORTED_AT_ONCE)
        runs = [sorted(found[at : at + _SORTED_AT_ONCE], key=rank) async for at in slices.over(starts)]
        ordered = [each async for each in slices.over(heapq.merge(*runs, key=rank))]
        return ordered[::-1] if self._query.get("sort_reverse") == _TRUE else ordered

    async def _paginate(self, found: list[Document], asked: tuple[int, int], slices: Slices) -> Document:
        """The page that was asked for, of those whose name contains ``name``, in any case.

        Raises BadQueryError.
        """
        page, size = asked
        is_wanted = _read_filter(self._query)
        chosen = [each async for each in slices.over(found) if is_wanted(each["name"])]
        pages = -(-len(chosen) // size)
        if page > max(1, pages):
            why = f"Page out of range, page: {page} page size: {size}, len: {len(chosen)}"
            raise BadQueryError("page_out_of_range", why)
        items = chosen[(page - 1) * size : page * size]
        return {
            "filtered_count": len(chosen),
            "item_count": len(items),
            "items": items,
            "page": page,
            "page_count": pages,
            "page_size": size,
            "total_count": len(found),
        }


def write_json(found: Any) -> bytes:
    """A document as JSON: names may have bytes that are no UTF-8, which only this encoder takes."""
    return json.dumps(found, separators=(",", ":")).encode()


def select(found: Any, query: Query) -> Any:
    """The fields that ``columns`` names, of each item of a list; everything where it is not given."""
    columns = _read_columns(query)
    if columns and "items" in found:
        return {**found, "items": [_keep(each, columns) for each in found["items"]]}
    return _keep(found, columns)


def _read_columns(query: Query) -> list[list[str]]:
    return [name.split(".") for name in query.get("columns", "").split(",") if name]


def _read_page(query: Query) -> tuple[int, int]:
    given = query.get("page_size")
    try:
        page, size = int(query["page"]), _USUAL_PAGE if given is None else int(given)
    except ValueError:
        raise _invalid() from None
    if page < 1 or not 1 <= size <= _LARGEST_PAGE:
        asked = "undefined" if given is None else size
        why = f"Invalid pagination parameters: page number {page}, page size {asked}"
        raise BadQueryError("invalid_pagination_parameters", why)
    return page, size


def _read_filter(query: Query) -> Callable[[str], bool]:
    name = query.get("name", "")
    if query.get("use_regex", "").lower() != _TRUE:
        return lambda each: name.casefold() in each.casefold()
    try:
        return Pattern(f"(?i:{name})").found_in
    except BadPatternError:
        raise _invalid() from None


def _invalid() -> BadQueryError:
    return BadQueryError("bad_request", "Pagination parameters are invalid")


def _follow(document: Any, path: str) -> Any:
    """The value at a path such as ``messages_details.rate``; None where there is none."""
    for name in path.split("."):
        document = document.get(name) if isinstance(document, dict) else None
    return document


def _rank(value: Any) -> tuple[int, Any]:
    """Numbers before texts, as Erlang sorts, and what is not there last."""
    if isinstance(value, int | float):
        return 0, value
    return (1, value) if isinstance(value, str) else (2, "")


def _keep(found: Any, columns: list[list[str]]) -> Any:
    """The document with these paths alone, all without any: a path beyond a value keeps the value."""
    if not columns:
        return found
    if isinstance(found, list):
        return [_keep(each, columns) for each in found]
    if not isinstance(found, dict) or any(not path for path in columns):
        return found
    beyond = {name: [path[1:] for path in columns if path[0] == name] for name in found}
    kept = {name: _keep(found[name], paths) for name, paths in beyond.items() if paths}
    return {name: value for name, value in kept.items() if value != {} or found[name] == {}}
