"""A file as a message's metadata describes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

_LONGEST_NAME: Final = 200


@dataclass(frozen=True, slots=True)
class Checksum:
    """``type`` is md5 or sha256, ``value`` hexadecimal digits in either case."""

    type: str
    value: str


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """Where a file is, an https or s3 URI, how many bytes it says it has, and what they add up to."""

    uuid: str
    location: str
    name: str
    size: int
    checksums: tuple[Checksum, ...]

    @property
    def place(self) -> str:
        """Where it is staged, below the staging area: apart from every other file, whatever its name says."""
        return f"{self.uuid}/{_harmless(self.name)}"


def files_of(body: Mapping[str, Any]) -> list[RemoteFile]:
    """The files of a valid object; none for a metadata only record."""
    return [
        RemoteFile(
            each["fileUUID"],
            each["fileStorageLocation"],
            each["fileName"],
            int(each["fileSize"]),
            tuple(Checksum(c["checksumType"], c["checksumValue"]) for c in each["fileChecksum"]),
        )
        for each in body.get("objectFile", ())
    ]


def _harmless(name: str) -> str:
    """The last part of a name, so that no name reaches out of its folder."""
    last = name.replace("\\", "/").rstrip("/").rpartition("/")[2]
    kept = "".join(letter for letter in last if letter.isprintable())
    kept = kept.encode()[:_LONGEST_NAME].decode(errors="ignore")
    return kept if kept.strip(". ") else "unnamed"
