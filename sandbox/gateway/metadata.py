"""The Message Gateway of an application: it publishes objects as messages and reads objects of others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from typing import Any

import msgspec

from emulator.channels.kind_registry import KINDS
from emulator.channels.kinds import Broker, Queues
from emulator.clock import Clock
from emulator.rng import new_uuid
from rdss_sandbox.text.timestamps import timestamp
from sandbox.gateway.authorship import Author, MessageClass
from sandbox.gateway.gateway import Gateway, Machine
from sandbox.gateway.next_version import as_new_version
from sandbox.gateway.return_messages import Answers
from sandbox.gateway.settings import GatewaySettings
from sandbox.gateway.triggers import Trigger, trigger
from sandbox.gateway.visibility import confidential
from sandbox.repository import Repository
from schemas.rdss.envelope import read
from schemas.rdss.error_codes import ErrorCode
from schemas.rdss.validation import judge_message

JSON = dict[str, Any]


class NotPublishableError(ValueError):
    """An object or package gives no valid message; the text names the wrong fields."""


class ReadRefusedError(Exception):
    """The answer to a read has an errorCode, or is not a valid message (GENERR001)."""

    def __init__(self, code: str, description: str | None) -> None:
        super().__init__(f"{code}: {description or 'without a description'}")
        self.code = code


@dataclass(frozen=True, slots=True)
class Published:
    """A published message and the objectUUID of the version in it."""

    message_type: str
    message_id: str
    object_uuid: str


class MetadataGateway:
    """Publishes objects; each call blocks until the broker has accepted the message.

    ``read`` also waits for its answer; the other calls expect none. Each raises ``NotPublishableError``
    before anything is sent, and the errors of ``Gateway.send``.
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
        """Publish a new work or item under a new objectUUID."""
        return self._publish("MetadataCreate", {**work, "objectUUID": self._author.new_id()})

    def update(self, work: JSON, previous: str) -> Published:
        """Publish a whole new version under a new objectUUID, as isNewVersionOf ``previous``.

        (Specification, Digital Object Versioning.)
        """
        return self._publish("MetadataUpdate", as_new_version(work, self._author.new_id(), previous))

    def delete(self, object_uuid: str) -> Published:
        """Publish that a work or item is deleted."""
        return self._publish("MetadataDelete", {"objectUUID": object_uuid})

    def changed(self, before: JSON | None, after: JSON) -> Published | None:
        """Publish the message for a change of a work.

        ``before`` has the work's last objectUUID; it is None for a new work. A confidential work is not
        published. A work that becomes public is created; a work that becomes confidential is deleted.
        (Specification, Message Triggers.)
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
        """Publish an event of preservation; ``package`` is an InformationPackage."""
        return self._publish("PreservationEvent", package)

    def read(self, object_uuid: str) -> JSON:
        """Request the object with this objectUUID and wait for the answer.

        Raises ``NoAnswerError`` when none arrives in time, ``ReadRefusedError`` when the answer is an error.
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
        """Send the messages that an earlier call or process could not, and return their number."""
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
            raise NotPublishableError(verdict.why)
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
    """Open the gateway of the settings for the time of the context; ``queues`` are used if given."""
    with ExitStack() as stack:
        opened = queues or stack.enter_context(closing(open_queues(settings, clock)))
        channel = stack.enter_context(closing(opened.channel(settings.send)))
        shards = stack.enter_context(closing(opened.shards(settings.receive)))
        machine = Machine(settings.machine, settings.machine_address)
        answers = Answers(settings.receive, shards, clock, settings.retry_interval)
        yield MetadataGateway(Gateway(channel, repository, clock, machine=machine), answers, settings, clock)


def open_queues(settings: GatewaySettings, clock: Clock) -> Queues:
    """The queues of the settings; the first connection to a broker is made when a channel is opened."""
    broker = Broker(settings.address, settings.region, settings.timeout)
    return KINDS[settings.queue].connect(broker, clock)
