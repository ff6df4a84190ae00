"""Sample messages: valid ones of every type and kind, large ones, and one for each error code.

The same seed gives the same messages in the same order, ids included. The messages
are consistent: an update replaces a created object, a delete names an existing one.

``now`` shifts every timestamp of header and body by the same time and changes nothing
else, so that sizes and intervals stay the same.
"""

from __future__ import annotations

import random
from collections import deque
from typing import TYPE_CHECKING, Any, Final

import msgspec

from schemas.message_timestamps import instant, timestamp_of
from schemas.rdss import MAX_MESSAGE_BYTES, SPECIFICATION_VERSION
from schemas.rdss.catalogue import terms
from schemas.rdss.envelope import serialise
from schemas.rdss.error_codes import ErrorCode
from schemas.rdss.sample_errors import SPOILS, malformed
from schemas.rdss.sample_objects import SampleObjects
from schemas.rdss.sequence import size_in_string

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

JSON = dict[str, Any]

RELEASED: Final = 1_544_522_400.0
"""2018-12-11T10:00:00Z, the day of specification 4.0.0 and the default time of samples."""

_MACHINES: Final = ("gateway.aberwye.example", "192.0.2.17", "2001:db8::17")
_GENERATORS: Final = ("RDSS Sandbox samples", "Simulated repository", "Simulated preservation system")
_TENANTS: Final = (1, 2, 3, 4, 5)
_MIX: Final = (
    ("MetadataCreate",) * 4
    + ("MetadataUpdate",) * 2
    + ("MetadataRead", "MetadataDelete", "PreservationEvent")
)
_LONG_LIFE: Final = 100 * 365 * 86_400_000
# A message has dates eight years back and a hundred ahead; the calendar has the years 1 to 9999.
EARLIEST: Final = instant("0010-01-01T00:00:00Z") or 0.0
LATEST: Final = instant("9899-01-01T00:00:00Z") or 0.0
_PARAGRAPH: Final = 'Measurement of the "reef" — à marée basse, 珊瑚 🐚 at 3 m\\depth.\n'


class Samples:
    """Makes messages from one seed; the first is published at ``now``, in seconds since the epoch.

    Raises ``ValueError`` for a ``now`` before the year 10 or after 9898, since a date in a message could lie
    outside of the calendar.

    >>> Samples(7).message() == Samples(7).message()
    True
    """

    def __init__(self, seed: int, *, now: float = RELEASED) -> None:
        if not EARLIEST <= now <= LATEST:
            raise ValueError("samples are published between the years 10 and 9898")
        self._draws = random.Random(seed)
        self._now = round(now * 1000)
        self._objects = SampleObjects(self._draws, self._now)
        self._made = 0
        self._known: deque[str] = deque(maxlen=1000)
        self._asked: deque[str] = deque(maxlen=100)

    def message(self, message_type: str | None = None, resource_type: str | None = None) -> JSON:
        """Make a valid message of a type and of a resource type, both random by default.

        A MetadataRead with a resource type is an answer. With a resource type alone, the
        message is a MetadataCreate. Raises ``ValueError`` for an unknown type, and for a
        resource type of a message that carries no object.
        """
        if message_type is None:
            message_type = "MetadataCreate" if resource_type else self._draws.choice(_MIX)
        if resource_type is not None and resource_type not in terms("ResourceType"):
            raise ValueError(
                f"{resource_type} is not a resource type; there are {', '.join(terms('ResourceType'))}"
            )
        makers: dict[str, Callable[[str | None], JSON]] = {
            "MetadataCreate": self._create,
            "MetadataUpdate": self._update,
            "MetadataRead": self._read,
        }
        if message_type in makers:
            return makers[message_type](resource_type)
        if message_type not in terms("MessageType"):
            raise ValueError(
                f"{message_type} is not a message type; there are {', '.join(terms('MessageType'))}"
            )
        if resource_type is not None:
            raise ValueError(
                f"a {message_type} carries no object, so it cannot have the resource type {resource_type}"
            )
        if message_type == "MetadataDelete":
            return self._whole("Command", message_type, {"objectUUID": self._existing()})
        return self._whole("Event", message_type, self._objects.package(self._existing()))

    def stream(self, count: int) -> Iterator[JSON]:
        """Make ``count`` valid messages: first one of every resource type and message type, then random."""
        turns: list[tuple[str, str | None]] = [("MetadataCreate", kind) for kind in terms("ResourceType")]
        turns += [(kind, None) for kind in terms("MessageType")[1:]]
        for number in range(count):
            yield self.message(*turns[number]) if number < len(turns) else self.message()

    def big_message(self, parts: int, *, limit: int = MAX_MESSAGE_BYTES) -> JSON:
        """Make a valid message that ``sequence.split`` cuts into exactly ``parts`` parts of ``limit`` bytes.

        Raises ``ValueError`` for a limit that is too low for this number of parts.
        """
        message = self.message("MetadataCreate", "dataset")
        description = {"descriptionValue": "", "descriptionType": "abstract"}
        message["messageBody"]["objectDescription"] = [description]
        room = limit - len(serialise(message | {"messageBody": ""}))
        body_size = int((parts - 0.5) * room) - size_in_string(serialise(message["messageBody"]))
        if body_size < 0:
            raise ValueError(f"a limit of {limit} bytes is too low for a message of {parts} parts")
        paragraph = size_in_string(msgspec.json.encode(_PARAGRAPH)[1:-1])
        description["descriptionValue"] = _PARAGRAPH * max(1, body_size // paragraph)
        return message

    def bad(self, code: ErrorCode) -> bytes:
        """Make a message that ``judge`` refuses with this code; for GENERR003 ``judge`` needs ``now``.

        Raises ``ValueError`` for a code that a message alone cannot cause.
        """
        message = self.message("MetadataCreate", self._draws.choice(("dataset", "software", "article")))
        if code is ErrorCode.GENERR007:
            return malformed(message, self._draws)
        if code not in SPOILS:
            causes = ", ".join([*SPOILS, ErrorCode.GENERR007])
            raise ValueError(f"no message alone can cause {code}; those that one can cause are {causes}")
        self._draws.choice(SPOILS[code])(message)
        return serialise(message)

    def _create(self, resource_type: str | None) -> JSON:
        object_uuid = self._objects.uuid()
        body = self._objects.object(resource_type or self._objects.pick("ResourceType"), object_uuid)
        self._known.append(object_uuid)
        return self._whole("Command", "MetadataCreate", body)

    def _update(self, resource_type: str | None) -> JSON:
        """Make a new version with its own UUID that names the old one ("Digital Object Versioning")."""
        message = self._create(resource_type)
        message["messageHeader"]["messageType"] = "MetadataUpdate"
        previous = {"identifierValue": self._existing(-2), "identifierType": "UUID"}
        message["messageBody"]["objectRelatedIdentifier"] = [
            {"identifier": previous, "relationType": "isNewVersionOf"}
        ]
        return message

    def _read(self, resource_type: str | None) -> JSON:
        if resource_type is None and (not self._asked or self._draws.random() < 0.5):
            request = self._whole("Command", "MetadataRead", {"objectUUID": self._existing()})
            request["messageHeader"]["returnAddress"] = "output"
            self._asked.append(request["messageHeader"]["messageId"])
            return request
        kind = resource_type or self._objects.pick("ResourceType")
        answer = self._whole("Document", "MetadataRead", self._objects.object(kind, self._existing()))
        answer["messageHeader"]["correlationId"] = (
            self._asked.popleft() if self._asked else self._objects.uuid()
        )
        return answer

    def _existing(self, latest: int = -1) -> str:
        """Draw an object created before, up to the index ``latest``; a new UUID where there is none."""
        before = len(self._known) + latest
        return self._known[self._draws.randint(0, before)] if before >= 0 else self._objects.uuid()

    def _whole(self, message_class: str, message_type: str, body: JSON) -> JSON:
        published = self._now + self._made
        self._made += 1
        timings = {"publishedTimestamp": timestamp_of(published)}
        if self._draws.random() < 0.5:
            timings["expirationTimestamp"] = timestamp_of(published + _LONG_LIFE)
        machine = {
            "machineId": "sample-generator",
            "machineAddress": self._draws.choice(_MACHINES),
            "timestamp": timings["publishedTimestamp"],
        }
        header = {
            "messageId": self._objects.uuid(),
            "messageClass": message_class,
            "messageType": message_type,
            "messageTimings": timings,
            "messageSequence": {"sequence": self._objects.uuid(), "position": 1, "total": 1},
            "messageHistory": [machine],
            "version": SPECIFICATION_VERSION,
            "generator": self._draws.choice(_GENERATORS),
            "tenantJiscID": self._draws.choice(_TENANTS),
        }
        return {"messageHeader": header, "messageBody": body}
