"""How a request reaches the control API: ``Blocking`` waits for its answer, ``Awaiting`` is for asyncio."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from ssl import SSLContext
from typing import Any, Final, TypeVar

import httpx
import msgspec

from rdss_sandbox.api.request import Request
from rdss_sandbox.machine.trusted_authorities import BUNDLE, trusting_bundle, untrusted
from rdss_sandbox.shapes.refusals import Problem, Refusal

Result = TypeVar("Result")

# A live answer sends at least a comment every 10 seconds.
_TIMEOUT: Final = httpx.Timeout(30.0, connect=3.0)


class UnreachableError(Exception):
    """No sandbox answers at ``url``."""

    def __init__(self, url: str, why: str) -> None:
        super().__init__(f"no sandbox answers at {url} ({why}); start one with: sandbox up")
        self.url = url


class RefusedError(Exception):
    """The sandbox refused a request: ``status`` of HTTP, ``code`` for programs, the message for people."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class Blocking:
    """Sends requests to the sandbox at ``url`` and waits for the answers."""

    def __init__(self, url: str, token: str | None, trust: Path | str | None) -> None:
        self.http = httpx.Client(**_connection(url, token, trust))
        self._url = url

    def ask(self, request: Request, read: Callable[[bytes], Result]) -> Result:
        """Send a request and read its answer."""
        with _reaching(self._url):
            return read(check(self.http.request(**_render(request))).content)

    def stream(self, request: Request) -> Iterator[bytes]:
        """Send a request and yield its answer in chunks of any length."""
        with _reaching(self._url), self.http.stream(**_render(request)) as answer:
            if answer.is_error:
                answer.read()
            yield from check(answer).iter_bytes()


class Awaiting:
    """``Blocking`` for asyncio."""

    def __init__(self, url: str, token: str | None, trust: Path | str | None) -> None:
        self.http = httpx.AsyncClient(**_connection(url, token, trust))
        self._url = url

    async def ask(self, request: Request, read: Callable[[bytes], Result]) -> Result:
        with _reaching(self._url):
            return read(check(await self.http.request(**_render(request))).content)

    async def stream(self, request: Request) -> AsyncIterator[bytes]:
        with _reaching(self._url):
            async with self.http.stream(**_render(request)) as answer:
                if answer.is_error:
                    await answer.aread()
                async for piece in check(answer).aiter_bytes():
                    yield piece


def check(answer: httpx.Response) -> httpx.Response:
    """Return the answer, whose body was read if it is an error. Raises RefusedError for one."""
    if answer.is_success:
        return answer
    try:
        problem = msgspec.json.decode(answer.content, type=Refusal).error
    except msgspec.DecodeError:
        problem = Problem(
            "unexpected_answer", f"{answer.request.url} answered {answer.status_code}; is it a sandbox?"
        )
    raise RefusedError(answer.status_code, problem.code, problem.message)


@contextmanager
def _reaching(url: str) -> Iterator[None]:
    try:
        yield
    except httpx.TransportError as error:
        raise UnreachableError(url, _explain(error)) from error


def _explain(error: httpx.TransportError) -> str:
    if isinstance(error, httpx.TimeoutException):
        return "it did not answer in time"
    if why := untrusted(error):
        return f"its certificate is not trusted: {why}; {BUNDLE} names the file of its authority"
    return "connection refused or lost"


def _connection(url: str, token: str | None, trust: Path | str | None) -> dict[str, Any]:
    return {
        "base_url": url,
        "headers": {"authorization": f"Bearer {token}"} if token else {},
        "timeout": _TIMEOUT,
        "trust_env": False,
        # Loading the certificates of all authorities takes as long as the rest of the construction.
        "verify": url.startswith("https:") and _trust(url, trust),
    }


def _trust(url: str, trust: Path | str | None) -> SSLContext:
    try:
        return trusting_bundle(trust)
    except OSError as error:
        raise UnreachableError(url, f"the authorities to trust cannot be read: {error}") from error


def _render(request: Request) -> dict[str, Any]:
    rendered: dict[str, Any] = {"method": request.method, "url": request.path, "params": request.query}
    if request.body is not None:
        rendered["content"] = msgspec.json.encode(request.body)
        rendered["headers"] = {"content-type": "application/json"}
    return rendered
