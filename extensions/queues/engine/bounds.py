"""Limits on what clients may send, over every transport.

Each check raises ``BadValueError``, which says what is allowed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

import msgspec

from extensions.queues.engine.queue_errors import BadValueError
from rdss_sandbox.shapes import queue_limits
from rdss_sandbox.shapes.queue_limits import Range

RESOURCE_TYPES = frozenset({"messages", "subscriptions"})
SUBSCRIBER_SCHEMES = ("http", "https", "mailto", "trust+http", "trust+https")
_pack = msgspec.msgpack.Encoder().encode
_QUEUE_NAME = re.compile(r"[A-Za-z0-9_\-.]+", re.ASCII)


# Every request names one of few queues.
@lru_cache(maxsize=4096)
def queue_address(project: str, name: str) -> None:
    if len(project) > queue_limits.PROJECT_LENGTH:
        raise BadValueError(
            f"Project ids may not be more than {queue_limits.PROJECT_LENGTH} characters long."
        )
    if len(name) > queue_limits.QUEUE_NAME_LENGTH:
        raise BadValueError(
            f"Queue names may not be more than {queue_limits.QUEUE_NAME_LENGTH} characters long."
        )
    if not _QUEUE_NAME.fullmatch(name):
        raise BadValueError("Queue names may only contain ASCII letters, digits, underscores, and dashes.")


def page_limit(limit: int) -> None:
    _check_limit(limit, queue_limits.PAGE)


def message_ttl(ttl: int) -> None:
    _check_seconds("The TTL for a message", ttl, queue_limits.MESSAGE_TTL)


def message_delay(delay: int) -> None:
    _check_seconds("The Delay TTL for a message", delay, queue_limits.MESSAGE_DELAY)


def claim_ttl(ttl: int) -> None:
    _check_seconds("The TTL for a claim", ttl, queue_limits.CLAIM_TTL)


def new_claim(ttl: int, grace: int, limit: int) -> None:
    claim_ttl(ttl)
    _check_limit(limit, queue_limits.CLAIMED_AT_ONCE)
    _check_seconds("The grace for a claim", grace, queue_limits.CLAIM_GRACE)


def pop_limit(limit: int) -> None:
    if not queue_limits.CLAIMED_AT_ONCE.holds(limit):
        most = queue_limits.CLAIMED_AT_ONCE.most
        raise BadValueError(f"Pop value must be at least 1 and may not be greater than {most}.")


def message_ids(ids: Sequence[str]) -> None:
    if not queue_limits.PAGE.holds(len(ids)):
        most = queue_limits.PAGE.most
        raise BadValueError(f"ids parameter should have at least 1 and not greater than {most} values.")


def resource_types(types: Any) -> None:
    # As texts: a client may send what cannot be looked up in a set.
    if not isinstance(types, list) or not all(each in RESOURCE_TYPES for each in map(str, types)):
        raise BadValueError(f"Resource types must be a sub set of {render_set(RESOURCE_TYPES)}.")


def subscriber(uri: Any) -> None:
    try:
        scheme = urlsplit(uri).scheme if isinstance(uri, str) else ""
    except ValueError:
        scheme = ""
    if scheme not in SUBSCRIBER_SCHEMES:
        supported = list(SUBSCRIBER_SCHEMES)
        raise BadValueError(f"The subscriber type of subscription must be supported in the list {supported}.")


def subscription_ttl(ttl: Any) -> None:
    if not isinstance(ttl, int) or isinstance(ttl, bool):
        raise BadValueError("TTL must be an integer.")
    if ttl < queue_limits.SUBSCRIPTION_TTL_LEAST:
        least = queue_limits.SUBSCRIPTION_TTL_LEAST
        raise BadValueError(f"The TTL for a subscription must be at least {least} seconds long.")


def storable(document: Any) -> None:
    """Check that the journal can store a client's document: its integers have 64 bits."""
    try:
        _pack(document)
    except OverflowError as error:
        raise BadValueError("JSON contains integer that is too large.") from error
    except RecursionError as error:
        raise BadValueError("JSON is nested too deeply.") from error


def render_set(texts: Iterable[str]) -> str:
    """Render texts as Python shows a set, but sorted, since Zaqar's error texts do."""
    return "{" + ", ".join(map(repr, sorted(texts))) + "}"


def _check_limit(limit: int, allowed: Range) -> None:
    if not allowed.holds(limit):
        raise BadValueError(
            f"Limit must be at least {allowed.least} and may not be greater than {allowed.most}."
        )


def _check_seconds(what: str, seconds: int, allowed: Range) -> None:
    if not allowed.holds(seconds):
        bounds = f"exceed {allowed.most} seconds, and must be at least {allowed.least} seconds long"
        raise BadValueError(f"{what} may not {bounds}.")
