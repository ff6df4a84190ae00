"""The HTTP calls that moto makes for its clients: to subscribers of SNS, and to URLs given to other services.

moto calls ``requests``. While a sandbox runs, a substitute in moto's modules checks first whether the URL may
be called. Subscribers of SNS are notified on threads of their own, so a slow one does not delay others.
"""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Callable
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs

from emulator.destinations import Destinations, ForbiddenError
from emulator.events import Events

if TYPE_CHECKING:
    import httpx

_ANSWER_SECONDS: Final = 10.0
_AT_ONCE: Final = 8
_MOST_WAITING: Final = 10_000
_LEFT_ALONE: Final = ("moto.core", "moto.moto_api", "moto.utilities")
_SNS: Final = "moto.sns.models"
_METHODS: Final = ("get", "post", "put", "patch", "delete", "head", "options")
_FORM_BYTES: Final = 1 << 18
_running: list[MotoCalls] = []
"""The substitutes in use, the latest last. moto has one state for all sandboxes of the process."""


class MotoCalls:
    """Makes moto's HTTP calls, from ``install`` to ``close``."""

    def __init__(self, destinations: Destinations, events: Events) -> None:
        self.destinations = destinations
        self._events = events
        self._client: httpx.Client | None = None
        self._waiting: queue.Queue[Callable[[], None]] = queue.Queue(_MOST_WAITING)
        self._threads = 0
        self._modules = 0
        self._lock = threading.Lock()

    def install(self) -> None:
        """Replace ``requests`` in the modules of moto that are imported so far. Call it after each import."""
        if self._modules == len(sys.modules):
            return
        with self._lock:
            if self not in _running:
                _running.append(self)
            self._modules = len(sys.modules)
        # The modules of moto that are loaded call through this sandbox from now on.
        requests = sys.modules.get("requests")
        for name, module in sys.modules.copy().items():
            calls = name.startswith("moto.") and not name.startswith(_LEFT_ALONE)
            if calls and requests is not None and vars(module).get("requests") is requests:
                vars(module)["requests"] = _telling if name == _SNS else _asking

    def close(self) -> None:
        """Stop calling. The last one to close restores moto's modules."""
        if self in _running:
            _running.remove(self)
        if not _running:
            for name, module in sys.modules.copy().items():
                if name.startswith("moto.") and vars(module).get("requests") in (_asking, _telling):
                    vars(module)["requests"] = sys.modules["requests"]
        if self._client is not None:
            self._client.close()

    def refused_subscription(self, body: Any, query: str) -> str | None:
        """Why the SNS subscription in a request's ``body`` or query is refused; None when it is not.

        A request that is no subscription is not refused. The body is left at its beginning.
        """
        form = body.read(_FORM_BYTES).decode("latin-1")
        body.seek(0)
        given = parse_qs(f"{form}&{query}")
        if "Subscribe" not in given.get("Action", ()) or not {"http", "https"} & {*given.get("Protocol", ())}:
            return None
        try:
            for url in given.get("Endpoint", ()):
                _check(url)
        except ForbiddenError as error:
            return str(error)
        return None

    def call(self, method: str, url: str, **given: Any) -> Any:
        """Call like ``requests.request``. Raises ``requests.ConnectionError`` for a forbidden URL too."""
        import httpx
        import requests

        allowed = {name: given[name] for name in ("params", "data", "json", "headers") if name in given}
        prepared = requests.Request(method.upper(), url, **allowed).prepare()
        try:
            _check(str(prepared.url))
            answer = self._http().request(
                str(prepared.method), str(prepared.url), headers=dict(prepared.headers), content=prepared.body
            )
        except (httpx.HTTPError, httpx.InvalidURL, ForbiddenError) as error:
            raise requests.ConnectionError(str(error)) from error
        response = requests.Response()
        response.status_code, response.url = answer.status_code, str(answer.url)
        response.headers.update(answer.headers)
        response.raw = BytesIO(answer.content)
        return response

    def tell(self, _method: str, url: str, **given: Any) -> None:
        """Queue a notification for a subscriber of SNS."""
        try:
            self._waiting.put_nowait(partial(self._tell, url, given))
        except queue.Full:
            self._failed(url, f"{_MOST_WAITING} notifications wait already")
            return
        with self._lock:
            if self._threads < _AT_ONCE:
                self._threads += 1
                threading.Thread(target=self._run, name="sns", daemon=True).start()

    def _run(self) -> None:
        while self in _running:
            try:
                self._waiting.get(timeout=_ANSWER_SECONDS)()
            except queue.Empty:
                break
        with self._lock:
            self._threads -= 1

    def _tell(self, url: str, given: dict[str, Any]) -> None:
        try:
            answer = self.call("post", url, **given)
        except (OSError, ValueError) as error:
            self._failed(url, str(error))
            return
        if answer.status_code >= 400:
            self._failed(url, f"it answered {answer.status_code}")
        else:
            self._events.emit("sns.notified", subscriber=url)

    def _failed(self, url: str, why: str) -> None:
        self._events.emit("sns.notification_failed", subscriber=url, why=why)

    def _http(self) -> httpx.Client:
        from emulator.http.outgoing import checked_client

        with self._lock:
            if self._client is None:
                self._client = checked_client(self.destinations, _ANSWER_SECONDS)
                self._client.follow_redirects = True
            return self._client


class _InPlaceOfRequests:
    """The substitute for ``requests`` in moto's modules."""

    def __init__(self, ask: Callable[..., Any]) -> None:
        self.request = ask
        for method in _METHODS:
            setattr(self, method, partial(ask, method))

    def __getattr__(self, name: str) -> Any:
        import requests

        return getattr(requests, name)


def _ask(method: str, url: str, **given: Any) -> Any:
    return _running[-1].call(method, url, **given)


def _tell(method: str, url: str, **given: Any) -> None:
    _running[-1].tell(method, url, **given)


_asking: Final = _InPlaceOfRequests(_ask)
_telling: Final = _InPlaceOfRequests(_tell)


def _check(url: str) -> None:
    """Raise ``ForbiddenError`` for a URL that any sandbox of this process must not call.

    So moto cannot be used by one sandbox's client to call another sandbox's ports.
    """
    for each in tuple(_running):
        each.destinations.check(url)
