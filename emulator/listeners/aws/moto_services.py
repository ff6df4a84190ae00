"""S3, DynamoDB, SQS, SNS, STS, SSM, CloudWatch and moto's other services, answered by moto in this process.

moto is imported for the first such request. It is synchronous, so requests run on threads.
"""

from __future__ import annotations

import importlib
import io
import re
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from json import JSONDecodeError
from tempfile import SpooledTemporaryFile
from traceback import format_exception
from types import ModuleType
from typing import Any, TypeAlias

from emulator.destinations import Destinations
from emulator.events import Events
from emulator.http.asgi import ClientGoneError, Headers, HttpScope, Receive, Send, answer
from emulator.http.bounds.client_limits import USUAL
from emulator.http.daemon_threads import DaemonThreads
from emulator.journal import DamagedLogError, no_space
from emulator.listeners.aws.credentials import DEFAULT_ACCOUNT, Caller
from emulator.listeners.aws.error_bodies import service_error
from emulator.listeners.aws.keeping import Keep, keep_nothing
from emulator.listeners.aws.moto_api import is_moto_api
from emulator.listeners.aws.moto_calls import MotoCalls
from emulator.listeners.aws.s3_answers import Reply, with_ids
from emulator.listeners.aws.s3_integrity import S3Request, refusal
from emulator.listeners.aws.service_access import Asked, ServiceAccess
from emulator.listeners.aws.xml_documents import declares_types, is_unreadable
from rdss_sandbox.machine.installation import explain_missing

_Environ: TypeAlias = dict[str, Any]
_HELD_BODY_BYTES = 8 << 20
_HELD_ANSWER_BYTES = 2 << 20
_FORM_BYTES = 1 << 18
_THREADS = 64
# A long poll waits inside moto. With a lock, no other request could send the message that it waits for.
_UNLOCKED = frozenset(("sqs",))
_S3_DOMAINS = re.compile(r"\.(?:(?P<aws>amazonaws\.com(?:\.cn)?)|localhost\.localstack\.cloud|localhost)$")
_VIRTUAL_HOST = re.compile(r"(?P<bucket>[a-z0-9][a-z0-9.-]+?)(?P<s3>\.s3(?:[.-][a-z0-9-]+)*)?")
_PATH_STYLE_HOST = re.compile(r"s3(?:[.-][a-z0-9-]+)*")
# The guard decides which pages may read an answer, not moto or its buckets.
_CORS = "access-control-"
_NOT_EMULATED = "the service '{}' is not emulated"
_MALFORMED = "The XML you provided was not well-formed or did not validate against our published schema"


class _MalformedXmlError(Exception):
    """A document that S3 refuses to read."""


class _InvalidEndpointError(Exception):
    """A subscriber whose URL must not be called."""


class MotoServices:
    """Answers requests with moto's own WSGI application, one at a time for each service.

    ``prepare`` is called once, after moto's import and before its first answer. ``calls`` makes moto's own
    HTTP calls. ``keep`` surrounds each answer, and stores what the request changes. ``access`` refuses keys.
    """

    def __init__(
        self,
        events: Events,
        prepare: Callable[[], None] = lambda: None,
        calls: MotoCalls | None = None,
        keep: Keep = keep_nothing,
        access: ServiceAccess | None = None,
    ) -> None:
        self._keep = keep
        self._access = access
        self._events = events
        self._prepare = prepare
        self._calls = calls or MotoCalls(Destinations(), events)
        self._threads = DaemonThreads("moto", _THREADS)
        # So many long polls may be out as the port has connections, and no other service waits for a thread.
        self._polling = DaemonThreads("moto-polling", USUAL.connections)
        self._import_lock = threading.Lock()
        self._locks: defaultdict[str, AbstractContextManager[Any]] = defaultdict(threading.Lock)
        self._application: Callable[..., Iterable[bytes]] | None = None
        self._patterns: list[tuple[str, re.Pattern[str]]] = []

    @property
    def started(self) -> bool:
        """Whether a request has needed moto."""
        return self._application is not None

    async def __call__(
        self,
        scope: HttpScope,
        receive: Receive,
        send: Send,
        caller: Caller | None,
        headers: dict[bytes, bytes],
    ) -> None:
        """Answer one request. ``caller`` is None when it is not signed, as from a browser."""
        with SpooledTemporaryFile(max_size=_HELD_BODY_BYTES) as body:
            length = await _spool(receive, body)
            environ = _environ(scope, headers, caller, body, length)
            service = caller.service if caller else "s3"
            if is_moto_api(environ["PATH_INFO"]):
                await answer(send, 404, [], b"")
                return
            if refused := self._refuse_key(caller, environ, headers, body):
                await self._send(send, refused)
                return
            try:
                threads = self._polling if service in _UNLOCKED else self._threads
                reply = await threads.run(lambda: self._answer(service, environ, headers, body))
            except Exception as error:  # noqa: BLE001 -- whatever moto raises is the service's failure, not ours
                await self._refuse(send, service, headers, error)
                return
            await self._send(send, reply)

    def _refuse_key(
        self, caller: Caller | None, environ: _Environ, headers: dict[bytes, bytes], body: Any
    ) -> Reply | None:
        if self._access is None or caller is None or not self._access.restricts(caller):
            return None
        path = environ["PATH_INFO"].encode("latin-1").decode("utf-8", "replace")
        method, query = environ["REQUEST_METHOD"], environ["QUERY_STRING"]
        asked = Asked(method, path, query, headers, body.read(_FORM_BYTES))
        body.seek(0)
        return self._access.refuse(caller, asked)

    async def _send(self, send: Send, reply: Reply) -> None:
        piece = await self._next(reply) if len(reply.body) >= _HELD_ANSWER_BYTES else b""
        if not piece:
            await answer(send, reply.status, reply.headers, reply.body)
            return
        await send({"type": "http.response.start", "status": reply.status, "headers": reply.headers})
        await send({"type": "http.response.body", "body": reply.body, "more_body": True})
        while piece:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            piece = await self._next(reply)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _next(self, reply: Reply) -> bytes:
        """The next piece of a long answer; b"" at its end."""
        return await self._threads.run(lambda: next(reply.rest, b""))

    def _answer(self, service: str, environ: _Environ, headers: dict[bytes, bytes], body: Any) -> Reply:
        """Answer with moto, and add what it leaves out for S3: checks of digests, and ids in every answer."""
        if service != "s3":
            return self._call(service, environ)
        asked = S3Request(environ["REQUEST_METHOD"], environ["QUERY_STRING"], headers)
        refused = refusal(asked, body)
        body.seek(0)
        return with_ids(refused or self._call(service, environ))

    def _call(self, service: str, environ: _Environ) -> Reply:
        application = self._application or self._start()
        if not self._known(service):
            raise NotImplementedError(_NOT_EMULATED.format(service))
        if service == "s3" and _declares_types(environ):
            raise _MalformedXmlError
        self._calls.install()
        if service == "sns" and (why := self._refused_subscription(environ)):
            raise _InvalidEndpointError(f"Invalid parameter: Endpoint Reason: {why}")
        started: list[tuple[str, list[tuple[str, str]]]] = []

        def start_response(
            status: str, headers: list[tuple[str, str]], _exc_info: Any = None
        ) -> Callable[..., None]:
            started[:] = [(status, headers)]
            return lambda _: None

        lock = nullcontext() if service in _UNLOCKED else self._locks[service]
        with lock, self._keep(service, environ):
            rest = _pieces(application(environ, start_response))
            body = _beginning(rest)
        self._calls.install()
        status, headers = started[0]
        return Reply(
            int(status.partition(" ")[0]),
            [
                (name.lower().encode("latin-1"), value.encode("latin-1"))
                for name, value in headers
                if not name.lower().startswith(_CORS)
            ],
            body,
            rest,
        )

    def _start(self) -> Callable[..., Iterable[bytes]]:
        with self._import_lock:
            if self._application is None:
                _leave_out_managed_policies()
                from moto.backend_index import backend_url_patterns

                from emulator.listeners.aws.moto_application import create_application

                self._patterns = list(backend_url_patterns)
                self._prepare()
                self._application = create_application()
                self._events.emit("aws.moto.started")
            return self._application

    def _refused_subscription(self, environ: _Environ) -> str | None:
        return self._calls.refused_subscription(environ["wsgi.input"].spool, environ["QUERY_STRING"])

    def _known(self, service: str) -> bool:
        url = f"http://{service}.us-east-1.amazonaws.com"
        return any(service == name or pattern.match(url) for name, pattern in self._patterns)

    async def _refuse(self, send: Send, service: str, headers: dict[bytes, bytes], error: Exception) -> None:
        target = headers.get(b"x-amz-target", b"").decode("latin-1")
        if isinstance(error, _MalformedXmlError) or is_unreadable(error):
            reply = Reply(400, *service_error(service, headers, "MalformedXML", _MALFORMED))
            reply = with_ids(reply) if service == "s3" else reply
            await answer(send, reply.status, reply.headers, reply.body)
            return
        if isinstance(error, JSONDecodeError | RecursionError):
            # moto reads a body of JSON itself, and as deep as it is.
            await answer(send, 400, *service_error(service, headers, "SerializationException", ""))
            return
        if isinstance(error, _InvalidEndpointError):
            await answer(send, 400, *service_error(service, headers, "InvalidParameter", str(error)))
            return
        if isinstance(error, ModuleNotFoundError):
            error = NotImplementedError(explain_missing(error) or _NOT_EMULATED.format(service))
        if isinstance(error, NotImplementedError):
            status, code, text = 501, "NotImplemented", str(error) or f"{target} is not emulated"
        elif no_space(error):
            status, code, text = 500, "InternalFailure", f"the request could not be stored: {error}"
        elif isinstance(error, DamagedLogError | OSError):
            status, code, text = 500, "InternalFailure", str(error)
        else:
            status, code, text = (
                500,
                "InternalFailure",
                "The emulation of this request failed; see the events.",
            )
        trace = "".join(format_exception(error))
        self._events.emit(
            "aws.request.failed", service=service, target=target, error=repr(error), trace=trace
        )
        reply = Reply(status, *service_error(service, headers, code, text))
        reply = with_ids(reply) if service == "s3" else reply
        await answer(send, reply.status, reply.headers, reply.body)


def _pieces(body: Iterable[bytes]) -> Iterator[bytes]:
    """The pieces of a WSGI application's answer, which is closed after the last (PEP 3333)."""
    try:
        yield from body
    finally:
        if close := getattr(body, "close", None):
            close()


def _beginning(pieces: Iterator[bytes]) -> bytes:
    taken: list[bytes] = []
    length = 0
    for piece in pieces:
        taken.append(piece)
        length += len(piece)
        if length >= _HELD_ANSWER_BYTES:
            break
    return b"".join(taken)


def _declares_types(environ: _Environ) -> bool:
    return declares_types(
        environ["REQUEST_METHOD"],
        environ["PATH_INFO"],
        environ["QUERY_STRING"],
        environ.get("CONTENT_TYPE", ""),
        environ["wsgi.input"].spool,
    )


async def _spool(receive: Receive, body: Any) -> int:
    """Read the request's body into ``body`` and return its length in bytes."""
    length: int = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGoneError
        length += body.write(message["body"])
        if not message["more_body"]:
            body.seek(0)
            return length


def _environ(
    scope: HttpScope, headers: dict[bytes, bytes], caller: Caller | None, body: Any, length: int
) -> _Environ:
    """The WSGI environment (PEP 3333) of a request, with S3's virtual hosts turned into paths."""
    path, raw_path = scope["path"], scope["raw_path"].decode("latin-1")
    host = headers.get(b"host", b"localhost").decode("latin-1")
    if bucket := bucket_in_host(host, caller):
        path, raw_path, host = f"/{bucket}{path}", f"/{bucket}{raw_path}", "localhost"
    query = scope["query_string"].decode("latin-1")
    environ: _Environ = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        "PATH_INFO": path.encode("utf-8").decode("latin-1"),
        "RAW_URI": raw_path + (f"?{query}" if query else ""),
        "QUERY_STRING": query,
        "SERVER_NAME": "localhost",
        "SERVER_PORT": str(scope["server"][1]),
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "127.0.0.1",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "https" if headers.get(b"x-forwarded-proto") == b"https" else scope["scheme"],
        "wsgi.input": _SpooledBody(body),
        "wsgi.input_terminated": True,
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
        "CONTENT_LENGTH": str(length),
    }
    _add_headers(environ, scope["headers"])
    environ["HTTP_HOST"] = host
    environ["HTTP_X_MOTO_ACCOUNT_ID"] = caller.account if caller else DEFAULT_ACCOUNT
    return environ


def _add_headers(environ: _Environ, headers: Headers) -> None:
    # S3 distinguishes user metadata with underscores and with hyphens in their names, and WSGI does not. So
    # moto is told the names as they were spelled.
    spelled: dict[str, str] = {}
    for raw_name, raw_value in headers:
        name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1")
        key = name.upper().replace("-", "_")
        if "_" in name:
            if not name.startswith("x-amz-meta-"):
                continue
            spelled[f"HTTP_{key}"] = name
        if key == "CONTENT_TYPE":
            environ[key] = value
        elif key not in ("CONTENT_LENGTH", "TRANSFER_ENCODING", "EXPECT"):
            key = f"HTTP_{key}"
            environ[key] = f"{environ[key]},{value}" if key in environ else value
    environ["moto.preserved_header_names"] = spelled


class _SpooledBody(io.RawIOBase):
    """The spooled body as a file that werkzeug may close without closing the spool."""

    def __init__(self, spool: Any) -> None:
        self.spool = spool

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self.spool.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def _leave_out_managed_policies() -> None:
    """Import IAM, which every request needs, without AWS's own policies.

    IAM keeps that text of 5 MB and reads it only if a setting says so. Others that import it get it.
    """
    from moto.settings import load_iam_aws_managed_policies

    if "moto.iam" in sys.modules or load_iam_aws_managed_policies():
        return
    empty: Any = ModuleType("moto.iam.aws_managed_policies")
    empty.aws_managed_policies_data = "{}"
    sys.modules[empty.__name__] = empty
    try:
        importlib.import_module("moto.iam")
    finally:
        del sys.modules[empty.__name__]


def bucket_in_host(host: str, caller: Caller | None) -> str | None:
    """The bucket that a virtual-hosted S3 request names in its Host header (``bucket.s3.localhost:4566``)."""
    if caller and caller.service != "s3":
        return None
    name = re.sub(r":\d+$", "", host.lower())
    domain = _S3_DOMAINS.search(name)
    if domain is None or _PATH_STYLE_HOST.fullmatch(name[: domain.start()]):
        return None
    found = _VIRTUAL_HOST.fullmatch(name[: domain.start()])
    if found is None or (domain["aws"] and not found["s3"]):
        return None
    return found["bucket"]
