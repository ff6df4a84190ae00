"""Pre-signed URLs: a signature permits some methods on some paths of a queue until it expires."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec

from extensions.queues.engine.queue_errors import BadValueError

_FORMAT: Final = "%Y-%m-%dT%H:%M:%S"
_DEFAULT_LIFE: Final = timedelta(days=1)


class Signed(msgspec.Struct, frozen=True):
    """What a signature permits. ``expires`` is UTC without a zone, as in 2026-01-01T00:00:00."""

    paths: list[str]
    methods: list[str]
    project: str
    expires: str
    signature: str


def sign(key: str, paths: Sequence[str], methods: Any, project: str, expires: Any, *, now: float) -> Signed:
    """Sign ``paths`` and ``methods`` (None: GET) until ``expires`` (ISO 8601; None: a day from ``now``).

    Raises ``BadValueError``.
    """
    verbs = methods or ["GET"]
    if not isinstance(verbs, list) or not all(isinstance(method, str) for method in verbs):
        raise BadValueError("`methods` should be a list")
    until = _parse_end(expires, datetime.fromtimestamp(now, UTC))
    # Sorted, so that whoever comes with the signature may name them in any order.
    return _build_signed(key, sorted(paths), sorted(verbs), project, until.strftime(_FORMAT))


def verify(key: str, given: Signed, *, now: float) -> bool:
    """Whether ``given`` has the right signature for its fields, and has not expired."""
    try:
        # As it was signed, in whichever zone it comes back.
        until = _parse_end(given.expires, datetime.fromtimestamp(now, UTC)).strftime(_FORMAT)
    except BadValueError:
        return False
    right = _build_signed(key, sorted(given.paths), sorted(given.methods), given.project, until)
    return hmac.compare_digest(right.signature.encode(), given.signature.encode())


def _parse_end(expires: Any, now: datetime) -> datetime:
    if expires is None:
        return now + _DEFAULT_LIFE
    try:
        end = datetime.fromisoformat(expires)
    except (TypeError, ValueError) as error:
        raise BadValueError(
            f"`expires` should be date format, for example 2016-01-01T00:00:00, not {expires!r}"
        ) from error
    end = end.replace(tzinfo=UTC) if end.tzinfo is None else end.astimezone(UTC)
    if end <= now:
        raise BadValueError("`expires` is lower than the current time")
    return end


def _build_signed(key: str, paths: list[str], methods: list[str], project: str, expires: str) -> Signed:
    # The separator is a backslash and an n, not a line feed, as in Zaqar and its clients.
    text = r"\n".join((",".join(paths), ",".join(methods), project, expires))
    signature = hmac.new(key.encode(), text.encode(), hashlib.sha256).hexdigest()
    return Signed(paths, methods, project, expires, signature)
