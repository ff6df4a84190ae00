"""Pre-signed URLs: a signature lets its bearer use paths of a queue, with some methods, for some time."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec

from emulator.queues.engine.errors import BadValueError

_FORMAT: Final = "%Y-%m-%dT%H:%M:%S"
_DEFAULT_LIFE: Final = timedelta(days=1)


class Signed(msgspec.Struct, frozen=True):
    """What a signature stands for; ``expires`` is UTC without a zone, as in 2026-01-01T00:00:00."""

    paths: list[str]
    methods: list[str]
    project: str
    expires: str
    signature: str


def sign(key: str, paths: Sequence[str], methods: Any, project: str, expires: Any, *, now: float) -> Signed:
    """Sign for ``paths`` and ``methods`` (None: GET) until ``expires`` (ISO 8601; None: a day from ``now``).

    Raises ``BadValueError``.
    """
    wanted = methods or ["GET"]
    if not isinstance(wanted, list) or not all(isinstance(method, str) for method in wanted):
        raise BadValueError("`methods` should be a list")
    until = _end(expires, datetime.fromtimestamp(now, UTC))
    return _signed(key, sorted(paths), sorted(wanted), project, until.strftime(_FORMAT))


def verify(key: str, given: Signed, *, now: float) -> bool:
    """Whether ``given`` carries the signature of what it says, and its time is not over."""
    try:
        until = _end(given.expires, datetime.fromtimestamp(now, UTC)).strftime(_FORMAT)
    except BadValueError:
        return False
    right = _signed(key, sorted(given.paths), sorted(given.methods), given.project, until)
    return hmac.compare_digest(right.signature.encode(), given.signature.encode())


def _end(expires: Any, now: datetime) -> datetime:
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


def _signed(key: str, paths: list[str], methods: list[str], project: str, expires: str) -> Signed:
    # The separators are a backslash and an n, as in every implementation of the scheme.
    text = r"\n".join((",".join(paths), ",".join(methods), project, expires))
    signature = hmac.new(key.encode(), text.encode(), hashlib.sha256).hexdigest()
    return Signed(paths, methods, project, expires, signature)
