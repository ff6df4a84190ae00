"""A file as the metadata of a message describes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

_LONGEST_NAME: Final = 200


@dataclass(frozen=True, slots=True)
class Checksum:
    """A checksum. ``type`` is md5 or sha256; ``value`` has hexadecimal digits in either case."""

    type: str
    value: str


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file to fetch: its URI, its stated size in bytes and its checksums.

    ``platform`` is the storagePlatformType: S3 or HTTP.
    """

    uuid: str
    location: str
    name: str
    size: int
    checksums: tuple[Checksum, ...]
    platform: str = "HTTP"

    @property
    def place(self) -> str:
        """The path of the file in the staging area, unique by its UUID and safe whatever the two are."""
        return f"{_harmless(self.uuid)}/{_harmless(self.name)}"


def files_of(body: Mapping[str, Any]) -> list[RemoteFile]:
    """The files of a valid object; a metadata-only record has none."""
    return [
        RemoteFile(
            each["fileUUID"],
            each["fileStorageLocation"],
            each["fileName"],
            int(each["fileSize"]),
            tuple(Checksum(c["checksumType"], c["checksumValue"]) for c in each["fileChecksum"]),
            each["fileStoragePlatform"]["storagePlatformType"],
        )
        for each in body.get("objectFile", ())
    ]


def _harmless(name: str) -> str:
    """The last part of a name, so that no name leads out of its folder."""
    last = name.replace("\\", "/").rstrip("/").rpartition("/")[2]
    kept = "".join(letter for letter in last if letter.isprintable())
    kept = kept.encode()[:_LONGEST_NAME].decode(errors="ignore")
    return kept if kept.strip(". ") else "unnamed"
