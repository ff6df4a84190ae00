"""Fetching the files that a message refers to (specification, File Download Behaviour)."""

from sandbox.download.download import Downloads
from sandbox.download.failures import DownloadError, Interrupted
from sandbox.download.remote_file import Checksum, RemoteFile, files_of
from sandbox.download.source import Fetch, Source

__all__ = [
    "Checksum",
    "DownloadError",
    "Downloads",
    "Fetch",
    "Interrupted",
    "RemoteFile",
    "Source",
    "files_of",
]
