"""The storage of tables: a folder, or a prefix of an S3 bucket at any endpoint."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from rdss_sandbox.machine.trusted_authorities import BUNDLE
from rdss_sandbox.tables import choose_endpoint, choose_region, endpoint_credentials, storage_options

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem


@dataclass(frozen=True)
class TableStorage:
    """The place of a set of tables; Spark sends it to executors, and each process opens its own filesystem.

    ``uri`` is an absolute path or ``s3://bucket/prefix``. ``endpoint_url`` is None for S3 of AWS.
    """

    uri: str
    endpoint_url: str | None = None
    region: str = "us-east-1"

    @classmethod
    def at(cls, to: Path | str, endpoint_url: str | None = None, region: str | None = None) -> TableStorage:
        """Build the storage for a path or URI that a user gave; endpoint and region as for ``read_table``."""
        text = str(to)
        if not text.startswith("s3://"):
            return cls(str(Path(text).absolute()), endpoint_url)
        return cls(text.rstrip("/"), choose_endpoint(endpoint_url), choose_region(region))

    @property
    def remote(self) -> bool:
        """Whether this is S3."""
        return self.uri.startswith("s3://")

    @property
    def root(self) -> str:
        """The path of the place within ``filesystem``."""
        return self.uri.removeprefix("s3://")

    @property
    def filesystem(self) -> FileSystem:
        """Pyarrow's view of it."""
        return _s3(replace(self, uri="")) if self.remote else _local()

    @property
    def options(self) -> dict[str, str]:
        """What delta-rs needs to know of S3: empty for a folder."""
        return storage_options(self.uri, self.endpoint_url, self.region)

    def client(self) -> Any:
        """Create an S3 client of botocore, for what neither pyarrow nor delta-rs has."""
        from botocore.config import Config
        from botocore.session import Session

        keys = endpoint_credentials() if self.endpoint_url else {}
        return Session().create_client(
            "s3",
            endpoint_url=self.endpoint_url,
            region_name=self.region,
            aws_access_key_id=keys.get("AWS_ACCESS_KEY_ID"),
            aws_secret_access_key=keys.get("AWS_SECRET_ACCESS_KEY"),
            aws_session_token=keys.get("AWS_SESSION_TOKEN"),
            config=Config(s3={"addressing_style": "path"} if self.endpoint_url else {}),
        )

    def table_uri(self, table: str) -> str:
        """The address of a table, for delta-rs."""
        return f"{self.uri}/{table}"

    def path(self, *parts: str) -> str:
        """The path of something in here, for ``filesystem``."""
        return "/".join((self.root, *parts))

    def read(self, name: str) -> bytes | None:
        """The bytes of one small file; None when it is not there."""
        try:
            with self.filesystem.open_input_stream(self.path(name)) as file:
                return bytes(file.read())
        except FileNotFoundError:
            return None

    def size(self, name: str) -> int:
        """The bytes that a file has."""
        return int(self.filesystem.get_file_info(self.path(name)).size or 0)

    def names(self, folder: str) -> list[str]:
        """Paths of the files in a folder, relative to the place, in order; none when there is no folder."""
        from pyarrow.fs import FileSelector, FileType

        selector = FileSelector(self.path(folder), allow_not_found=True)
        found = self.filesystem.get_file_info(selector)
        return sorted(info.path[len(self.root) + 1 :] for info in found if info.type == FileType.File)

    def remove(self, name: str) -> None:
        self.filesystem.delete_file(self.path(name))


@lru_cache(maxsize=1)
def _local() -> FileSystem:
    from pyarrow.fs import LocalFileSystem

    return LocalFileSystem()


@lru_cache(maxsize=8)
def _s3(place: TableStorage) -> FileSystem:
    from pyarrow.fs import S3FileSystem

    if not place.endpoint_url:
        return S3FileSystem(region=place.region)
    endpoint, keys = urlsplit(place.endpoint_url), endpoint_credentials()
    return S3FileSystem(
        region=place.region,
        scheme=endpoint.scheme,
        endpoint_override=endpoint.netloc,
        access_key=keys["AWS_ACCESS_KEY_ID"],
        secret_key=keys["AWS_SECRET_ACCESS_KEY"],
        session_token=keys.get("AWS_SESSION_TOKEN"),
        tls_ca_file_path=os.environ.get(BUNDLE),
    )
