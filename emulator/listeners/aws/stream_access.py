"""Permissions of access keys for operations and streams, to rehearse wrongly scoped keys.

A key without a permission may do everything, unless there is a permission for ``*``: then it is unknown, and
may do what that permits. Signatures are not verified, so this is no protection: a client can use another key.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from typing import Final

from emulator.events import Events
from emulator.kinesis.errors import KinesisError
from emulator.kinesis.page_tokens import stream_of_page
from emulator.kinesis.scope import Scope, consumer_of, stream_named, stream_of
from emulator.listeners.aws.credentials import Caller
from emulator.listeners.aws.interception import Request
from emulator.listeners.aws.service_model import kinesis_model
from rdss_sandbox.shapes.access import KeyPermission

_SERVICE: Final = "kinesis:"
_OTHERS: Final = "*"
_OWN_KEY: Final = "sandbox"
"""The key of the sandbox's own commands where the environment has none. It is never an unknown one."""


SERVICES: Final = ("s3", "sqs", "dynamodb", "sns", "ssm", "sts", "cloudwatch")
"""The services besides Kinesis whose actions a permission can name."""


class UnknownPermissionError(KeyError):
    """There is no permission for this access key."""


class BadPermissionError(ValueError):
    """A permission that can never allow anything. The message says which name is wrong and which exist."""


class StreamAccess:
    """The permissions in force. Those in ``given`` hold from the start, and again after ``reset``.

    ``stream_of_iterator`` names the stream of a shard iterator; None when it is not known. Raises
    ``BadPermissionError``.
    """

    def __init__(
        self,
        events: Events,
        stream_of_iterator: Callable[[str], str | None] = lambda _: None,
        given: Iterable[KeyPermission] = (),
    ) -> None:
        self._events = events
        self._stream_of_iterator = stream_of_iterator
        self._given = tuple(_checked(permission) for permission in given)
        self._lock = threading.Lock()
        self._by_key: dict[str, KeyPermission] = {}
        self.reset()

    def permissions(self) -> tuple[KeyPermission, ...]:
        """Every permission in force, by access key."""
        return tuple(self._by_key[key] for key in sorted(self._by_key))

    def permit(self, permission: KeyPermission) -> KeyPermission:
        """Add a permission, or replace the key's old one. Raises ``BadPermissionError``."""
        self._change({**self._by_key, permission.access_key: _checked(permission)})
        return permission

    def forget(self, access_key: str) -> KeyPermission:
        """Remove a key's permission and return it. The key may do everything again.

        Raises ``UnknownPermissionError``.
        """
        if (found := self._by_key.get(access_key)) is None:
            raise UnknownPermissionError(
                f"no permission is for the access key {access_key!r}; it may do everything"
            )
        self._change({key: held for key, held in self._by_key.items() if key != access_key})
        return found

    def reset(self) -> None:
        """Restore the permissions that were given at the start."""
        self._change({permission.access_key: permission for permission in self._given})

    def load(self, permissions: Iterable[KeyPermission]) -> None:
        self._change({permission.access_key: permission for permission in permissions})

    def restricts(self, caller: Caller | None) -> bool:
        """Whether this caller's requests have to be checked."""
        return bool(self._by_key) and caller is not None and self._find(caller) is not None

    def knows(self, caller: Caller) -> bool:
        """Whether this caller's key has a permission of its own."""
        return caller.access_key in self._by_key

    def allows_service(self, caller: Caller, service: str, action: str) -> bool:
        """Whether an action of a service other than Kinesis is allowed.

        ``*`` alone stands for it where it stands for every stream, too.
        """
        permission = self._find(caller)
        if permission is None or ("*" in permission.operations and "*" in permission.streams):
            return True
        return any(
            fnmatchcase(f"{service}:{action}".lower(), pattern.lower())
            for pattern in permission.operations
            if ":" in pattern
        )

    def check(self, caller: Caller | None, operation: str, request: Request, scope: Scope) -> None:
        """Raise AccessDeniedException with AWS's text, and emit an event, unless the request is allowed."""
        permission = self._find(caller) if caller else None
        if caller is None or permission is None or self._allows(permission, operation, request):
            return
        resource = self._resource(request, scope)
        self._events.emit(
            "access.denied", access_key=caller.access_key, operation=operation, resource=resource
        )
        if not self.knows(caller):
            raise KinesisError(
                "UnrecognizedClientException", "The security token included in the request is invalid."
            )
        raise KinesisError(
            "AccessDeniedException",
            describe_denial(scope.account, caller.access_key, f"{_SERVICE}{operation}", resource),
        )

    def _find(self, caller: Caller) -> KeyPermission | None:
        key = caller.access_key
        return self._by_key.get(key) or (self._by_key.get(_OTHERS) if key != _OWN_KEY else None)

    def _allows(self, permission: KeyPermission, operation: str, request: Request) -> bool:
        if not any(
            fnmatchcase(operation, pattern.removeprefix(_SERVICE)) for pattern in permission.operations
        ):
            return False
        stream = self._stream(request)
        if stream is None and request.get("NextToken"):
            # The stream in an upstream's token cannot be read. It was checked when the token was made.
            return True
        return "*" in permission.streams or (
            stream is not None and any(fnmatchcase(stream, pattern) for pattern in permission.streams)
        )

    def _stream(self, request: Request) -> str | None:
        if iterator := request.get("ShardIterator"):
            return self._stream_of_iterator(iterator)
        if (token := request.get("NextToken")) and (listed := stream_of_page(token)):
            return listed
        resource = str(request.get("ResourceARN") or "")
        if consumer := consumer_of(resource):
            resource = consumer.stream_arn
        found = stream_of(resource)
        return found[1] if found else stream_named(request)

    def _resource(self, request: Request, scope: Scope) -> str:
        named = request.get("ConsumerARN") or request.get("StreamARN") or request.get("ResourceARN")
        if named:
            return str(named)
        stream = self._stream(request)
        return scope.stream_arn(stream) if stream else "*"

    def _change(self, by_key: dict[str, KeyPermission]) -> None:
        with self._lock:
            self._by_key = by_key


def describe_denial(account: str, access_key: str, action: str, resource: str) -> str:
    """Say in AWS's words that no policy allows a key this action."""
    return (
        f"User: arn:aws:iam::{account}:user/{access_key} is not authorized to perform: {action} "
        f"on resource: {resource} because no identity-based policy allows the {action} action"
    )


def _checked(permission: KeyPermission) -> KeyPermission:
    if not permission.access_key:
        raise BadPermissionError("a permission needs the access key that it is for")
    known = kinesis_model().operations
    for pattern in permission.operations:
        service, colon, _ = pattern.partition(":")
        if colon and f"{service}:" != _SERVICE:
            if service not in SERVICES:
                raise BadPermissionError(
                    f"{pattern!r} is of no service here; they are kinesis, {', '.join(SERVICES)}"
                )
            continue
        name = pattern.removeprefix(_SERVICE)
        if not any(fnmatchcase(operation, name) for operation in known):
            raise BadPermissionError(
                f"no operation of Kinesis is called {pattern!r}; they are {', '.join(sorted(known))}"
            )
    return permission
