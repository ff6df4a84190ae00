"""What an RDSS message has to be: judge it, read its body, upgrade it, split it, join it, reject it."""

import base64
import hashlib
import json
import os
import re
import uuid
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

from jsonschema import Draft202012Validator
from referencing import Registry, Resource

SCHEMAS = Path(os.environ.get("RDSS_SCHEMAS", Path(__file__).resolve().parents[2] / "schemas/rdss"))
URN = "urn:rdss-sandbox:4.0.0:"
GRAVEST_FIRST = ("GENERR007", "GENERR004", "GENERR010", "GENERR002", "GENERR003", "GENERR001")
MOST_BYTES = 1_000_000


def load(file):
    # "$" of Python also stands before a line feed at the end, "$" of JSON Schema does not.
    return json.loads(file.read_text(encoding="utf-8").replace('$"', '\\\\Z"'))


registry = Registry().with_resources(
    (schema["$id"], Resource.from_contents(schema))
    for schema in map(load, (SCHEMAS / "definitions").glob("*.json"))
)
NAMES = json.loads((SCHEMAS / "vocabulary_3.json").read_text(encoding="utf-8"))


def errors_of(definition, value):
    file, name = definition.split(".")
    schema = {"$ref": f"{URN}{file}#/$defs/{name}"}
    return Draft202012Validator(schema, registry=registry).iter_errors(value)


# Judging


def read(data, joined=False):
    """The message in bytes, in the form of 4.0.0, and the code of its gravest error: None for a valid one.

    ``joined`` says that it was joined of the parts of a sequence.
    """
    try:
        message = json.loads(data)
    except ValueError:
        return None, "GENERR007"
    if not isinstance(message, dict):
        return None, "GENERR007"
    try:
        if is_older(message):
            message = upgrade(message, joined)
    except (LookupError, TypeError, AttributeError):
        return message, "GENERR001"
    return message, judge(message, joined)


def judge(message, joined=False):
    """The code of the gravest error of a message, a dict; None for a valid one."""
    codes = set(codes_of_header(message.get("messageHeader")))
    if message.keys() - {"messageHeader", "messageBody"} or "messageBody" not in message:
        codes.add("GENERR001")
    elif is_part(message) and not joined:
        codes |= set() if isinstance(message["messageBody"], str) else {"GENERR001"}
    elif definition := definition_of_body(message):
        for error in errors_of(definition, message["messageBody"]):
            codes.add("GENERR010" if is_uuid(error) else "GENERR001")
    return min(codes, key=GRAVEST_FIRST.index, default=None)


def codes_of_header(header):
    for error in errors_of("header.Header", header):
        if is_uuid(error):
            yield "GENERR010"
        elif list(error.path) == ["messageType"] and error.validator == "enum":
            yield "GENERR002"
        else:
            yield "GENERR004"
    try:
        if not 1 <= header["messageSequence"]["position"] <= header["messageSequence"]["total"]:
            yield "GENERR004"
        if has_expired(header):
            yield "GENERR003"
    except (KeyError, TypeError, ValueError):
        yield "GENERR004"


def is_uuid(error):
    return error.schema.get("title") == "UUID"


def has_expired(header):
    ends = header["messageTimings"].get("expirationTimestamp")
    return ends is not None and datetime.fromisoformat(ends) < datetime.now(UTC)


def is_part(message):
    try:
        return message["messageHeader"]["messageSequence"]["total"] > 1
    except (KeyError, TypeError):
        return False


def is_older(message):
    header = message.get("messageHeader")
    return isinstance(header, dict) and str(header.get("version")).startswith("3.")


def definition_of_body(message):
    """The definition that the body has to meet; None where the messageType is unknown."""
    header = message.get("messageHeader")
    kind = header.get("messageType") if isinstance(header, dict) else None
    if kind == "MetadataDelete" or (kind == "MetadataRead" and header.get("messageClass") != "Document"):
        return "messages.ObjectReference"
    if kind == "PreservationEvent":
        return "packages.InformationPackage"
    if kind not in ("MetadataCreate", "MetadataUpdate", "MetadataRead"):
        return None
    body = message.get("messageBody")
    resource = body.get("objectResourceType") if isinstance(body, dict) else None
    own = {"dataset": "Dataset", "article": "Article", "thesisDissertation": "ThesisDissertation"}
    return f"objects.{own.get(str(resource), 'ResearchObject')}"


# The body as it is written


def body_text(data):
    """The text of the body in the bytes of a message, as it is written there."""
    text, decode = data.decode(), json.JSONDecoder().raw_decode
    at = text.index("{") + 1
    while True:
        name, at = decode(text, text.index('"', at))
        start = re.compile(r"\s*:\s*").match(text, at).end()
        _, at = decode(text, start)
        if name == "messageBody":
            return text[start:at]


# Sequences


def split(data):
    """The parts of a message that is too large; a retry makes the same parts."""
    message, body = json.loads(data), body_text(data).encode()
    # In a string each quote and backslash of the body takes two bytes: half of the room is always enough.
    room = (MOST_BYTES - len(data) + len(body) - 1000) // 2
    ends = [0]
    while ends[-1] < len(body):
        end = min(ends[-1] + room, len(body))
        while end < len(body) and body[end] & 0xC0 == 0x80:  # never within a character
            end -= 1
        ends.append(end)
    total, header = len(ends) - 1, message["messageHeader"]
    parts = []
    for position, (start, end) in enumerate(pairwise(ends), 1):
        sequence = header["messageSequence"] | {"position": position, "total": total}
        own = uuid.uuid5(uuid.NAMESPACE_OID, f"{header['messageId']}/{position}")
        name = header["messageId"] if position == 1 else str(own)
        part = {
            "messageHeader": header | {"messageId": name, "messageSequence": sequence},
            "messageBody": body[start:end].decode(),
        }
        parts.append(json.dumps(part, ensure_ascii=False, separators=(",", ":")).encode())
    return parts


def join(parts):
    """The bytes of the whole message, from the bytes of all of its parts."""
    messages = sorted(map(json.loads, parts), key=position_of)
    header = json.dumps(messages[0]["messageHeader"], ensure_ascii=False)
    body = "".join(each["messageBody"] for each in messages)
    return f'{{"messageHeader":{header},"messageBody":{body}}}'.encode()


def position_of(message):
    return message["messageHeader"]["messageSequence"]["position"]


# Older versions


def upgrade(message, joined):
    """A message of version 3.x in the form of 4.0.0; of a part the header alone.

    Raises LookupError, TypeError or AttributeError where it has none.
    """
    if is_part(message) and not joined:
        return message | {"messageHeader": {"tenantJiscID": 0} | message["messageHeader"]}
    body = upgrade_value(message["messageBody"])
    roles = [each for each in body.get("objectOrganisationRole", []) if "organisation" in each]
    roles.sort(key=lambda each: each.get("role") != "hostingInstitution")
    tenants = [each["organisation"].get("organisationJiscId") for each in roles]
    tenant = next((each for each in tenants if each is not None), 0)
    header = {"tenantJiscID": tenant} | message["messageHeader"] | {"version": "4.0.0"}
    return message | {"messageHeader": header, "messageBody": body}


def upgrade_value(value):
    if isinstance(value, list):
        return [upgrade_value(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        new_name(name): upgrade_field(name, content, value)
        for name, content in value.items()
        if name != "objectPreservationEvent"
    }


def new_name(name):
    if name in ("objectKeywords", "collectionKeywords", "fileTechnicalAttributes"):
        return name.removesuffix("s")
    return re.sub("Uuid$", "UUID", name)


def upgrade_field(name, content, holder):
    if name == "objectDescription" and isinstance(content, str):
        return [{"descriptionValue": content, "descriptionType": "description"}]
    if name == "filePreservationEvent" and isinstance(content, list):
        return "; ".join(map(event_in_words, content))
    key = name if name != "role" else "person" if "person" in holder else "organisation"
    if key in NAMES and isinstance(content, int):
        return name_of(key, content)
    return upgrade_value(content)


def name_of(key, number):
    found = NAMES[key][number - 1] if number > 0 else None
    if found is None:
        raise LookupError(f"{key} {number} has no name in 4.0.0")
    return found


def event_in_words(event):
    kind = name_of("preservationEventType", event["preservationEventType"])
    details = (event.get("preservationEventValue"), event.get("preservationEventDetail"))
    return ": ".join([kind, *(str(each) for each in details if each)])


# Rejecting


def decorate(data, code):
    """The message with its errorCode, for the error or the invalid queue; its body stays as it is."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    try:
        header, body = json.loads(data)["messageHeader"] | {}, body_text(data)
    except (ValueError, LookupError, TypeError, AttributeError):
        header, body = new_header(data, now), json.dumps(raw_body(data))
    entry = {"machineId": "example-consumer", "machineAddress": "localhost", "timestamp": now}
    header["messageHistory"] = [*header.get("messageHistory", []), entry]
    header |= {"errorCode": code, "errorDescription": f"The consumer rejected the message with {code}."}
    return f'{{"messageHeader":{json.dumps(header)},"messageBody":{body}}}'.encode()


def new_header(data, now):
    """A header for bytes that are not JSON: with the messageId that can be found in them."""
    found = re.search(rb'"messageId"\s*:\s*"([0-9a-f-]{36})"', data)
    name = (
        found[1].decode() if found else str(uuid.uuid5(uuid.NAMESPACE_OID, hashlib.sha256(data).hexdigest()))
    )
    return {
        "messageId": name,
        "messageTimings": {"publishedTimestamp": now},
        "messageSequence": {"sequence": name, "position": 1, "total": 1},
        "version": "4.0.0",
        "generator": "example-consumer",
    }


def raw_body(data):
    try:
        return {"raw": data.decode()}
    except UnicodeDecodeError:
        return {"rawBase64": base64.b64encode(data).decode()}
