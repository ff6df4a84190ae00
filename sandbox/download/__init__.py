"""Fetching the files that a message refers to (specification, File Download Behaviour)."""

from sandbox.download.download import Downloads
from sandbox.download.download_errors import DownloadError, DownloadInterruptedError, WrongChecksumError
from sandbox.download.file_source import Fetch, FileSource
from sandbox.download.remote_file import Checksum, RemoteFile, files_of

__all__ = [
    "Checksum",
    "DownloadError",
    "DownloadInterruptedError",
    "Downloads",
    "Fetch",
    "FileSource",
    "RemoteFile",
    "WrongChecksumError",
    "files_of",
]
