"""YAML of the values that JSON has: dates are texts, ``on`` and ``no`` are words, as in YAML 1.2."""

from __future__ import annotations

import re
from typing import Any, Final

import yaml

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
    """Parse a YAML document. Raises ``yaml.YAMLError``."""
    return yaml.load(text, Loader=_Loader)  # noqa: S506 -- a safe loader, with fewer types
