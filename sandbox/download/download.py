"""Downloads that survive interruptions, restarts, full disks and damaged files.

    fetch -> NAME exists, checksums right? --------------------------> NAME
               | no                                                      ^
               v                                                         | rename after fsync
          NAME.part + NAME.part-of (its tag) <-- resume from its size -- checksums right?

Specification, File Download Behaviour.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from emulator.clock import Clock
from sandbox.download.download_errors import (
    DownloadError,
    DownloadInterruptedError,
    FileChangedError,
    WrongChecksumError,
)
from sandbox.download.file_source import FileSource
from sandbox.download.partial import Partial, digests
from sandbox.download.remote_file import Checksum, RemoteFile
from sandbox.gateway.gateway import RETRY_SECONDS


def free_bytes(folder: Path) -> int:
    """The free bytes on the disk of a folder, which need not exist yet."""
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free


class Downloads:
    """Fetches files into a staging area; ``sources`` has a source for each accepted URI scheme."""

    def __init__(
        self,
        staging: Path,
        sources: Mapping[str, FileSource],
        clock: Clock,
        *,
        free: Callable[[Path], int] = free_bytes,
    ) -> None:
        self._staging = staging
        self._sources = sources
        self._clock = clock
        self._free = free

    def fetch(self, file: RemoteFile, within: str = "") -> Path:
        """Fetch a file, verify its checksums and return its path; a file fetched before is returned at once.

        ``within`` names a part of the staging area: files in different ones can be fetched at the same time.

        An interrupted download is resumed, with up to ten retries in a row without progress and delays of
        2^n x 100 ms. Raises ``DownloadError``; then nothing exists under the file's name.
        """
        target = self._staging / within / file.place
        try:
            if target.exists():
                if not _wrong(file.checksums, digests(target)):
                    return target
                target.unlink()
            partial = Partial(target)
            self._fetch_with_retries(file, partial)
            if wrong := _wrong(file.checksums, partial.digests()):
                partial.drop()
                raise WrongChecksumError(f"file {file.uuid} ({file.location}): {wrong}")
            return partial.finish()
        except OSError as error:
            raise DownloadError(f"{file.location}: {error}") from error

    def _fetch_with_retries(self, file: RemoteFile, partial: Partial) -> None:
        fruitless = 0
        while True:
            before = partial.size
            try:
                self._fetch_rest(file, partial)
            except DownloadInterruptedError as error:
                if isinstance(error, FileChangedError):
                    partial.drop()
                fruitless = 0 if partial.size > before else fruitless + 1
                if fruitless > len(RETRY_SECONDS):
                    why = f"to fetch it failed, and so did {len(RETRY_SECONDS)} retries; the last: {error}"
                    raise DownloadError(why) from error
                self._clock.wait(RETRY_SECONDS[max(fruitless - 1, 0)])
            else:
                return

    def _fetch_rest(self, file: RemoteFile, partial: Partial) -> None:
        """Fetch the missing rest of the file in one request."""
        self._require_room(file, file.size - partial.size)
        with self._source(file).fetch(file.location, partial.size, partial.tag) as fetch:
            self._require_room(file, (fetch.total or 0) - fetch.start)
            with partial.writing(fetch.start, fetch.tag) as staged:
                for chunk in fetch.chunks:
                    staged.write(chunk)
            if fetch.total is not None and partial.size != fetch.total:
                raise DownloadInterruptedError(f"{file.location}: {partial.size} of {fetch.total} bytes came")

    def _source(self, file: RemoteFile) -> FileSource:
        """The source of a file. Plain HTTP is one where the metadata names it as the platform."""
        scheme = urlsplit(file.location).scheme.lower()
        if scheme in self._sources and (scheme != "http" or file.platform == "HTTP"):
            return self._sources[scheme]
        accepted = " or ".join(self._sources)
        why = f"{file.location} is not fetched: files are taken from {accepted} only"
        if scheme in self._sources:
            why = f"{file.location} is not fetched: its storagePlatformType is {file.platform}, not HTTP"
        raise DownloadError(why)

    def _require_room(self, file: RemoteFile, size: int) -> None:
        free = self._free(self._staging)
        if size > free:
            why = f"{file.location} needs {size:,} bytes; {self._staging} has room for {free:,}"
            raise DownloadError(why)


def _wrong(checksums: tuple[Checksum, ...], found: Mapping[str, str]) -> str | None:
    """The reason why a checksum does not match; None when all match."""
    for checksum in checksums:
        if checksum.type not in found:
            return f"{checksum.type} is no checksum type; they are {' and '.join(found)}"
        if checksum.value.strip().lower() != found[checksum.type]:
            return f"{checksum.type} is {found[checksum.type]}; the metadata says {checksum.value}"
    return None
