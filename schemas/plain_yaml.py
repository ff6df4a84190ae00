"""YAML of the values that JSON has: dates are texts, ``on`` and ``no`` are words, as in YAML 1.2."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice
from typing import Any, Final

import yaml

DEEPEST: Final = 100
"""Levels of lists and maps."""
MOST_VALUES: Final = 300_000
"""In one file, where those of an alias count each time that it is used."""
_TOO_DEEP: Final = f"it is more than {DEEPEST} levels deep"
_BOOLEAN: Final = "tag:yaml.org,2002:bool"
_OTHERWISE: Final = (_BOOLEAN, "tag:yaml.org,2002:timestamp")


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """The safe loader with fewer types."""

    yaml_implicit_resolvers = {  # noqa: RUF012 -- the name that the base class gives it
        first: [(tag, pattern) for tag, pattern in resolvers if tag not in _OTHERWISE]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


_Loader.add_implicit_resolver(_BOOLEAN, re.compile(r"(?:true|True|TRUE|false|False|FALSE)\Z"), list("tTfF"))


def load(text: str | bytes) -> Any:
    """Parse a YAML document. Raises ``yaml.YAMLError``, also for one that no JSON could be."""
    try:
        value = yaml.load(text, Loader=_Loader)  # noqa: S506 -- a safe loader, with fewer types
    except RecursionError:
        raise yaml.YAMLError(_TOO_DEEP) from None
    except ValueError as error:
        raise yaml.YAMLError(str(error)) from error
    check_tree(value)
    return value


def check_tree(value: Any) -> None:
    """Raise ``yaml.YAMLError`` for a value with too many levels, as one within itself, or too many values.

    An alias of YAML is a value each time that it stands somewhere: a few lines can make billions.
    """
    level, count = [value], 0
    for _ in range(DEEPEST + 1):
        count += len(level)
        if count > MOST_VALUES:
            raise yaml.YAMLError(f"it has more than {MOST_VALUES:,} values")
        if not level:
            return
        below = (each for one in level for each in _list_values(one))
        level = list(islice(below, MOST_VALUES + 1))
    raise yaml.YAMLError(_TOO_DEEP)


def _list_values(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()
