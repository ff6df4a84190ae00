"""What messages are searched by."""

from __future__ import annotations

import msgspec

from extensions.processing.states import State


class Search(msgspec.Struct, frozen=True, kw_only=True):
    """Search criteria; a field that is None matches everything. Times are seconds since the epoch.

    ``source``, ``correlation``, ``process``, ``service`` and ``operation`` match substrings. ``text`` matches
    a substring of the body, the description, the business errors or the custom data. ``before`` matches
    messages with a lower number.
    """

    received_from: float | None = None
    received_to: float | None = None
    changed_from: float | None = None
    changed_to: float | None = None
    source: str | None = None
    correlation: str | None = None
    process: str | None = None
    state: State | None = None
    error_code: str | None = None
    service: str | None = None
    operation: str | None = None
    text: str | None = None
    before: int | None = None
