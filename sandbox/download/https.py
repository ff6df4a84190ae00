"""Files over HTTPS: certificates are validated, redirects to other schemes refused, ranges used to resume."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final

import httpx

from rdss_sandbox.machine.trusted_authorities import trusting, untrusted
from sandbox.download.download_errors import DownloadError, DownloadInterruptedError, FileChangedError
from sandbox.download.file_source import Fetch

_PASSING: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
"""The HTTP statuses that a retry may change."""
_RANGE: Final = re.compile(r"bytes (?:(\d+)-\d+|\*)/(\d+|\*)")


class HttpsSource:
    """Serves ``https`` locations.

    Trusted are the common certificate authorities and the certificates in the PEM file ``trusted``: a private
    authority's, or a host's own (specification, File Download Behaviour).
    """

    def __init__(self, trusted: Path | None = None, *, timeout: float = 30.0) -> None:
        self._client = httpx.Client(
            verify=trusting(trusted),
            timeout=timeout,
            follow_redirects=True,
            headers={"Accept-Encoding": "identity"},
            event_hooks={"request": [_refuse_plain]},
        )

    def close(self) -> None:
        self._client.close()

    def fetch(self, location: str, start: int, tag: str | None) -> AbstractContextManager[Fetch]:
        return fetch_over(self._client, location, start, tag)


@contextmanager
def fetch_over(client: httpx.Client, location: str, start: int, tag: str | None) -> Iterator[Fetch]:
    """Open a location with a client, as ``Source.fetch`` does."""
    headers = {"Range": f"bytes={start}-"} if start else {}
    headers |= {"If-Range": tag} if start and tag else {}
    try:
        with client.stream("GET", location, headers=headers) as response:
            yield _read(response, start)
    except httpx.TransportError as error:
        if (why := untrusted(error)) is not None:
            raise DownloadError(f"{location}: its certificate is not to be trusted: {why}") from error
        raise DownloadInterruptedError(f"{location}: {error or type(error).__name__}") from error
    except (httpx.InvalidURL, httpx.TooManyRedirects) as error:
        raise DownloadError(f"{location}: {error}") from error


def _read(response: httpx.Response, asked: int) -> Fetch:
    status, place = response.status_code, _RANGE.fullmatch(response.headers.get("Content-Range", ""))
    chunks = response.iter_raw()  # chunks as received, so that those before a cut are kept
    if status == httpx.codes.OK:
        length = response.headers.get("Content-Length", "")
        return Fetch(0, int(length) if length.isdecimal() else None, _tag(response), chunks)
    total = int(place[2]) if place and place[2] != "*" else None
    if status == httpx.codes.PARTIAL_CONTENT and place and place[1] and int(place[1]) == asked:
        return Fetch(asked, total, _tag(response), chunks)
    if status == httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE and total == asked:
        return Fetch(asked, total, None, iter(()))
    if status in (httpx.codes.PARTIAL_CONTENT, httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE):
        raise FileChangedError(f"{response.request.url} is not the file any more of which {asked} bytes came")
    why = f"{response.request.url} was answered with {status} {response.reason_phrase}"
    if status in _PASSING:
        raise DownloadInterruptedError(why)
    raise DownloadError(why)


def _tag(response: httpx.Response) -> str | None:
    """The identity of the file's present state: a strong entity tag, else the Last-Modified time."""
    tag: str | None = response.headers.get("ETag")
    return response.headers.get("Last-Modified") if tag is None or tag.startswith("W/") else tag


def _refuse_plain(request: httpx.Request) -> None:
    if request.url.scheme != "https":
        why = f"{request.url} is not https, so nobody could vouch for what it serves"
        raise DownloadError(why)
