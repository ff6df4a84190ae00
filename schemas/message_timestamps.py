"""RFC 3339 date-times in the texts of messages: reading, checking and writing them."""

from __future__ import annotations

import re
from calendar import monthrange, timegm
from datetime import UTC, datetime, timedelta
from typing import Final

_DATE_TIME: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})(\.[0-9]+)?"
    r"(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))"
)
_COMMON_DATE_TIME: Final = re.compile(
    r"[0-9]{4}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30))"
    r"[Tt](?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]+)?"
    r"(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
)
"""The date-times that are right without a calendar: all but the 31st, 29 February and leap seconds."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DAYS_IN_400_YEARS: Final = 146_097
_SECONDS_IN_DAY: Final = 86_400


def instant(text: str) -> float | None:
    """Parse an RFC 3339 date-time (section 5.6) into seconds since the epoch; None for another text.

    Seconds and a zone are mandatory ("Timestamp"). ``-00:00`` is a zone. A leap second
    is accepted only as the last second of a day in UTC.
    """
    if _COMMON_DATE_TIME.fullmatch(text) is not None and not text.startswith("0000"):
        return datetime.fromisoformat(text.upper()).timestamp()
    return _instant(text)


def _instant(text: str) -> float | None:
    """``instant`` for the rare date-times that need a calendar."""
    found = _DATE_TIME.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(part) for part in found.group(1, 2, 3, 4, 5, 6))
    if not 1 <= month <= 12 or hour > 23 or minute > 59 or second > 60:
        return None
    # Python's calendar has only the years 1 to 9999. The calendar repeats every 400 years.
    cycles, year_of_cycle = divmod(year - 2000, 400)
    if not 1 <= day <= monthrange(2000 + year_of_cycle, month)[1]:
        return None
    fraction, sign, hours, minutes = found.group(7, 8, 9, 10)
    offset = 0
    if sign is not None:
        if int(hours) > 23 or int(minutes) > 59:
            return None
        offset = (int(hours) * 60 + int(minutes)) * (-60 if sign == "-" else 60)
    whole = timegm((2000 + year_of_cycle, month, day, hour, minute, min(second, 59)))
    whole += cycles * _DAYS_IN_400_YEARS * _SECONDS_IN_DAY - offset
    if second == 60:
        whole += 1
        if whole % _SECONDS_IN_DAY:
            return None
    return whole + float(fraction or 0)


def timestamp(seconds: float) -> str:
    """Format seconds since the epoch as an RFC 3339 date-time in UTC with milliseconds."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def timestamp_of(milliseconds: int) -> str:
    """Format whole milliseconds since the epoch in the same way, without a float's rounding."""
    moment = _EPOCH + timedelta(milliseconds=milliseconds)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def is_date_time(text: str) -> bool:
    """RFC 3339 section 5.6 ``date-time``."""
    return _COMMON_DATE_TIME.fullmatch(text) is not None or instant(text) is not None
