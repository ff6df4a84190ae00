"""Changes that make a valid message invalid with exactly one error code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from schemas.message_timestamps import instant, timestamp_of
from schemas.rdss.envelope import serialise
from schemas.rdss.error_codes import ErrorCode

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Mapping

JSON = dict[str, Any]
_DAY: Final = 86_400_000


def _drop_title(message: JSON) -> None:
    del message["messageBody"]["objectTitle"]


def _empty_title(message: JSON) -> None:
    message["messageBody"]["objectTitle"] = ""


def _misspell_role(message: JSON) -> None:
    message["messageBody"]["objectPersonRole"][0]["role"] = "Author"


def _date_as_number(message: JSON) -> None:
    message["messageBody"]["objectDate"][0]["dateValue"] = 20181211


def _field_of_version_3(message: JSON) -> None:
    message["messageBody"]["objectKeywords"] = message["messageBody"].pop("objectKeyword", [])


def _type_of_version_3(message: JSON) -> None:
    message["messageHeader"]["messageType"] = "VocabularyRead"


def _expire(message: JSON) -> None:
    timings = message["messageHeader"]["messageTimings"]
    published = round((instant(timings["publishedTimestamp"]) or 0.0) * 1000)
    timings["publishedTimestamp"] = timestamp_of(published - 2 * _DAY)
    timings["expirationTimestamp"] = timestamp_of(published - _DAY)


def _drop_generator(message: JSON) -> None:
    del message["messageHeader"]["generator"]


def _tenant_as_text(message: JSON) -> None:
    message["messageHeader"]["tenantJiscID"] = str(message["messageHeader"]["tenantJiscID"])


def _half_a_version(message: JSON) -> None:
    message["messageHeader"]["version"] = "4.0"


def _shout_correlation_id(message: JSON) -> None:
    message["messageHeader"]["correlationId"] = message["messageHeader"]["messageId"].upper()[:-1] + "A"


def _nil_object(message: JSON) -> None:
    message["messageBody"]["objectUUID"] = "00000000-0000-0000-0000-000000000000"


def _line_feed_behind_person(message: JSON) -> None:
    message["messageBody"]["objectPersonRole"][0]["person"]["personUUID"] += "\n"


SPOILS: Final[Mapping[ErrorCode, tuple[Callable[[JSON], None], ...]]] = {
    ErrorCode.GENERR001: (_drop_title, _empty_title, _misspell_role, _date_as_number, _field_of_version_3),
    ErrorCode.GENERR002: (_type_of_version_3,),
    ErrorCode.GENERR003: (_expire,),
    ErrorCode.GENERR004: (_drop_generator, _tenant_as_text, _half_a_version),
    ErrorCode.GENERR010: (_shout_correlation_id, _nil_object, _line_feed_behind_person),
}
"""For each code but GENERR007, functions that spoil a valid MetadataCreate in place."""


def malformed(message: JSON, draws: random.Random) -> bytes:
    """Make bytes from a message that are not JSON (GENERR007) but have a readable header."""
    whole = serialise(message)
    body = whole.index(b'"messageBody"')
    ways = (
        whole[: draws.randrange(body, len(whole) - 1)],
        whole[:body] + whole[body:].replace(b'"', b"'"),
        whole[:-1] + b",}",
        whole.replace(b'"objectTitle":"', b'"objectTitle":"\xff'),
        whole.replace(b'"objectResourceType":', b'"objectResourceType"=>'),
    )
    return draws.choice(ways)
