"""An application that is made when it is first asked, so that starting does not wait for its imports."""

from __future__ import annotations

from collections.abc import Callable

from emulator.http.asgi import App, HttpScope, Receive, Send


class LazyApp:
    """Stands for the application that ``make`` makes."""

    def __init__(self, make: Callable[[], App]) -> None:
        self._make = make
        self._app: App | None = None

    async def __call__(self, scope: HttpScope, receive: Receive, send: Send) -> None:
        if self._app is None:
            self._app = self._make()
        await self._app(scope, receive, send)
