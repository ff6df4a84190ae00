"""The code of functions: archives, unpacked for the processes that run them, and folders of the user's."""

from __future__ import annotations

import hashlib
import io
import lzma
import os
import shutil
import struct
import tempfile
import zipfile
import zlib
from base64 import b64encode
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from emulator.journal import no_space
from extensions.functions.engine.errors import BadValueError, LambdaError
from extensions.functions.engine.function import Code

MOST_ZIPPED_BYTES: Final = 50 << 20
_MOST_UNZIPPED_BYTES: Final = 250 << 20
_CANNOT_UNZIP: Final = "Could not unzip uploaded file. Please check your file, then try to upload again."
_BAD_ARCHIVE: Final = (
    *(zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, ValueError, struct.error),
    # The last is what a file without a name raises.
    *(zlib.error, lzma.LZMAError, IndexError),
)
_NOT_WATCHED: Final = ("__pycache__", "node_modules", "site-packages")


class CodeStore:
    """The archives of this process by their digests. What is unpacked of them is gone when it is closed."""

    def __init__(self) -> None:
        self._archives: dict[str, bytes] = {}
        self._root: Path | None = None

    def add(self, archive: bytes) -> Code:
        """Take an archive, and unpack it. Raises LambdaError for one that cannot be unpacked."""
        if len(archive) > MOST_ZIPPED_BYTES:
            most = f"Request must be smaller than {MOST_ZIPPED_BYTES} bytes for the CreateFunction operation"
            raise LambdaError("RequestEntityTooLargeException", most, 413)
        code = self.keep(archive)
        try:
            self.folder_of(code)
        except BadValueError:
            del self._archives[code.digest]
            raise
        return code

    def keep(self, archive: bytes) -> Code:
        """Take an archive that was unpacked before."""
        digest = hashlib.sha256(archive)
        self._archives[digest.hexdigest()] = archive
        return Code(b64encode(digest.digest()).decode(), len(archive), digest.hexdigest())

    def watch(self, folder: str) -> Code:
        """Take the code in a folder as it is at each invocation. Raises BadValueError if there is none."""
        if not Path(folder).is_dir():
            raise BadValueError(
                f"Error occurred while GetObject. S3 Error Code: NoSuchKey. No folder {folder}"
            )
        digest = b64encode(hashlib.sha256(folder.encode()).digest()).decode()
        return Code(digest, 0, watched=str(Path(folder).resolve()))

    def folder_of(self, code: Code) -> Path:
        """The folder with the code, unpacked if it is not. Raises BadValueError where it cannot be."""
        if code.watched:
            return Path(code.watched)
        if self._root is None:
            self._root = Path(tempfile.mkdtemp(prefix="rdss-functions-"))
        folder = self._root / code.digest
        if not folder.exists():
            self._unpack(code, folder)
        return folder

    def archive_of(self, digest: str) -> bytes | None:
        return self._archives.get(digest)

    def keep_only(self, used: Collection[str]) -> None:
        """Remove the archives that no function has any more. ``used`` are digests."""
        for digest in self._archives.keys() - set(used):
            del self._archives[digest]
            if self._root is not None:
                shutil.rmtree(self._root / digest, ignore_errors=True)

    def close(self) -> None:
        if self._root is not None:
            shutil.rmtree(self._root, ignore_errors=True)

    def _unpack(self, code: Code, folder: Path) -> None:
        archive = self._archives.get(code.digest)
        if archive is None:
            raise BadValueError(
                f"The code with the digest {code.sha256} was lost: update the function's code"
            )
        unfinished = Path(tempfile.mkdtemp(dir=folder.parent, prefix="new-"))
        try:
            with zipfile.ZipFile(io.BytesIO(archive)) as opened:
                if sum(each.file_size for each in opened.infolist()) > _MOST_UNZIPPED_BYTES:
                    raise BadValueError(f"Unzipped size must be smaller than {_MOST_UNZIPPED_BYTES} bytes")
                for each in opened.infolist():
                    extracted = Path(opened.extract(each, unfinished))
                    # The archive says what may be executed, as a custom runtime's bootstrap must be.
                    if (mode := each.external_attr >> 16 & 0o777) and not each.is_dir():
                        extracted.chmod(mode | 0o600)
            unfinished.rename(folder)
        except _BAD_ARCHIVE as error:
            raise BadValueError(_CANNOT_UNZIP) from error
        except OSError as error:
            if no_space(error):
                raise
            # It names a file as no file can be named, or one as a folder of another.
            raise BadValueError(_CANNOT_UNZIP) from error
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)


def newest_change(folder: str) -> tuple[int, int]:
    """What changes when a file below the folder does: their number, and the latest time of a change.

    Hidden folders and those of installed packages are not looked into: the sandbox's own data may be there.
    """
    files: list[int] = []
    for where, folders, names in os.walk(folder):
        folders[:] = [each for each in folders if each not in _NOT_WATCHED and not each.startswith(".")]
        for name in names:
            with suppress(FileNotFoundError):
                files.append(Path(where, name).stat().st_mtime_ns)
    return len(files), max(files, default=0)


def zip_files(files: Mapping[str, bytes]) -> bytes:
    """An archive of files by their names, all of which may be executed."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            file = zipfile.ZipInfo(name)
            file.external_attr = 0o755 << 16
            archive.writestr(file, content)
    return packed.getvalue()
