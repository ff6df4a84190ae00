"""Reading the fields of one object of a document, each with the type that it must have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Any, Final

from schemas.asyncapi.documents import Documents, Node

_KINDS: Final = {
    str: "a text",
    bool: "true or false",
    int: "a whole number",
    dict: "an object",
    list: "a list",
}


class ObjectReader:
    """An object of a document; what is wrong with its fields goes to the document's problems.

    ``known`` are the names that it may have beside those that begin with ``x-``; None for any.
    """

    def __init__(self, documents: Documents, node: Node, known: Sequence[str] | None = None) -> None:
        self.documents = documents
        self.node = node
        self._fields: dict[str, Any] = {}
        if not isinstance(node.value, dict):
            self.problem("this must be an object")
            return
        self._fields = node.value
        for name in self._fields if known is not None else ():
            if name not in (known or ()) and not name.startswith("x-"):
                near = get_close_matches(name, known or (), n=1)
                self.problem(
                    "is not a field of this object" + (f"; did you mean {near[0]}?" if near else ""), name
                )

    def problem(self, sentence: str, *steps: str | int) -> None:
        """Note what is wrong with the object, or with what is in it under these names."""
        self.documents.problems.add(self.node.place.below(*steps), sentence)

    def _take(self, name: str, kind: type, *, required: bool) -> Any:
        if name not in self._fields:
            if required:
                self.problem(f"{name} is required and missing")
            return None
        value = self._fields[name]
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            self.problem(f"this must be {_KINDS[kind]}", name)
            return None
        return value

    def text(self, name: str, default: str = "", *, required: bool = False) -> str:
        found = self._take(name, str, required=required)
        return default if found is None else str(found)

    def flag(self, name: str, *, default: bool) -> bool:
        found = self._take(name, bool, required=False)
        return default if found is None else bool(found)

    def choice(self, name: str, choices: Sequence[str], default: str) -> str:
        found = self.text(name, default)
        if found not in choices:
            self.problem(f"this must be one of {', '.join(choices)}", name)
            return default
        return found

    def number(self, name: str, default: int, *, least: int = 1, most: int) -> int:
        """A whole number from ``least`` to ``most``."""
        found = self._take(name, int, required=False)
        if found is not None and not least <= found <= most:
            self.problem(f"this must be from {least:,} to {most:,}", name)
            return default
        return default if found is None else int(found)

    def within(self, name: str) -> Node | None:
        """What is under a name, a reference followed; None without it, and for a bad reference."""
        return self.documents.follow(self.node.get(name))

    def items(self, name: str) -> Iterator[tuple[str, Node]]:
        """The named values of an object under a name, references followed."""
        node = self.within(name)
        if node is None:
            return
        if not isinstance(node.value, dict):
            self.documents.problems.add(node.place, "this must be an object")
            return
        for key in node.value:
            found = self.documents.follow(node.get(key))
            if found is not None:
                yield key, found

    def elements(self, name: str) -> Iterator[Node]:
        """The values of a list under a name, references followed."""
        node = self.within(name)
        if node is None:
            return
        if not isinstance(node.value, list):
            self.documents.problems.add(node.place, "this must be a list")
            return
        for at, value in enumerate(node.value):
            found = self.documents.follow(Node(value, node.place.below(at)))
            if found is not None:
                yield found
