"""Building the header of an application's own messages, with ids and times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Required, TypeAlias, TypedDict

from emulator.clock import Clock
from emulator.rng import new_uuid
from rdss_sandbox.text.timestamps import timestamp
from schemas.contract import Code
from schemas.rdss import SPECIFICATION_VERSION
from schemas.rdss.decoration import history_entry

if TYPE_CHECKING:
    from sandbox.gateway.gateway import Machine

JSON = dict[str, Any]
MessageClass: TypeAlias = Literal["Command", "Event", "Document"]


class MessageFields(TypedDict, total=False):
    """What a message has besides its type and its body; ``error`` is the code and text of an error answer."""

    tenant: Required[int]
    message_class: MessageClass
    correlation_id: str | None
    error: tuple[Code, str] | None


@dataclass(frozen=True, slots=True)
class Author:
    """An application that writes messages; ``generator`` is its name in their headers.

    ``machine`` is the first in their history.
    """

    generator: str
    clock: Clock
    new_id: Callable[[], str] = new_uuid
    machine: Machine | None = None

    def message(
        self,
        message_type: str,
        body: JSON,
        *,
        tenant: int,
        message_class: MessageClass = "Command",
        correlation_id: str | None = None,
        error: tuple[Code, str] | None = None,
    ) -> JSON:
        """Build a whole message that is published now, in one part.

        ``error`` is the code and description of an error answer.
        """
        now = self.clock.time()
        header: JSON = {
            "messageId": self.new_id(),
            **({"correlationId": correlation_id} if correlation_id else {}),
            "messageClass": message_class,
            "messageType": message_type,
            "messageTimings": {"publishedTimestamp": timestamp(now)},
            "messageSequence": {"sequence": self.new_id(), "position": 1, "total": 1},
            "version": SPECIFICATION_VERSION,
            "generator": self.generator,
            "tenantJiscID": tenant,
        }
        if error is not None:
            code, why = error
            header |= {"errorCode": str(code), "errorDescription": why or code.description}
        if self.machine is not None:
            header["messageHistory"] = [history_entry(self.machine.id, self.machine.address, now)]
        return {"messageHeader": header, "messageBody": body}
