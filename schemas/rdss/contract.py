"""The RDSS Message API 4.0.0 as a contract.

``RDSS`` judges by the specification's text, ``AS_PUBLISHED`` as the published schema files do. What judges is
imported with the first verdict, since the validators are an extra that may not be installed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, partial
from typing import Final

from schemas.contract import (
    Changes,
    Code,
    Content,
    Documents,
    Envelope,
    Failures,
    Joined,
    Judge,
    Objects,
    Part,
    Samples,
    Verdict,
)
from schemas.personal import Personal
from schemas.rdss import MAX_MESSAGE_BYTES, SPECIFICATION_VERSION
from schemas.rdss.decoration import decorate, redrive, stamp, undecorate
from schemas.rdss.error_codes import ErrorCode
from schemas.rdss.fields import FIELDS
from schemas.rdss.peek import identity, peek
from schemas.rdss.sequence import PATIENCE_SECONDS, body_of, shared_message_id, split_raw


class Rdss:
    """The contract; ``as_published`` is said in ``schemas.rdss.validation``."""

    name: Final = "rdss"
    release: Final = SPECIFICATION_VERSION
    media_type: Final = "application/json"
    codes: Final[Mapping[str, Code]] = {code.value: code for code in ErrorCode}
    failures: Final = Failures(
        system=ErrorCode.GENERR006,
        rollback=ErrorCode.GENERR008,
        unsent=ErrorCode.GENERR005,
        unknown=ErrorCode.GENERR009,
        misaddressed=ErrorCode.GENERR004,
    )
    expired: Final = ErrorCode.GENERR003
    oversize: Final = ErrorCode.GENERR006
    max_bytes: Final = MAX_MESSAGE_BYTES
    rejects: Final = True
    by_digest: Final = None
    headers: Final = None
    envelope: Final = Envelope("messageHeader", "messageBody")
    fields: Final = FIELDS
    contents: Final[Mapping[str, Content]] = {}
    peek = staticmethod(peek)
    identity = staticmethod(identity)
    body = staticmethod(body_of)
    decorate = staticmethod(decorate)
    undecorate = staticmethod(undecorate)
    redrive = staticmethod(redrive)
    stamp = staticmethod(stamp)

    def __init__(self, *, as_published: bool = False) -> None:
        self._as_published = as_published
        self.sequences: Final = _RdssSequences(as_published=as_published)
        self.versions: Final = _RdssVersions(as_published=as_published)

    @property
    def without_headers(self) -> Rdss:
        return self

    @cached_property
    def judge(self) -> Judge:
        from schemas.rdss.verdicts import judge

        return partial(judge, as_published=True) if self._as_published else judge

    @cached_property
    def objects(self) -> Objects:
        from schemas.rdss.published_objects import RdssObjects

        return RdssObjects()

    @cached_property
    def documents(self) -> Documents:
        from schemas.rdss.documents import RdssDocuments

        return RdssDocuments(as_published=self._as_published)

    @cached_property
    def personal(self) -> Personal:
        from schemas.rdss.rdss_marks import RdssPersonal

        return RdssPersonal()

    @cached_property
    def samples(self) -> Samples:
        from schemas.rdss.sample_maker import RdssSamples

        return RdssSamples()

    @cached_property
    def changes(self) -> Changes:
        from schemas.rdss.changes import RdssChanges

        return RdssChanges()


class _RdssSequences:
    patience: Final = PATIENCE_SECONDS
    describe_shared_id = staticmethod(shared_message_id)

    def __init__(self, *, as_published: bool) -> None:
        self._as_published = as_published

    def split(self, raw: bytes, *, new_id: Callable[[], str], limit: int | None = None) -> list[bytes]:
        return split_raw(raw, limit=limit or MAX_MESSAGE_BYTES, new_id=new_id)

    def judge_unsent(self, raw: bytes, *, now: float | None = None) -> Verdict:
        from schemas.rdss.verdicts import judge_unsent

        return judge_unsent(raw, now=now, as_published=self._as_published)

    def judge_part(self, part: Part, *, total: int | None, taken: bool) -> Verdict:
        from schemas.rdss.verdicts import judge_part

        return judge_part(part, total=total, taken=taken)

    def judge_parts(self, parts: Iterable[bytes], *, now: float | None = None) -> Joined:
        from schemas.rdss.verdicts import judge_parts

        return judge_parts(parts, now=now, as_published=self._as_published)

    def judge_overdue(self, sequence: str, came: int, total: int, waited: float) -> Verdict:
        from schemas.rdss.verdicts import judge_overdue

        return judge_overdue(sequence, came, total, waited)


class _RdssVersions:
    def __init__(self, *, as_published: bool) -> None:
        self._as_published = as_published

    @cached_property
    def judge(self) -> Judge:
        from schemas.rdss.verdicts import judge_any_release

        return partial(judge_any_release, as_published=True) if self._as_published else judge_any_release


RDSS: Final = Rdss()
AS_PUBLISHED: Final = Rdss(as_published=True)
