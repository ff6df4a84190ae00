"""Samples as the contract offers them: bytes, with the messageId as the key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from schemas.contract import Code, Sample
from schemas.message_timestamps import timestamp
from schemas.rdss import MAX_MESSAGE_BYTES
from schemas.rdss.catalogue import terms
from schemas.rdss.envelope import serialise
from schemas.rdss.error_codes import ErrorCode
from schemas.rdss.peek import peek
from schemas.rdss.sample_errors import SPOILS
from schemas.rdss.sample_older_versions import UPGRADED_RELEASES, older_sample
from schemas.rdss.samples import Samples


class RdssSamples:
    """What there is; see ``schemas.contract.Samples``."""

    kinds: Final = terms("MessageType")
    variants: Final = terms("ResourceType")
    codes: Final = tuple(sorted((*SPOILS, ErrorCode.GENERR007)))
    releases: Final = UPGRADED_RELEASES

    def from_seed(self, seed: int, *, now: float) -> RdssSampleMaker:
        return RdssSampleMaker(seed, now)


class RdssSampleMaker:
    """Makes messages from a seed; see ``schemas.contract.SampleMaker``."""

    def __init__(self, seed: int, now: float) -> None:
        self._samples = Samples(seed, now=now)

    def message(
        self, kind: str | None = None, *, variant: str | None = None, expires: float | None = None
    ) -> Sample:
        made = self._samples.message(kind, variant)
        if expires is not None:
            made["messageHeader"]["messageTimings"]["expirationTimestamp"] = timestamp(expires)
        return _sample(made)

    def stream(self, count: int) -> Iterator[Sample]:
        return map(_sample, self._samples.stream(count))

    def big_message(self, parts: int, *, limit: int | None = None) -> Sample:
        return _sample(self._samples.big_message(parts, limit=limit or MAX_MESSAGE_BYTES))

    def bad(self, code: Code) -> Sample:
        data = self._samples.bad(ErrorCode[code])
        return Sample(data, peek(data).message_id or "")

    def older(self, release: str) -> Sample:
        if release not in UPGRADED_RELEASES:
            raise ValueError(f"no samples of release {release}; there are {', '.join(UPGRADED_RELEASES)}")
        return _sample(older_sample(self._samples, release))


def _sample(message: dict[str, Any]) -> Sample:
    return Sample(serialise(message), message["messageHeader"]["messageId"])
