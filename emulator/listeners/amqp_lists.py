"""What a query of RabbitMQ's management API makes of a list: order, filter, page and columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from emulator.amqp.management import Document
from emulator.patterns import BadPatternError, Pattern

_USUAL_PAGE: Final = 100
_LARGEST_PAGE: Final = 500
_TRUE: Final = "true"
_ORDER: Final = ("name", "source", "destination", "routing_key", "properties_key")
Query: TypeAlias = Mapping[str, str]


class BadQueryError(ValueError):
    """The page cannot be had. ``error`` is RabbitMQ's word for why, the text its sentence."""

    def __init__(self, error: str, why: str) -> None:
        super().__init__(why)
        self.error = error


def sort(found: Sequence[Document], query: Query) -> list[Document]:
    """Sort by the path that ``sort`` names, and by name; backwards with ``sort_reverse``."""
    path = query.get("sort", "")
    ordered = sorted(
        found, key=lambda each: (_rank(_follow(each, path)), *(each.get(key, "") for key in _ORDER))
    )
    return ordered[::-1] if query.get("sort_reverse") == _TRUE else ordered


def paginate(found: Sequence[Document], query: Query) -> Any:
    """The page that was asked for, of those whose name contains ``name``, in any case; else all.

    Raises BadQueryError.
    """
    if "page" not in query:
        return list(found)
    page, size = _read_page(query)
    is_wanted = _read_filter(query)
    chosen = [each for each in found if is_wanted(each["name"])]
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


def select(found: Any, query: Query) -> Any:
    """The fields that ``columns`` names, of each item of a list; everything where it is not given."""
    columns = [name.split(".") for name in query.get("columns", "").split(",") if name]
    if not columns:
        return found
    if isinstance(found, list):
        return [_keep(each, columns) for each in found]
    if "items" in found:
        return {**found, "items": [_keep(each, columns) for each in found["items"]]}
    return _keep(found, columns)


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
    """The document with these paths alone: a path beyond a value keeps the value."""
    if isinstance(found, list):
        return [_keep(each, columns) for each in found]
    if not isinstance(found, dict) or any(not path for path in columns):
        return found
    beyond = {name: [path[1:] for path in columns if path[0] == name] for name in found}
    kept = {name: _keep(found[name], paths) for name, paths in beyond.items() if paths}
    return {name: value for name, value in kept.items() if value != {} or found[name] == {}}
