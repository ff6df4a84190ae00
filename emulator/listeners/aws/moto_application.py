"""moto's services as a WSGI application, made with werkzeug alone.

moto's own server makes one Flask application for each service. Nothing of a service needs Flask: its handlers
take moto's own request and return a status, headers and a body.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, Final, TypeAlias

from botocore.exceptions import ClientError
from moto import backends, settings
from moto.core.base_backend import BackendDict
from moto.core.request import Request
from werkzeug.exceptions import HTTPException
from werkzeug.routing import BaseConverter, Map, Rule
from werkzeug.wrappers import Response

from emulator.listeners.aws.credentials import DEFAULT_ACCOUNT

WsgiApplication: TypeAlias = Callable[[dict[str, Any], Any], Iterable[bytes]]
Handler: TypeAlias = Callable[[Any, str, dict[str, str]], Any]

_METHODS: Final = ("GET", "POST", "PUT", "DELETE", "HEAD", "PATCH", "OPTIONS")
_REGION: Final = "us-east-1"


def create_application() -> WsgiApplication:
    """All services behind moto's own choice of the service that a request is for."""
    # The buckets of host names are in the path already, and moto sees one in every name with a dot.
    settings.S3_IGNORE_SUBDOMAIN_BUCKETNAME = True
    with _without_flask():
        dispatching: Any = importlib.import_module("moto.moto_server.werkzeug_app")
    application: WsgiApplication = dispatching.DomainDispatcherApplication(ServiceApplication)
    return application


class ServiceApplication:
    """One service of moto's. An error that its handlers do not answer is raised."""

    def __init__(self, service: Any) -> None:
        self._map = Map(
            [
                Rule(path, endpoint=handler, methods=_METHODS, strict_slashes=False)
                for path, handler in _find_backend(service).flask_paths.items()
                if path
            ],
            converters={"regex": _Regex},
        )

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        request = _MotoRequest(environ)
        try:
            handler, _ = self._map.bind_to_environ(environ).match()
            answer = _call(handler, request)
        except HTTPException as refused:
            answer = refused.get_response(environ)
        body: Iterable[bytes] = answer(environ, start_response)
        return body


class _MotoRequest(Request):
    from_wsgi_server = True


class _Response(Response):
    default_mimetype = "text/html"


class _Regex(BaseConverter):
    """The converter that moto's paths name for a group of their patterns."""

    part_isolating = False

    def __init__(self, url_map: Map, pattern: str) -> None:
        super().__init__(url_map)
        self.regex = pattern


def _call(handler: Handler, request: Request) -> Any:
    try:
        result = handler(request, request.raw_url, dict(request.headers))
    except ClientError as error:
        result = 400, {}, error.response["Error"]["Message"]
    status, headers, body = result if len(result) == 3 else (200, {}, result)
    response = _Response(body, status, headers)
    if request.method == "HEAD" and "content-length" in headers:
        response.headers["Content-Length"] = headers["content-length"]
    return response


def _find_backend(service: Any) -> Any:
    """A backend of a service. Its paths are those of every account and region."""
    found = backends.get_backend(service)
    if not isinstance(found, BackendDict):
        return found["global"]
    of_account = found[DEFAULT_ACCOUNT]
    return of_account[_REGION if _REGION in of_account else "aws"]


@contextmanager
def _without_flask() -> Iterator[None]:
    """Let moto's server module be imported where Flask is not installed, and load nothing of it where it is.

    The module derives classes from Flask's, which only moto's own server uses.
    """
    empty: dict[str, Any] = {
        "flask": ModuleType("flask"),
        "flask.testing": ModuleType("flask.testing"),
        "flask_cors": ModuleType("flask_cors"),
    }
    for module, name in (
        ("flask", "Flask"),
        ("flask", "Request"),
        ("flask.testing", "FlaskClient"),
        ("flask_cors", "CORS"),
    ):
        setattr(empty[module], name, type(name, (), {}))
    real = {name: sys.modules[name] for name in empty if name in sys.modules}
    sys.modules.update(empty)
    try:
        yield
    finally:
        for name in empty:
            del sys.modules[name]
        sys.modules.update(real)
