"""What changed from one certificate to the next."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from rdss_sandbox.shapes.certificate import FILE, Certificate


class NoCertificateError(ValueError):
    """A folder holds no certificate that can be read; the text says which, and why."""


def read_certificate(folder: Path) -> Certificate:
    """Read the certificate that was written to a folder. Raises ``NoCertificateError``."""
    place = folder / FILE
    try:
        return msgspec.json.decode(place.read_bytes(), type=Certificate)
    except (OSError, msgspec.MsgspecError) as error:
        raise NoCertificateError(f"{place} is no certificate of this version: {error}") from error


def compare_certificates(before: Certificate, now: Certificate) -> Iterator[str]:
    """Sentences on what is different: the level, and each clause whose verdict changed."""
    if before.level != now.level:
        yield f"level {before.level or 'none'} became {now.level or 'none'}"
    verdicts = {each.id: each.verdict for each in before.clauses}
    changed = [
        f"{each.id}: {verdicts.get(each.id) or 'not there'} became {each.verdict}"
        for each in now.clauses
        if verdicts.get(each.id) != each.verdict
    ]
    yield from changed or ["no verdict changed"]
