"""The fields of RDSS messages that the sandbox indexes, filters by, shows and writes to tables."""

from __future__ import annotations

from typing import Final

from schemas.fields import Field
from schemas.rdss.error_codes import ErrorCode

_TYPES: Final = ("MetadataCreate", "MetadataRead", "MetadataUpdate", "MetadataDelete", "PreservationEvent")
_CLASSES: Final = ("Command", "Event", "Document")

FIELDS: Final = (
    Field("id", "message_id", "messageId", "identifier", "message_id", "id:3f2a*"),
    Field("correlation", "correlation_id", "correlationId", "identifier", "correlation_id", indexed=False),
    Field("class", "message_class", "messageClass", "text", "message_class", "class:Event", _CLASSES,
          counted=True),
    Field("type", "message_type", "messageType", "text", "message_type", "type:Metadata*", _TYPES,
          counted=True),
    Field("sequence", "sequence", "messageSequence.sequence", "identifier", "sequence", "sequence:9b1d*",
          meaning="the id of the sequence that it is part of"),
    Field("position", "position", "messageSequence.position", "number", "position", "position:2",
          meaning="its position in the sequence, from 1", stored="INT"),
    Field("total", "total", "messageSequence.total", "number", "total", "total>1",
          meaning="the parts of the sequence; 1 for a whole message", stored="INT"),
    Field("tenant", "tenant", "tenantJiscID", "text", "tenant", "tenant:12", summed=True,
          meaning="tenantJiscID; null when it is not readable", stored="BIGINT"),
    Field("version", "version", "version", "text", "version", "version:4.*", counted=True,
          meaning="version of the Message API in the header"),
    Field("code", "code", "errorCode", "text", "error_code", "code:GENERR*", tuple(ErrorCode), counted=True),
    Field("published", "published", "messageTimings.publishedTimestamp", "time", "published", indexed=False,
          meaning="publishedTimestamp; null when it is not a time with a zone", stored="TIMESTAMP"),
    Field("expires", "expires", "messageTimings.expirationTimestamp", "time", "expires", indexed=False,
          stored="TIMESTAMP"),
)  # fmt: skip
