"""Polling an application and publishing its changes (specification, Channel Adaptor)."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import msgspec

from emulator.rng import new_uuid
from sandbox.adaptor.adaptor_state import AdaptorState, Unmapped
from sandbox.adaptor.application_api import Source
from sandbox.adaptor.known import Known
from sandbox.adaptor.mapping_file import MappingFile, Watermark
from sandbox.gateway.next_version import as_new_version
from sandbox.gateway.outbox import Outbox
from sandbox.gateway.triggers import Trigger, trigger
from sandbox.gateway.visibility import confidential
from sandbox.template import NOTHING, TemplateError, resolve
from schemas.contract import Code
from schemas.rdss.error_codes import ErrorCode
from schemas.rdss.validation import judge_message

JSON = dict[str, Any]


class _InvalidMessageError(TemplateError):
    """The message of an item breaks the contract; ``code`` is the error code of its gravest violation."""

    def __init__(self, code: Code, why: str) -> None:
        super().__init__(why)
        self.code = code


@dataclass(frozen=True, slots=True)
class SentItem:
    """A message that was sent for a changed item."""

    id: str
    message_type: str
    object_uuid: str


@dataclass
class Polled:
    """The result of one poll: the messages sent, and the items that are newly unmapped."""

    told: list[SentItem] = field(default_factory=list)
    unmapped: list[Unmapped] = field(default_factory=list)


class Adaptor:
    """Publishes the changes of one application to one channel.

    A message is recorded in one transaction with the new state of its item, and then sent. After a crash at
    any point, no change is lost and none is published twice.
    """

    def __init__(
        self,
        mapping: MappingFile,
        source: Source,
        state: AdaptorState,
        outbox: Outbox,
        *,
        new_id: Callable[[], str] = new_uuid,
    ) -> None:
        self._mapping = mapping
        self._source = source
        self._state = state
        self._outbox = outbox
        self._new_id = new_id

    def poll(self) -> Polled:
        """Poll once. Raises ``SourceUnavailableError`` and as ``Gateway.flush``; the next poll continues."""
        polled = Polled()
        self._outbox.flush()
        start = self._state.watermark()
        furthest = self._mapping.place.start if start is None else start
        # Unmapped items are tried again, because the mapping may have changed.
        self._process_items((each.item for each in self._state.unmapped()), polled)
        for items in self._source.changes(furthest if start is None else start):
            self._process_items(items, polled)
            furthest = self._furthest(furthest, items)
        if furthest != start:
            self._state.advance(furthest)
        return polled

    def _process_items(self, items: Iterable[JSON], polled: Polled) -> None:
        with self._state.repository.transaction() as store:
            for item in items:
                self._process_item(store, item, polled)
        self._outbox.flush()

    def _process_item(self, store: sqlite3.Connection, item: JSON, polled: Polled) -> None:
        found = resolve(self._mapping.place.id, item)
        item_id = _digest(item) if found is NOTHING else str(found)
        try:
            sent_item = self._record_change(store, item_id, item)
        except TemplateError as error:
            code = error.code if isinstance(error, _InvalidMessageError) else ErrorCode.GENERR001
            unmapped = Unmapped(item_id, item, f"{code}: {error}")
            if self._state.keep_unmapped(store, unmapped):
                polled.unmapped.append(unmapped)
            return
        self._state.forget_unmapped(store, item_id)
        if sent_item is not None:
            polled.told.append(sent_item)

    def _record_change(self, store: sqlite3.Connection, item_id: str, item: JSON) -> SentItem | None:
        """Record the message for the item's change, if it needs one. Raises ``TemplateError``."""
        if resolve(self._mapping.place.id, item) is NOTHING:
            raise TemplateError(f"the item has no {self._mapping.place.id}")
        work = None if self._mapping.is_hidden(item) else self._mapping.object(item)
        if work is not None and confidential(work):
            work = None
        digest = None if work is None else _digest(work)
        before = self._state.find_known(store, item_id)
        trigger_found = trigger(
            was_public=before is not None and before.published,
            is_public=digest is not None,
            changed=before is None or digest != before.digest,
        )
        if trigger_found is None:
            return None
        body = self._body(trigger_found, before, work or {})
        message = self._outbox.message(trigger_found, body, tenant=self._mapping.tenant)
        verdict = judge_message(message)
        if not verdict.valid:
            raise _InvalidMessageError(verdict.code or ErrorCode.GENERR001, verdict.why)
        self._outbox.keep_message(message)
        known = Known(body["objectUUID"], digest or "", published=trigger_found is not Trigger.DELETE)
        self._state.save_known(store, item_id, known)
        return SentItem(item_id, trigger_found, known.object_uuid)

    def _body(self, trigger_found: Trigger, before: Known | None, work: JSON) -> JSON:
        if trigger_found is Trigger.DELETE and before is not None:
            return {"objectUUID": before.object_uuid}
        if trigger_found is Trigger.UPDATE and before is not None:
            return as_new_version(work, self._new_id(), before.object_uuid)
        return {"objectUUID": self._new_id(), **work}

    def _furthest(self, so_far: Watermark, items: list[JSON]) -> Watermark:
        """The highest modification mark of the items; marks of another type than ``so_far`` are skipped."""
        for item in items:
            mark = resolve(self._mapping.place.modified, item)
            if isinstance(mark, str | int | float) and _beyond(mark, so_far):
                so_far = mark
        return so_far


def _beyond(mark: Watermark, so_far: Watermark) -> bool:
    if so_far == "":
        return True
    if isinstance(mark, str) or isinstance(so_far, str):
        return isinstance(mark, str) and isinstance(so_far, str) and mark > so_far
    return mark > so_far


def _digest(value: JSON) -> str:
    return sha256(msgspec.json.encode(value, order="deterministic")).hexdigest()
