"""The 13 releases of the specification before 4.0.0, and the upgrade of a message from 3.x to 4.0.0.

The changes of 4.0.0 ("Releases", data model 3.0.0 to 4.0.0): enumerations are names
instead of numbers, identifiers end in UUID instead of Uuid, three lists lost their
plural, a description is a list, a file's preservation event is a text, and a header
names its tenant. A message with a value that has no form in 4.0.0 is refused.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any, Final

import msgspec

from schemas.rdss import SPECIFICATION_VERSION
from schemas.rdss.bodies import is_part
from schemas.rdss.envelope import serialise

JSON = dict[str, Any]

RELEASES: Final = {
    "1.0.0": "2017-06-28",
    "1.1.0": "2017-07-06",
    "1.1.1": "2017-07-06",
    "1.1.2": "2017-07-06",
    "1.2.0": "2017-09-01",
    "1.2.1": "2017-09-18",
    "1.3.0": "2017-10-26",
    "1.4.0": "2018-01-22",
    "2.0.0": "2018-02-02",
    "2.1.0": "2018-03-01",
    "3.0.0": "2018-04-03",
    "3.0.1": "2018-04-04",
    "3.0.2": "2018-05-16",
}
"""The releases before 4.0.0 with their dates."""

UNKNOWN_TENANT: Final = 0
"""The tenantJiscID of an upgraded message without an organisation."""


class CannotUpgradeError(ValueError):
    """A message of an older release has no form in 4.0.0; the text names the release and the reason."""

    def __init__(self, version: str, why: str) -> None:
        super().__init__(f"version {version} of the specification ({RELEASES[version]}): {why}")


def upgrade(raw: bytes, version: str) -> bytes:
    """Convert a message of ``version``, one of ``RELEASES``, to the form of 4.0.0.

    In a part of a sequence only the header changes, and its version stays: the body is
    upgraded after the parts are joined. The result is not validated.
    Raises ``CannotUpgradeError``.
    """
    if not version.startswith("3."):
        raise CannotUpgradeError(
            version, f"only 3.x can be upgraded to {SPECIFICATION_VERSION}; send {SPECIFICATION_VERSION}"
        )
    try:
        message = msgspec.json.decode(raw)
        header, body = message["messageHeader"], message["messageBody"]
        if is_part(message):
            return serialise(message | {"messageHeader": _with_tenant(header, {})})
        upgraded = _upgrade_value(body)
        header = _with_tenant(header, upgraded) | {"version": SPECIFICATION_VERSION}
    except _NoSuchNameError as error:
        raise CannotUpgradeError(version, str(error)) from error
    except (
        msgspec.MsgspecError,
        UnicodeDecodeError,
        RecursionError,
        LookupError,
        TypeError,
        AttributeError,
    ) as error:
        raise CannotUpgradeError(version, f"the message cannot be read: {error}") from error
    return serialise(message | {"messageHeader": header, "messageBody": upgraded})


class _NoSuchNameError(Exception):
    def __init__(self, field: str, value: object) -> None:
        super().__init__(f"{field} {value!r} has no name in {SPECIFICATION_VERSION}")


def _with_tenant(header: JSON, body: object) -> JSON:
    """Add the tenantJiscID that 3.x lacks: the hosting institution's, else the first organisation's."""
    roles = body.get("objectOrganisationRole") if isinstance(body, dict) else None
    named = [role for role in roles if isinstance(role, dict)] if isinstance(roles, list) else []
    named.sort(key=lambda role: role.get("role") != "hostingInstitution")
    organisations = [role["organisation"] for role in named if isinstance(role.get("organisation"), dict)]
    tenant = next(
        (each["organisationJiscId"] for each in organisations if "organisationJiscId" in each), None
    )
    known = header.get("tenantJiscID", UNKNOWN_TENANT)
    return header | {"tenantJiscID": tenant if known == UNKNOWN_TENANT and tenant is not None else known}


def _upgrade_value(value: Any) -> Any:
    if isinstance(value, list):
        return [_upgrade_value(item) for item in value]
    if not isinstance(value, dict):
        return value
    found: JSON = {}
    for name, content in value.items():
        if name not in _REMOVED:
            found[_rename(name)] = _field(name, content, value)
    return found


def _rename(name: str) -> str:
    return RENAMED.get(name, f"{name.removesuffix('Uuid')}UUID" if name.endswith("Uuid") else name)


def _field(name: str, content: Any, holder: JSON) -> Any:
    if name == "objectDescription" and isinstance(content, str):
        return [{"descriptionValue": content, "descriptionType": "description"}]
    if name == "filePreservationEvent" and isinstance(content, list):
        return "; ".join(_event_in_words(event) for event in content)
    key = name if name != "role" else "person" if "person" in holder else "organisation"
    names = names_of_numbers().get(key)
    if names is None or isinstance(content, str | dict):
        return _upgrade_value(content)
    if isinstance(content, bool) or not isinstance(content, int) or not 1 <= content <= len(names):
        raise _NoSuchNameError(name, content)
    if (found := names[content - 1]) is None:
        raise _NoSuchNameError(name, content)
    return found


def _event_in_words(event: object) -> str:
    """The event as a text that starts with the name of its type."""
    if not isinstance(event, dict):
        return str(event)
    kind = event.get("preservationEventType")
    names = names_of_numbers()["preservationEventType"]
    kinds = [str(names[kind - 1] if isinstance(kind, int) and 1 <= kind <= len(names) else kind)]
    details = (event.get("preservationEventValue"), event.get("preservationEventDetail"))
    return ": ".join(kinds + [str(each) for each in details if each])


_REMOVED: Final = frozenset({"objectPreservationEvent"})
RENAMED: Final = {
    "objectKeywords": "objectKeyword",
    "collectionKeywords": "collectionKeyword",
    "fileTechnicalAttributes": "fileTechnicalAttribute",
}
"""The fields that lost their plural: the name in 3.x, and in 4.0.0."""


@cache
def names_of_numbers() -> dict[str, tuple[str | None, ...]]:
    """The names for the numbers of 3.x by field, counted from 1; None for a name that 4.0.0 dropped.

    Roles are under ``person`` and ``organisation``, the name of the field beside the role.
    """
    text = (files("schemas.rdss") / "vocabulary_3.json").read_text(encoding="utf-8")
    return {field: tuple(names) for field, names in json.loads(text).items() if isinstance(names, list)}
