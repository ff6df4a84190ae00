"""Sample messages in the form of the releases that ``older_versions.upgrade`` knows: 3.0.0 to 3.0.2."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from schemas.rdss.older_versions import RELEASES, RENAMED, names_of_numbers

if TYPE_CHECKING:
    from schemas.rdss.samples import Samples

JSON = dict[str, Any]

UPGRADED_RELEASES: Final = tuple(version for version in RELEASES if version.startswith("3."))
"""The releases whose messages have a form in 4.0.0."""
_OLD_NAMES: Final = {new: old for old, new in RENAMED.items()}
_TRIES: Final = 100


class _NoNumberError(Exception):
    """3.x has no number for this name."""


def older_sample(samples: Samples, version: str) -> JSON:
    """Make a message as a producer of ``version``, one of ``UPGRADED_RELEASES``, writes it.

    It is invalid under 4.0.0, and valid after ``upgrade``: numbers stand for names, identifiers end in Uuid,
    a description is a text, and the header names no tenant.
    """
    for _ in range(_TRIES):
        message = samples.message("MetadataCreate", "report")
        header = {name: value for name, value in message["messageHeader"].items() if name != "tenantJiscID"}
        try:
            body = _downgrade(message["messageBody"])
        except _NoNumberError:
            continue
        return {"messageHeader": header | {"version": version}, "messageBody": body}
    raise AssertionError(f"none of {_TRIES} samples has a form in {version}")


def _downgrade(value: Any) -> Any:
    if isinstance(value, list):
        return [_downgrade(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {_old_name(name): _field(name, content, value) for name, content in value.items()}


def _old_name(name: str) -> str:
    return _OLD_NAMES.get(name, f"{name.removesuffix('UUID')}Uuid" if name.endswith("UUID") else name)


def _field(name: str, content: Any, holder: JSON) -> Any:
    if name == "objectDescription":
        return "\n".join(each["descriptionValue"] for each in content) or "No description"
    key = name if name != "role" else "person" if "person" in holder else "organisation"
    names = names_of_numbers().get(key)
    if names is None or not isinstance(content, str):
        return _downgrade(content)
    if content not in names:
        raise _NoNumberError
    return names.index(content) + 1
