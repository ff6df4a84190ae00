"""Reading a document and the files beside it, and following the references in them; never over a network."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

import msgspec
import yaml

from schemas.asyncapi.problems import Place, Problems, write_pointer
from schemas.plain_yaml import DEEPEST, MOST_VALUES, load

LARGEST_FILE: Final = 4 << 20
"""Bytes of the largest file that is read."""
_LONGEST_CHAIN: Final = 50
_NAMED_TYPES: Final = ("record", "error", "enum", "fixed")
_SUFFIXES: Final = (".yaml", ".yml", ".json", ".avsc")


class Node(NamedTuple):
    """A value of a document, and where it is."""

    value: Any
    place: Place

    def get(self, name: str) -> Node | None:
        """What an object has under a name; None without it, and for what is no object."""
        if not isinstance(self.value, dict) or name not in self.value:
            return None
        return Node(self.value[name], self.place.below(name))


class Documents:
    """The files of one document, each read once; what is wrong with them goes to ``problems``."""

    def __init__(self, path: Path) -> None:
        self.path: Final = path.resolve()
        self.problems: Final = Problems(self.path)
        self._files: dict[Path, Any] = {}
        self._named: dict[str, Place] = {}

    def read_root(self) -> Node | None:
        """Read the document itself; None for what cannot be read."""
        place = Place(self.path, "")
        return self._read(self.path, place)

    def list_files(self) -> tuple[Path, ...]:
        """The document, and the files that were read for its references so far."""
        return tuple(self._files)

    def _read(self, file: Path, asked_at: Place) -> Node | None:
        if file not in self._files:
            try:
                self._files[file] = _parse(file)
            except OSError as error:
                self.problems.add(asked_at, f"{file.name} cannot be read: {error.strerror}")
                return None
            except (ValueError, RecursionError, yaml.YAMLError) as error:
                self.problems.add(asked_at, f"{file.name} cannot be read: {_first_lines(error)}")
                return None
            self._note_names(Node(self._files[file], Place(file, "")))
        return Node(self._files[file], Place(file, ""))

    def _note_names(self, root: Node) -> None:
        """Note what schemas call themselves by ``$id`` and ``$anchor``, which references may name."""
        waiting = [root]
        while waiting:
            value, place = waiting.pop()
            if isinstance(value, dict):
                for name, prefix in (("$id", ""), ("$anchor", "#")):
                    if isinstance(value.get(name), str):
                        self._named.setdefault(prefix + value[name].removesuffix("#"), place)
                waiting += [Node(below, place.below(name)) for name, below in value.items()]
            elif isinstance(value, list):
                waiting += [Node(below, place.below(at)) for at, below in enumerate(value)]

    def follow(self, node: Node | None) -> Node | None:
        """What a node refers to, the node itself if it is no reference; None for what leads nowhere."""
        for _ in range(_LONGEST_CHAIN):
            if node is None or not is_reference(node.value):
                return node
            node = self.find(node.value["$ref"], node.place.below("$ref"))
        if node is not None:
            self.problems.add(node.place, "the references lead in a circle")
        return None

    def find(self, reference: str, place: Place, _depth: int = 0) -> Node | None:
        """The value that a reference at a place names; None, and a problem, where there is none."""
        file, _, fragment = reference.partition("#")
        named = self._named.get(reference.removesuffix("#")) or self._named.get(file)
        if named is not None:
            inner = fragment if file in self._named else ""
            root, pointer = self._read(named.file, place), named.pointer + unquote(inner)
        elif re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", file) or file.startswith("//"):
            self.problems.add(
                place, f"{reference} is on a network, which is never asked: keep the file beside this one"
            )
            return None
        else:
            target = (place.file.parent / unquote(file)).resolve() if file else place.file
            if Path(unquote(file)).is_absolute():
                self.problems.add(place, f"{reference} is a place on one machine: refer to it from this file")
                return None
            if target != self.path and target.suffix not in _SUFFIXES:
                self.problems.add(place, f"{reference} names no file of the kinds {', '.join(_SUFFIXES)}")
                return None
            root, pointer = self._read(target, place), unquote(fragment)
        if root is None:
            return None
        types = _name_types(root) if root.place.file.suffix == ".avsc" else {}
        name = pointer.removeprefix("/").rpartition(".")[2]
        found = types.get(name) or self._walk(root, pointer, _depth)
        if found is None:
            there = f": the types there are {', '.join(types)}"[:200] if types else ""
            self.problems.add(place, f"{reference} leads nowhere{there}")
        return found

    def _walk(self, root: Node, pointer: str, depth: int) -> Node | None:
        """The value at a pointer, through the references that are on the way."""
        if depth > _LONGEST_CHAIN or (pointer and not pointer.startswith("/")):
            return None
        node: Node | None = root
        for step in pointer.split("/")[1:]:
            if node is not None and is_reference(node.value):
                node = self.find(node.value["$ref"], node.place.below("$ref"), depth + 1)
            node = node and _child(node, step.replace("~1", "/").replace("~0", "~"))
        return node


def is_reference(value: Any) -> bool:
    """Whether a value is a Reference Object."""
    return isinstance(value, dict) and isinstance(value.get("$ref"), str)


def _name_types(root: Node) -> dict[str, Node]:
    """The types in a file of Avro by their names, the outer ones first: a reference may name one."""
    types, waiting = {}, [root]
    while waiting:
        node = waiting.pop(0)
        value, place = node
        if isinstance(value, dict):
            if isinstance(value.get("name"), str) and value.get("type") in _NAMED_TYPES:
                types[value["name"]] = node
            waiting += [Node(below, place.below(name)) for name, below in value.items()]
        elif isinstance(value, list):
            waiting += [Node(below, place.below(at)) for at, below in enumerate(value)]
    return types


def _child(node: Node, step: str) -> Node | None:
    value = node.value
    if isinstance(value, dict) and step in value:
        return Node(value[step], node.place.below(step))
    if isinstance(value, list) and step.isascii() and step.isdigit() and int(step) < len(value):
        return Node(value[int(step)], node.place.below(int(step)))
    return None


def _parse(file: Path) -> Any:
    if file.stat().st_size > LARGEST_FILE:
        raise ValueError(f"it has more than {LARGEST_FILE:,} bytes")
    raw = file.read_bytes()
    if raw.lstrip()[:1] in (b"{", b"["):
        try:
            value = msgspec.json.decode(raw)
        except msgspec.DecodeError as error:
            if file.suffix == ".json":
                raise ValueError(f"it is not JSON: {error}") from None
            value = load(raw)
    else:
        value = load(raw)
    return _Plain().copy(value, ())


class _Plain:
    """Copies a value that YAML gave, so that it has what JSON can have, and no more than it may."""

    def __init__(self) -> None:
        self._left = MOST_VALUES

    def copy(self, value: Any, steps: tuple[str | int, ...]) -> Any:
        self._left -= 1
        if self._left < 0:
            raise ValueError(f"it has more than {MOST_VALUES:,} values")
        if len(steps) > DEEPEST:
            raise ValueError(f"it is more than {DEEPEST} levels deep")
        if isinstance(value, dict):
            return {
                _name(name, steps): self.copy(below, (*steps, str(name))) for name, below in value.items()
            }
        if isinstance(value, list):
            return [self.copy(below, (*steps, at)) for at, below in enumerate(value)]
        if value is None or isinstance(value, str | bool | int):
            return value
        if isinstance(value, float) and math.isfinite(value):
            return value
        raise ValueError(f"{write_pointer(steps)} has a value that JSON has not: {str(value)[:80]}")


def _name(name: Any, steps: tuple[str | int, ...]) -> str:
    if isinstance(name, bool):
        return "true" if name else "false"
    if not isinstance(name, str | int | float):
        raise ValueError(f"{write_pointer(steps)} has a name that is no text: {str(name)[:80]}")  # noqa: TRY004 -- of the file
    return str(name)


def _first_lines(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return f"it is more than {DEEPEST} levels deep"
    return " ".join(str(error).split())[:300]
