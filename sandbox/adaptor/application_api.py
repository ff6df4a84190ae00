"""The client of an application's HTTP API: it lists the changed items."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import quote

import httpx

from sandbox.adaptor.mapping_file import ItemSource, Watermark
from sandbox.template import NOTHING, resolve

JSON = dict[str, Any]
_MOST_PAGES: Final = 100_000
_NAMED: Final = re.compile(r"\$\{(\w+)\}")


class ApplicationUnavailableError(Exception):
    """The application does not answer, or not as expected; the message has the address and the answer."""


class Source:
    """The items of one application at one address."""

    def __init__(
        self,
        address: str,
        place: ItemSource,
        environment: dict[str, str] | None = None,
        *,
        timeout: float = 30.0,
    ) -> None:
        named = environment or {}
        headers = {
            name: _NAMED.sub(lambda found: named.get(found[1], ""), text)
            for name, text in place.headers.items()
        }
        self.place = place
        self._client = httpx.Client(
            base_url=address.rstrip("/") + "/", headers=headers, timeout=timeout, follow_redirects=False
        )

    def close(self) -> None:
        self._client.close()

    def changes(self, watermark: Watermark) -> Iterator[list[JSON]]:
        """Yield pages of items changed since the watermark, inclusive. Raises SourceUnavailableError."""
        since = quote(str(watermark), safe="")
        url = self._client.base_url.join(self.place.changes.lstrip("/").replace("{watermark}", since))
        pages: set[httpx.URL] = set()
        while url not in pages and len(pages) < _MOST_PAGES:
            pages.add(url)
            answer = self._ask(url)
            items = resolve(self.place.items, answer)
            yield self._items(url, [] if items is NOTHING else items)
            following = resolve(self.place.next, answer) if self.place.next else NOTHING
            if following is NOTHING:
                return
            url = self._same_origin(url, url.join(str(following)))

    def _ask(self, url: httpx.URL) -> Any:
        try:
            response = self._client.get(url).raise_for_status()
            return response.json()
        except httpx.HTTPStatusError as error:
            raise ApplicationUnavailableError(f"{url} answered {error.response.status_code}") from error
        except httpx.HTTPError as error:
            why = re.sub(r"\[Errno \d+\] ", "", str(error)) or type(error).__name__
            raise ApplicationUnavailableError(f"{url} does not answer: {why}") from error
        except ValueError as error:
            raise ApplicationUnavailableError(f"{url} gave an answer that is not JSON: {error}") from error

    def _items(self, url: httpx.URL, found: Any) -> list[JSON]:
        if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
            raise ApplicationUnavailableError(f"{url}: {self.place.items} is not a list of objects")
        return found

    def _same_origin(self, here: httpx.URL, there: httpx.URL) -> httpx.URL:
        """Refuse a next page on another host: the request would send our headers there."""
        if (here.scheme, here.host, here.port) != (there.scheme, there.host, there.port):
            raise ApplicationUnavailableError(f"{here}: the next page is said to be elsewhere, at {there}")
        return there
