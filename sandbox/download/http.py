"""Files over plain HTTP, for metadata that names HTTP as the platform: nobody vouches for the server."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import httpx

from emulator.destinations import Destinations, ForbiddenError
from rdss_sandbox.machine.trusted_authorities import trusting
from sandbox.download.download_errors import DownloadError
from sandbox.download.file_source import Fetch
from sandbox.download.https import fetch_over


class HttpSource:
    """Serves ``http`` locations; a redirect may lead to ``https``, whose certificates are validated.

    ``tell`` gets a line on the risk of each. No address is asked at which clouds keep credentials, since a
    message of anybody's names the location.
    """

    def __init__(
        self, tell: Callable[[str], None], trusted: Path | None = None, *, timeout: float = 30.0
    ) -> None:
        self._tell = tell
        self._reports: set[str] = set()
        context: ssl.SSLContext = trusting(trusted)
        self._client = httpx.Client(
            verify=context,
            timeout=timeout,
            follow_redirects=True,
            headers={"Accept-Encoding": "identity"},
            event_hooks={"request": [_check_destination]},
        )

    def close(self) -> None:
        self._client.close()

    def fetch(self, location: str, start: int, tag: str | None) -> AbstractContextManager[Fetch]:
        if location not in self._reports:
            self._reports.add(location)
            self._tell(
                f"{location} comes over plain HTTP: whoever is on the way can read and change it, "
                "and only the checksum in its message vouches for it"
            )
        return fetch_over(self._client, location, start, tag)


def _check_destination(request: httpx.Request) -> None:
    try:
        Destinations().check(str(request.url))
    except ForbiddenError as error:
        raise DownloadError(str(error)) from error
