"""An application that is built for its first request, so that a start does not wait for its imports."""

from __future__ import annotations

from collections.abc import Callable

from emulator.http.asgi import App, HttpScope, Receive, Send


class LazyApp:
    """The application that ``make`` builds for the first request."""

    def __init__(self, make: Callable[[], App]) -> None:
        self._make = make
        self._app: App | None = None

    async def __call__(self, scope: HttpScope, receive: Receive, send: Send) -> None:
        if self._app is None:
            self._app = self._make()
        await self._app(scope, receive, send)
