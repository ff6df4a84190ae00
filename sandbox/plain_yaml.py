"""YAML in which ``on`` and ``no`` are words, as in YAML 1.2: only ``true`` and ``false`` are booleans."""

from __future__ import annotations

import re
from typing import Any

import yaml

_BOOLEAN = "tag:yaml.org,2002:bool"


class _Loader(yaml.SafeLoader):
    """The safe loader with the booleans of YAML 1.2."""

    yaml_implicit_resolvers = {  # noqa: RUF012 -- the name that the base class gives it
        first: [(tag, pattern) for tag, pattern in resolvers if tag != _BOOLEAN]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


_Loader.add_implicit_resolver(_BOOLEAN, re.compile(r"(?:true|True|TRUE|false|False|FALSE)\Z"), list("tTfF"))


def load(text: str) -> Any:
    """Parse a YAML document. Raises ``yaml.YAMLError``."""
    return yaml.load(text, Loader=_Loader)  # noqa: S506 -- a safe loader, with fewer booleans
