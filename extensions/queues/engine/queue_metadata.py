"""The metadata of a queue: the client's own keys, and reserved keys that configure the queue."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from extensions.queues.engine import bounds as checks
from extensions.queues.engine.queue_errors import BadPatchError, BadValueError, PatchConflictError
from rdss_sandbox.shapes import queue_limits
from rdss_sandbox.shapes.queue_limits import Range

DEFAULT_TTL: Final = "_default_message_ttl"
DEFAULT_DELAY: Final = "_default_message_delay"
MOST_BYTES: Final = "_max_messages_post_size"
MOST_CLAIMS: Final = "_max_claim_count"
DEAD_LETTERS: Final = "_dead_letter_queue"
DEAD_LETTERS_TTL: Final = "_dead_letter_queue_messages_ttl"
ENCRYPTED: Final = "_enable_encrypt_messages"
RETRY_POLICY: Final = "_retry_policy"

DEFAULTS: Final[Mapping[str, Any]] = {
    MOST_BYTES: queue_limits.POST_BYTES,
    DEFAULT_TTL: queue_limits.DEFAULT_MESSAGE_TTL,
    DEFAULT_DELAY: 0,
    DEAD_LETTERS: None,
    DEAD_LETTERS_TTL: None,
    MOST_CLAIMS: None,
    ENCRYPTED: False,
}

_INTEGERS: Final[Mapping[str, Range | None]] = {
    DEFAULT_TTL: queue_limits.MESSAGE_TTL,
    DEFAULT_DELAY: queue_limits.MESSAGE_DELAY,
    MOST_BYTES: Range(1, queue_limits.POST_BYTES),
    DEAD_LETTERS_TTL: queue_limits.MESSAGE_TTL,
    MOST_CLAIMS: None,
}
_OPERATIONS: Final = ("add", "remove", "replace")
_RETRY_NUMBERS: Final = (
    "retries_with_no_delay",
    "minimum_delay_retries",
    "minimum_delay",
    "maximum_delay",
    "maximum_delay_retries",
)
BACKOFFS: Final = ("linear", "arithmetic", "exponential", "geometric")
SHORTEST_DELAY: Final = 5
LONGEST_DELAY: Final = 30
_LEAST_SPREAD: Final = 10


def with_defaults(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata with the defaults of the reserved keys that are not set."""
    # To Zaqar an empty value counts as none.
    return {**metadata, **{key: value for key, value in DEFAULTS.items() if not metadata.get(key)}}


def counts_claims(metadata: Mapping[str, Any]) -> bool:
    """Whether the queue counts the claims of its messages. Zaqar does so only with a dead letter queue."""
    return MOST_CLAIMS in metadata and DEAD_LETTERS in metadata


def check(metadata: Mapping[str, Any]) -> None:
    """Raise ``BadValueError`` for a wrong value of a reserved key, or a value that cannot be stored."""
    checks.storable(metadata)
    for key, allowed in _INTEGERS.items():
        value = metadata.get(key)
        if value is None:
            continue
        if not _is_integer(value):
            raise BadValueError(f"{key} must be integer.")
        if allowed is not None and not allowed.holds(value):
            raise BadValueError(f"{key} can not exceed {_bounds(key, allowed)}.")
    if not isinstance(metadata.get(DEAD_LETTERS), str | None):
        raise BadValueError(f"{DEAD_LETTERS} must be the name of a queue.")
    if not isinstance(metadata.get(ENCRYPTED), bool | None):
        raise BadValueError(f"{ENCRYPTED} must be boolean.")
    check_retry_policy(metadata.get(RETRY_POLICY))


def check_retry_policy(policy: Any) -> None:
    """Raise ``BadValueError`` for an invalid retry policy of a queue or subscription. None is valid."""
    if not policy:
        return
    if not isinstance(policy, dict):
        raise BadValueError("retry_policy must be a dict.")
    for key in _RETRY_NUMBERS:
        if policy.get(key) and not _is_integer(policy[key]):
            raise BadValueError(f"Retry policy: {key} must be a integer.")
    if (backoff := policy.get("retry_backoff_function")) and backoff not in BACKOFFS:
        raise BadValueError("invalid retry_backoff_function.")
    if not isinstance(policy.get("ignore_subscription_override"), bool | None):
        raise BadValueError("ignore_subscription_override must be a boolean.")
    shortest = policy.get("minimum_delay") or SHORTEST_DELAY
    longest = policy.get("maximum_delay") or LONGEST_DELAY
    if longest < shortest:
        raise BadValueError("minimum_delay must less than maximum_delay.")
    if longest - shortest < _LEAST_SPREAD:
        raise BadValueError("invalid minimum_delay and maximum_delay.")


def patch(metadata: Mapping[str, Any], operations: Sequence[Any]) -> dict[str, Any]:
    """Apply operations ``{"op": add|remove|replace, "path": "/metadata/key", "value"}`` to a copy.

    Raises ``BadPatchError`` for an operation that cannot be parsed, ``PatchConflictError`` for replacing or
    removing a missing key, and ``BadValueError`` when the result is not allowed.
    """
    result = dict(metadata)
    for name, key, value in [_parse_operation(each) for each in operations]:
        known = key in result or key in DEFAULTS
        if name != "add" and not known:
            raise PatchConflictError(f"Can't {name} non-existent object {key}.")
        if name == "remove":
            result.pop(key, None)
        else:
            result[key] = value
    check(result)
    return result


def _parse_operation(raw: Any) -> tuple[str, str, Any]:
    """Parse an operation into its name, its key and its value."""
    if not isinstance(raw, dict):
        raise BadPatchError("Operations must be JSON objects.")
    name, path = raw.get("op"), raw.get("path")
    if name not in _OPERATIONS:
        available = ", ".join(_OPERATIONS)
        raise BadPatchError(f"Invalid operation: `{name}`. It must be one of the following: {available}.")
    if path is None:
        raise BadPatchError("Unable to find 'path' in JSON Schema change")
    parts = _parse_pointer(path)
    if len(parts) != 2:
        raise BadPatchError(f"Invalid JSON pointer for this resource: '{path}, e.g /metadata/key'")
    if parts[0].lower() != "metadata":
        raise BadPatchError("The root of path must be metadata, e.g /metadata/key.")
    if name != "remove" and "value" not in raw:
        raise BadPatchError(f'Operation "{name}" requires a member named "value".')
    return name, parts[1], raw.get("value")


def _parse_pointer(path: Any) -> list[str]:
    """Split a JSON pointer (RFC 6901) into its parts."""
    if not isinstance(path, str) or not path.startswith("/"):
        raise BadPatchError(f'Pointer `{path}` does not start with "/".')
    if re.search(r"~(?![01])", path):
        raise BadPatchError(f'Pointer `{path}` contains "~" not part of a recognized escape sequence.')
    parts = path[1:].split("/")
    if not all(part.strip() for part in parts):
        raise BadPatchError(f"Pointer `{path}` has an empty part.")
    # In this order, or ~01 would become a slash (RFC 6901, section 4).
    return [part.replace("~1", "/").replace("~0", "~").strip() for part in parts]


def _bounds(key: str, allowed: Range) -> str:
    if key == MOST_BYTES:
        # Zaqar's text has the second blank too.
        return f"{allowed.most},  and must be at least greater than 0"
    return f"{allowed.most} seconds, and must be at least {allowed.least} seconds long"


def _is_integer(value: Any) -> bool:
    # To Python, true is the number 1.
    return isinstance(value, int) and not isinstance(value, bool)
