"""Object keys as folders: the entries one level below a prefix."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rdss_sandbox.shapes.buckets import ObjectRow


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """A folder with its number of ``objects``, or an object, where that is 0.

    ``name`` is the last part of ``key``. ``modified`` of a folder is that of its newest object.
    """

    name: str
    key: str
    size: int
    modified: float
    objects: int = 0


def level(objects: Iterable[ObjectRow], prefix: str) -> list[FolderEntry]:
    """The folders and objects directly below ``prefix``: folders first, then by name."""
    folders: dict[str, FolderEntry] = {}
    files: list[FolderEntry] = []
    for each in objects:
        if not each.key.startswith(prefix):
            continue
        name, slash, _ = each.key.removeprefix(prefix).partition("/")
        if not slash:
            files.append(FolderEntry(name, each.key, each.size, each.modified))
            continue
        held = folders.get(name) or FolderEntry(name, f"{prefix}{name}/", 0, 0.0)
        newest = max(held.modified, each.modified)
        folders[name] = FolderEntry(name, held.key, held.size + each.size, newest, held.objects + 1)
    return sorted(folders.values(), key=lambda entry: entry.name) + sorted(
        files, key=lambda entry: entry.name
    )


def above(prefix: str) -> str:
    """The prefix one level up; empty at the top."""
    head, slash, _ = prefix.rstrip("/").rpartition("/")
    return head + slash
