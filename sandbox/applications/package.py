"""Archival packages: the metadata and files of an object as a BagIt bag (RFC 8493) in a zip."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Final
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from rdss_sandbox.files.rewriting import rewriting

_DECLARATION: Final = b"BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n"
_METADATA: Final = "data/metadata.json"
_READ_BYTES: Final = 1 << 20


def write_package(target: Path, metadata: bytes, files: Iterable[tuple[str, Path]], made: datetime) -> None:
    """Write a package atomically.

    ``files`` are pairs of a name within ``data/objects`` and the path of the file.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with rewriting(target) as draft, ZipFile(draft, "w") as package:
        package.writestr(_entry("bagit.txt", made), _DECLARATION)
        package.writestr(_entry(_METADATA, made), metadata)
        digests = {_METADATA: sha256(metadata).hexdigest()}
        for name, path in files:
            inside = f"data/objects/{name}"
            digests[inside] = _add_file(package, _entry(inside, made), path)
        # A manifest must escape % and line breaks; these names have no line breaks.
        lines = [f"{digest}  {name.replace('%', '%25')}\n" for name, digest in digests.items()]
        package.writestr(_entry("manifest-sha256.txt", made), "".join(lines))


def _add_file(package: ZipFile, entry: ZipInfo, path: Path) -> str:
    """Add a file of any size to the package and return its SHA-256."""
    digest = sha256()
    with path.open("rb") as file, package.open(entry, "w", force_zip64=True) as inside:
        while chunk := file.read(_READ_BYTES):
            digest.update(chunk)
            inside.write(chunk)
    return digest.hexdigest()


def _entry(name: str, made: datetime) -> ZipInfo:
    moment = (made.year, made.month, made.day, made.hour, made.minute, made.second)
    entry = ZipInfo(name, date_time=moment)
    entry.compress_type = ZIP_DEFLATED
    return entry
