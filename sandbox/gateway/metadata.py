"""The Message Gateway of an application: objects go in, messages out, and what was asked for comes back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from typing import Any

import msgspec

from emulator.clock import Clock
from emulator.rng import new_uuid
from rdss_sandbox.timestamps import timestamp
from sandbox.gateway.answers import Answers
from sandbox.gateway.authorship import Author, MessageClass
from sandbox.gateway.gateway import Gateway, Machine
from sandbox.gateway.next_version import as_new_version
from sandbox.gateway.queues import Queues, open_queues
from sandbox.gateway.settings import GatewaySettings
from sandbox.gateway.triggers import Trigger, trigger
from sandbox.gateway.visibility import confidential
from sandbox.repository import Repository
from schemas.envelope import read
from schemas.error_codes import ErrorCode
from schemas.validation import judge_message

JSON = dict[str, Any]


class NotPublishableError(ValueError):
    """An object, or a package, that makes no valid message; the text says which fields are wrong."""


class ReadRefusedError(Exception):
    """The answer to a read is an error, by its errorCode and errorDescription, or no message (GENERR001)."""

    def __init__(self, code: str, description: str | None) -> None:
        super().__init__(f"{code}: {description or 'without a description'}")
        self.code = code


@dataclass(frozen=True, slots=True)
class Published:
    """What went out: the message, and the object's UUID in this version."""

    message_type: str
    message_id: str
    object_uuid: str


class MetadataGateway:
    """Calls block until the broker has taken the message, and a read until its answer has come.

    All but ``read`` are fire and forget. Each raises ``NotPublishableError`` before anything is sent, and as
    ``Gateway.send`` does.
    """

    def __init__(
        self,
        gateway: Gateway,
        answers: Answers,
        settings: GatewaySettings,
        clock: Clock,
        *,
        new_id: Callable[[], str] = new_uuid,
    ) -> None:
        self._gateway = gateway
        self._answers = answers
        self._settings = settings
        self._author = Author(settings.generator, clock, new_id)

    def create(self, work: JSON) -> Published:
        """Publish a work or item that is new, under an objectUUID of its own."""
        return self._publish("MetadataCreate", {**work, "objectUUID": self._author.new_id()})

    def update(self, work: JSON, previous: str) -> Published:
        """Publish a new version, whole, under an objectUUID of its own, as isNewVersionOf ``previous``.

        (Specification, Digital Object Versioning.)
        """
        return self._publish("MetadataUpdate", as_new_version(work, self._author.new_id(), previous))

    def delete(self, object_uuid: str) -> Published:
        """Say that a work or item is to be seen no longer."""
        return self._publish("MetadataDelete", {"objectUUID": object_uuid})

    def changed(self, before: JSON | None, after: JSON) -> Published | None:
        """Publish what a change of a work calls for; ``before`` has its last objectUUID, None for a new work.

        A confidential work is not published, one that becomes public is created, one that becomes
        confidential deleted. (Specification, Message Triggers.)
        """
        was_public = before is not None and not confidential(before)
        previous = "" if before is None else str(before["objectUUID"])
        match trigger(was_public=was_public, is_public=not confidential(after)):
            case Trigger.CREATE:
                return self.create(after)
            case Trigger.UPDATE:
                return self.update(after, previous)
            case Trigger.DELETE:
                return self.delete(previous)
        return None

    def preservation_event(self, package: JSON) -> Published:
        """Tell what became of an object in preservation; ``package`` is an InformationPackage."""
        return self._publish("PreservationEvent", package)

    def read(self, object_uuid: str) -> JSON:
        """The object of that UUID, as whoever has it answers.

        Raises ``NoAnswerError`` when nobody does in time, ``ReadRefusedError`` when the answer is an error.
        """
        timeout = self._settings.timeout
        request = self._message("MetadataRead", {"objectUUID": object_uuid})
        header = request["messageHeader"]
        header["messageTimings"]["expirationTimestamp"] = timestamp(self._author.clock.time() + timeout)
        header["returnAddress"] = self._settings.receive
        self._send(request)
        answer = self._answers.wait(header["messageId"], timeout)
        return _body(answer)

    def flush(self) -> int:
        """Send what an earlier call, or process, could not; how many messages went."""
        return self._gateway.flush()

    def _publish(self, message_type: str, body: JSON) -> Published:
        message = self._message(message_type, body)
        self._send(message)
        return Published(message_type, message["messageHeader"]["messageId"], str(body["objectUUID"]))

    def _message(self, message_type: str, body: JSON) -> JSON:
        message_class: MessageClass = "Event" if message_type == "PreservationEvent" else "Command"
        tenant = self._settings.tenant
        return self._author.message(message_type, body, tenant=tenant, message_class=message_class)

    def _send(self, message: JSON) -> None:
        verdict = judge_message(message)
        if not verdict.valid:
            said = (f"{violation.path}: {violation.message}" for violation in verdict.violations[:10])
            raise NotPublishableError("; ".join(said))
        self._gateway.send(message)


def _body(answer: bytes) -> JSON:
    try:
        envelope = read(answer)
    except msgspec.MsgspecError as error:
        raise ReadRefusedError(ErrorCode.GENERR001, str(error)) from error
    if envelope.header.error_code is not None:
        raise ReadRefusedError(envelope.header.error_code, envelope.header.error_description)
    return msgspec.json.decode(envelope.body, type=JSON)


@contextmanager
def open_gateway(
    settings: GatewaySettings, repository: Repository, clock: Clock, queues: Queues | None = None
) -> Iterator[MetadataGateway]:
    """The gateway that the settings describe, while the context lasts; ``queues`` are any open already."""
    with ExitStack() as stack:
        opened = queues or stack.enter_context(closing(open_queues(settings, clock)))
        channel = stack.enter_context(closing(opened.channel(settings.send)))
        shards = stack.enter_context(closing(opened.shards(settings.receive)))
        machine = Machine(settings.machine, settings.machine_address)
        answers = Answers(settings.receive, shards, clock, settings.retry_interval)
        yield MetadataGateway(Gateway(channel, repository, clock, machine=machine), answers, settings, clock)
