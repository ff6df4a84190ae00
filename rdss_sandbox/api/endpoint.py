"""An endpoint of the control API, declared once as a method without a body.

    class Streams(Subject[Mode], at="/streams"):
        @POST("/{name}/reshard", errors={"no_such_stream": 404})
        def reshard(self, name: str, change: Reshard) -> StreamDetail:
            "Split, merge or scale the shards of a stream."

The server binds a handler to it. ``Client`` and ``AsyncClient`` have it as a method with this name, these
parameters and this result. OpenAPI, the page of the control port and docs/control-api.md are made from it.

A parameter that the path names is a variable of the path. A shape, or several, is the body. Every other
parameter is in the query. The result is the answer, unless the decorator names the answer's shape and what
the clients ``take`` from it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from types import MethodType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Concatenate,
    Final,
    Generic,
    NamedTuple,
    ParamSpec,
    Self,
    TypedDict,
    TypeVar,
    Unpack,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)
from urllib.parse import quote

import msgspec

from rdss_sandbox.api.request import Request

if TYPE_CHECKING:
    from rdss_sandbox.transports import Awaiting, Blocking


P = ParamSpec("P")
Wire = TypeVar("Wire")
Other = TypeVar("Other")
Result = TypeVar("Result")
Later = TypeVar("Later")
Mode = TypeVar("Mode")
"""The transport: ``Blocking`` or ``Awaiting``. It decides whether a call returns a result or a coroutine."""

JSON: Final = "application/json"


class EmptyNameError(ValueError):
    """What a path names was empty: the request would be one for something else."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the {name.replace('_', ' ')} must not be empty")


_VARIABLE = re.compile(r"\{(\w+)(:path)?\}")
_MOST_BYTES: Final = 1 << 20
_NONE: Final[Mapping[str, int]] = {}


class Subject(Generic[Mode]):
    """Endpoints on one subject, below one path, which a client calls through its transport.

    A subclass with another path has the inherited endpoints there. A variable of ``at`` is an attribute.
    ``errors`` are those of every endpoint of the subject.
    """

    at: ClassVar[str]

    def __init__(self, transport: Mode) -> None:
        self.transport = transport

    def __init_subclass__(cls, *, at: str | None = None, errors: Mapping[str, int] = _NONE) -> None:
        super().__init_subclass__()
        if at is None:
            return
        cls.at = at
        for name in dir(cls):
            if isinstance(member := getattr(cls, name), Endpoint):
                setattr(cls, name, replace(member, subject=cls, errors={**member.errors, **errors}))


class Parameter(NamedTuple):
    """A parameter of an endpoint: its name in Python, and its name in the path or the query.

    The latter is the former, unless the parameter's type has another in ``Meta(extra={"sent_as": ...})``.
    """

    name: str
    sent_as: str
    type: Any
    default: Any = msgspec.NODEFAULT


@dataclass(frozen=True, eq=False)
class Endpoint(Generic[P, Wire, Result, Later]):
    """One method on one path of a subject: what it takes, what it answers and how it refuses.

    ``errors`` maps the codes of its own refusals to their statuses. ``wrap`` makes the body of an argument
    that is not the body itself. ``live``: with ``Accept: text/event-stream`` it answers until the client
    leaves. ``streamed``: clients get the answer in chunks. ``fixed`` are the arguments of a ``partial`` one.
    """

    declared: Callable[Concatenate[Any, P], Any]
    method: str
    below: str
    answer: Any = None
    take: Callable[[Wire], Result] | None = None
    errors: Mapping[str, int] = field(default_factory=dict)
    status: int = 200
    media_type: str = JSON
    wrap: type[Any] | None = None
    most_bytes: int = _MOST_BYTES
    live: bool = False
    streamed: bool = False
    fixed: Mapping[str, Any] = field(default_factory=dict)
    partial: bool = False
    subject: type[Subject[Any]] = Subject

    @overload
    def __get__(self, of: None, owner: type[Any]) -> Self: ...
    @overload
    def __get__(self, of: Subject[Blocking], owner: type[Any]) -> Callable[P, Result]: ...
    @overload
    def __get__(self, of: Subject[Awaiting], owner: type[Any]) -> Callable[P, Later]: ...
    def __get__(self, of: Any, owner: type[Any]) -> Any:
        return self if of is None else MethodType(self._call, of)

    @cached_property
    def _call(self) -> Callable[..., Any]:
        @wraps(self.take if self.take and self.partial else self.declared)
        def call(of: Subject[Any], *args: Any, **given: Any) -> Any:
            request = self.build_request(of, *args, **given)
            return of.transport.stream(request) if self.streamed else of.transport.ask(request, self.read)

        return call

    @property
    def name(self) -> str:
        return self.declared.__name__

    @property
    def path(self) -> str:
        return self.subject.at + self.below

    @cached_property
    def variables(self) -> tuple[Parameter, ...]:
        """The variables of the path, in its order."""
        hints = get_type_hints(self.subject, include_extras=True)
        of_subject = [_parameter(name, type_) for name, type_ in hints.items()]
        known = {each.sent_as: each for each in (*of_subject, *self._parameters)}
        return tuple(known[name] for name, _ in _VARIABLE.findall(self.path))

    @cached_property
    def body(self) -> Parameter | None:
        """The body. Its default is None where a request may leave it out."""
        found = next((each for each in self._parameters if _is_shape(each.type)), None)
        return found._replace(type=self.wrap) if found and self.wrap else found

    @cached_property
    def query(self) -> tuple[Parameter, ...]:
        """The parameters in the query."""
        return tuple(
            each for each in self._parameters if each not in self.variables and not _is_shape(each.type)
        )

    @cached_property
    def shape(self) -> Any:
        """The type of the answer. ``bytes`` and ``str`` are sent as they are, all others as JSON."""
        return self._hints["return"] if self.answer is None else self.answer

    def build_request(self, of: Subject[Any], *args: Any, **given: Any) -> Request:
        """Build the request of a call.

        Raises TypeError for arguments that do not fit the declaration, and ``EmptyNameError``.
        """
        values = self._signature.bind(of, *args, **self.fixed, **given).arguments

        names = {each.sent_as: each.name for each in self.variables}

        def fill(variable: re.Match[str]) -> str:
            name, rest = names[variable[1]], variable[2]
            value = str(values[name] if name in values else getattr(of, name))
            if not value:
                raise EmptyNameError(name)
            return _quote(value, "/" if rest else "")

        query = {each.sent_as: values[each.name] for each in self.query if values.get(each.name) is not None}
        body = values.get(self.body.name) if self.body else None
        if self.wrap:
            body = self.wrap(body or ())
        return Request(self.method, _VARIABLE.sub(fill, self.path), query, body)

    def read(self, content: bytes) -> Result:
        """Read an answer. Raises ``msgspec.DecodeError`` for one of another shape."""
        found: Any = content
        if self.shape is str:
            found = content.decode()
        elif self.shape is not bytes:
            found = msgspec.json.decode(content, type=self.shape)
        result: Result = self.take(found) if self.take else found
        return result

    def part(
        self, take: Callable[[Wire], Other], **fixed: Any
    ) -> Endpoint[[], Wire, Other, Coroutine[Any, Any, Other]]:
        """Another method of the clients: this endpoint with ``fixed`` arguments, and a part of its answer."""
        part: Any = replace(self, take=take, fixed=fixed, partial=True)  # type: ignore[arg-type]
        return part  # type: ignore[no-any-return]

    @cached_property
    def _hints(self) -> dict[str, Any]:
        return get_type_hints(self.declared, include_extras=True)

    @cached_property
    def _signature(self) -> inspect.Signature:
        return inspect.signature(self.declared)

    @cached_property
    def _parameters(self) -> tuple[Parameter, ...]:
        _, *declared = self._signature.parameters.values()
        return tuple(_parameter(each.name, self._hints[each.name], each.default) for each in declared)


class Options(TypedDict, total=False):
    """What a declaration may say besides its signature; see ``Endpoint``."""

    errors: Mapping[str, int]
    status: int
    media_type: str
    wrap: type[Any]
    most_bytes: int
    live: bool


class HttpMethod:
    """A decorator that declares an endpoint with this method of HTTP."""

    def __init__(self, name: str) -> None:
        self._name = name

    @overload
    def __call__(
        self, below: str, /, **options: Unpack[Options]
    ) -> Callable[
        [Callable[Concatenate[Any, P], Result]], Endpoint[P, Result, Result, Coroutine[Any, Any, Result]]
    ]: ...
    @overload
    def __call__(
        self, below: str, answer: type[Wire], take: Callable[[Wire], Result], /, **options: Unpack[Options]
    ) -> Callable[
        [Callable[Concatenate[Any, P], Result]], Endpoint[P, Wire, Result, Coroutine[Any, Any, Result]]
    ]: ...
    def __call__(self, below: str, answer: Any = None, take: Any = None, /, **options: Any) -> Any:
        return lambda declared: Endpoint(declared, self._name, below, answer, take, **options)


GET, POST, PUT, PATCH, DELETE = map(HttpMethod, ("GET", "POST", "PUT", "PATCH", "DELETE"))


def download(
    below: str, media_type: str, *, errors: Mapping[str, int]
) -> Callable[
    [Callable[Concatenate[Any, P], Iterator[bytes]]],
    Endpoint[P, bytes, Iterator[bytes], AsyncIterator[bytes]],
]:
    """Declare an endpoint whose answer has any length; clients get it in chunks."""
    return lambda declared: Endpoint(
        declared, "GET", below, bytes, media_type=media_type, errors=errors, streamed=True
    )


def list_endpoints(subject: type[Subject[Any]]) -> list[Endpoint[..., Any, Any, Any]]:
    """The endpoints of a subject, in the order of their declarations."""
    members = {name: member for base in reversed(subject.__mro__) for name, member in vars(base).items()}
    return [each for each in members.values() if isinstance(each, Endpoint) and not each.partial]


def _quote(value: str, safe: str) -> str:
    """Quote a variable of a path. A segment of dots would lead to another path."""
    segments = quote(value, safe=safe).split("/")
    return "/".join(each.replace(".", "%2E") if each in {".", ".."} else each for each in segments)


def _is_shape(type_: Any) -> bool:
    """Whether values of this type are in a body: a shape, several, or one that may be left out."""
    if isinstance(type_, type) and issubclass(type_, msgspec.Struct):
        return True
    return any(_is_shape(each) for each in get_args(type_))


def _parameter(name: str, type_: Any, default: Any = inspect.Parameter.empty) -> Parameter:
    metadata = type_.__metadata__ if get_origin(type_) is Annotated else ()
    sent_as = next((each.extra["sent_as"] for each in metadata if each.extra), name)
    return Parameter(
        name, sent_as, type_, msgspec.NODEFAULT if default is inspect.Parameter.empty else default
    )
