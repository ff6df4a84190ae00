"""Redaction: nothing personal is left of a message, and the rest is as it was, byte for byte."""

from __future__ import annotations

import base64
import datetime as dt
import json
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from isal.isal_zlib import decompress

from emulator.journal import salvage
from emulator.rng import new_uuid
from extensions.tape.redaction import BadRedactionError, Redactor
from extensions.tape.tape_format import FORMAT
from extensions.tape.tape_writer import TapeWriter
from rdss_sandbox.shapes.tape import TapedMessage, TapeMark
from schemas.contract import Contract
from schemas.personal import list_marked
from schemas.rdss.contract import RDSS
from schemas.rdss.rdss_marks import RdssPersonal
from tests.contracts import list_messages, make_samples
from tests.docs.pages import ROOT
from tests.docs.redaction_page import renew
from tests.parcels import PARCELS
from tests.schemas.asyncapi.documents import SHAPES, load_text

NOW: Final = 1_790_000_000.0
PLANTED: Final = "Qvxzplanted"
"""What all planted values begin with, and no word that is drawn."""
SAMPLES: Final = [each.data for each in make_samples(RDSS, 5, NOW).stream(60)]


def escape(text: str) -> str:
    """A text in JSON with every character of it escaped."""
    units = text.encode("utf-16-be").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


_WAYS: Final[dict[str, Callable[[Any], str]]] = {
    "compact": lambda value: msgspec.json.encode(value).decode(),
    "spaced": json.dumps,
    "indented": lambda value: json.dumps(value, indent=3, ensure_ascii=False),
    "escaped": lambda value: re.sub(
        r'"((?:[^"\\]|\\.)*)"', lambda found: f'"{escape(json.loads(found[0]))}"', json.dumps(value, indent=1)
    ),
}


def take(redactor: Redactor, body: bytes, key: str = "") -> TapedMessage:
    return redactor.redact(TapedMessage(NOW, "input", body, len(body), key))


def redact(redactor: Redactor, body: bytes) -> bytes:
    found = take(redactor, body).body
    assert found is not None
    return found


def walk(value: Any, pointer: str = "") -> Iterator[tuple[str, Any]]:
    """The plain values, with ``*`` for any index."""
    if isinstance(value, dict):
        for name, below in value.items():
            yield from walk(below, f"{pointer}/{name}")
    elif isinstance(value, list):
        for below in value:
            yield from walk(below, f"{pointer}/*")
    else:
        yield pointer, value


@pytest.mark.parametrize("way", _WAYS)
def test_a_message_keeps_its_length_its_form_and_its_validity(way: str) -> None:
    """However its JSON is written: what is no letter and no digit stays where it is."""
    redactor = Redactor(RDSS)
    for sample in SAMPLES:
        raw = _WAYS[way](json.loads(sample)).encode()
        new = redact(redactor, raw)
        assert len(new) == len(raw)
        assert re.sub(rb"[\w\x80-\xff]", b"", new) == re.sub(rb"[\w\x80-\xff]", b"", raw)
        assert RDSS.judge(new) == RDSS.judge(raw)


def test_what_is_marked_is_replaced_and_nothing_else() -> None:
    """The marks are those that the documentation lists."""
    redactor = Redactor(RDSS)
    seen = set()
    for sample in SAMPLES:
        kind = RDSS.peek(sample).message_type
        assert kind is not None
        marked = tuple(list_marked(RdssPersonal().places[kind]))
        pairs = zip(walk(json.loads(sample)), walk(json.loads(redact(redactor, sample))), strict=True)
        for (pointer, old), (_, new) in pairs:
            is_marked = pointer.startswith(marked)
            seen |= {pointer} if is_marked else set()
            assert is_marked or new == old, pointer
            assert not is_marked or new != old or len(str(old)) < 4, pointer
    assert len(seen) > 15


def test_the_same_value_becomes_the_same_however_it_is_written() -> None:
    """So identities, joins and duplicates stay: also across messages, and in the key."""
    redactor = Redactor(RDSS)
    one = next(each for each in SAMPLES if b"personMail" in each)
    body = json.loads(one)["messageBody"]
    mail = next(value for pointer, value in walk(body) if pointer.endswith("personMail"))
    found = [json.loads(redact(redactor, _WAYS[way](json.loads(one)).encode())) for way in (*_WAYS, *_WAYS)]
    assert all(each == found[0] for each in found)
    new = next(value for pointer, value in walk(found[0]["messageBody"]) if pointer.endswith("personMail"))
    assert take(redactor, one, mail).key == new
    assert take(redactor, one, f"mailbox/{mail}/0").key == f"mailbox/{new}/0"


@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
), st.sampled_from([None, 1]))  # fmt: skip
def test_any_json_keeps_its_length_and_its_names(value: Any, indent: int | None) -> None:
    """With everything in it named by a pointer."""
    raw = json.dumps({"x": value}, indent=indent).encode()
    new = redact(Redactor(PARCELS, ["/x"]), raw)
    assert len(new) == len(raw)
    assert [pointer for pointer, _ in walk(json.loads(new))] == [
        pointer for pointer, _ in walk(json.loads(raw))
    ]


def test_a_pointer_names_steps_indexes_and_any_step() -> None:
    """Also of names with a slash; what is beside stays."""
    raw = b'{"a": [{"n": "Alice", "m": "Mary1"}, {"n": "Bobby"}], "b/c": {"d": "Clara", "e": 12345678}}'
    found = json.loads(redact(Redactor(PARCELS, ["/a/*/n", "/b~1c/e"]), raw))
    assert found["a"][0]["m"] == "Mary1"
    assert found["b/c"]["d"] == "Clara"
    assert "Alice" != found["a"][0]["n"]
    assert "Bobby" != found["a"][1]["n"]
    assert len(str(found["b/c"]["e"])) == 8
    only_second = json.loads(redact(Redactor(PARCELS, ["/a/1"]), raw))
    assert [only_second["a"][0]["n"], only_second["a"][1]["n"] == "Bobby"] == ["Alice", False]


def test_an_expression_finds_texts_names_keys_numbers_and_base64() -> None:
    """And the rest of a text stays."""
    redactor = Redactor(PARCELS, patterns=[r"[a-z]+@[a-z.]+", r"\b07\d{9}\b"])
    inside = base64.b64encode(b"to: alice@example.org, thanks").decode()
    raw = json.dumps({"note": "ask alice@example.org now", "bob@example.org": {"x": 1}, "b": inside}).encode()
    found = json.loads(redact(redactor, raw))
    assert re.fullmatch(r"ask \w{5}@\w{7}\.\w{3} now", found["note"])
    assert "alice" not in found["note"]
    assert list(found)[1] != "bob@example.org"
    assert re.fullmatch(rb"to: \w{5}@\w{7}\.\w{3}, thanks", base64.b64decode(found["b"]))
    assert b"alice" not in base64.b64decode(found["b"])
    assert take(redactor, b"{}", "carol@example.org").key != "carol@example.org"


@pytest.mark.parametrize("body", [b"alice@example.org", b'{"a": "alice', b"\xff\xfe", b""])
def test_a_body_that_cannot_be_read_is_left_out(body: bytes) -> None:
    """Its size stays."""
    redactor = Redactor(PARCELS, ["/a"])
    found = take(redactor, body)
    assert not found.body
    assert found.size == len(body)
    assert redactor.left_out == (1 if body else 0)


def test_what_the_contract_does_not_know_is_personal() -> None:
    """A field that is spelt wrong, a value that breaks its rule, a kind of message that there is not."""
    raw = json.loads(next(each for each in SAMPLES if b"MetadataCreate" in each))
    raw["messageBody"]["personMial"] = "alice@example.org"
    raw["messageBody"]["objectResourceType"] = "Alice Liddell"
    raw["messageHeader"]["messageId"] = "alice liddell"
    unknown = {"messageHeader": {"messageType": "AliceCreate"}, "extra": ["Alice"]}
    for message in (raw, unknown):
        body = json.dumps(message).encode()
        new = redact(Redactor(RDSS), body)
        assert b"alice" not in new.lower()
        assert RDSS.judge(new).code == RDSS.judge(body).code


def test_parts_of_a_sequence_make_the_same_message_when_they_are_joined() -> None:
    """Wherever they were cut; a part that comes before the one in front of it is left out."""
    assert RDSS.sequences is not None
    redactor = Redactor(RDSS)
    for sample in SAMPLES[:12]:
        limit = len(sample) // 2
        parts = RDSS.sequences.split(sample, new_id=new_uuid, limit=max(limit, 900))
        new = [redact(redactor, part) for part in parts]
        assert list(map(len, new)) == list(map(len, parts))
        joined = RDSS.sequences.judge_parts(new)
        assert joined.verdict.valid, joined.verdict.why
        if len(parts) > 1:
            assert [redact(redactor, part) for part in parts] == new
            late = Redactor(RDSS)
            assert take(late, parts[1]).body is None


@pytest.mark.parametrize(
    "body", ['{"a": Alice}', '{"a" "Alice": 1}', '["Alice"}', '{"a": "x"} Alice', "{Alice: 1}"]
)
def test_a_part_whose_text_is_no_json_is_left_out(body: str) -> None:
    """Nobody knows what of it is a value."""
    part = json.loads(next(each for each in SAMPLES if b"MetadataCreate" in each))
    part["messageHeader"]["messageSequence"]["total"] = 2
    part["messageBody"] = body
    assert take(Redactor(RDSS), json.dumps(part).encode()).body is None


@pytest.mark.parametrize("name", [name for name in SHAPES if name != "pictures.yaml"])
def test_messages_of_every_shape_stay_valid_and_of_their_kind(name: str) -> None:
    """With everything in them named by a pointer: patterns, formats, bounds, choices, Avro, events."""
    contract = SHAPES[name]
    assert contract.samples is not None
    redactor = Redactor(contract, [""])
    samples = [each.data for each in contract.samples.from_seed(3, now=NOW).stream(60)]
    found = [redact(redactor, each) for each in samples]
    assert all(contract.judge(each).valid for each in found)
    assert [contract.peek(each).message_type for each in found] == [
        contract.peek(each).message_type for each in samples
    ]
    assert sum(map(bytes.__ne__, found, samples)) >= 30


_PEOPLE: Final = """
asyncapi: 3.0.0
info: {title: People, version: 1.0.0}
channels:
  people:
    address: people
    bindings: {amqp: {is: routingKey, exchange: {name: people, type: topic}}}
    messages:
      joined:
        headers:
          type: object
          properties: {who: {type: string, x-sandbox: {personal: true}}, trace: {type: string}}
        payload:
          type: object
          required: [kind, person]
          properties:
            kind: {const: joined}
            person: {$ref: '#/components/schemas/person'}
      counted:
        payload:
          type: object
          required: [kind, byMail]
          properties:
            kind: {const: counted}
            byMail:
              type: object
              propertyNames: {format: email, x-sandbox: {personal: true}}
              additionalProperties: {type: integer}
components:
  schemas:
    person:
      type: object
      x-sandbox: {personal: true}
      properties:
        customer: {type: string, pattern: '^GB-[0-9]{6}$'}
        title: {enum: [Mrs, Mr., Dr.]}
        age: {type: integer, minimum: 18, maximum: 99}
        born: {type: string, format: date}
        partner: {$ref: '#/components/schemas/person'}
"""


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Contract:
    return load_text(tmp_path_factory.mktemp("people"), _PEOPLE)


def test_a_document_marks_what_is_personal(people: Contract) -> None:
    """All in a marked object, also by a reference to itself; patterns, choices and bounds hold."""
    person = {"customer": "GB-004217", "title": "Mrs", "age": 42, "born": "1980-02-29"}
    raw = json.dumps({"kind": "joined", "person": {**person, "partner": person}}).encode()
    redactor = Redactor(people)
    new = redact(redactor, raw)
    assert people.judge(new).valid
    found = json.loads(new)
    assert found["kind"] == "joined"
    assert found["person"]["partner"] == {key: found["person"][key] for key in person}
    assert found["person"]["customer"] != "GB-004217"
    assert found["person"]["title"] in ("Mrs", "Mr.", "Dr.")
    assert 18 <= found["person"]["age"] <= 99
    names = json.loads(redact(redactor, b'{"kind":"counted","byMail":{"alice@example.org":3}}'))["byMail"]
    assert list(names.values()) == [3]
    assert "alice" not in str(names)


def test_headers_of_amqp_are_redacted_beside_the_message(people: Contract) -> None:
    """Those that are marked, and those that the document does not name."""
    assert people.headers is not None
    raw = b'{"kind": "joined", "person": {"customer": "GB-004217"}}'
    text = people.headers.write(raw, {"who": "Alice Liddell", "trace": "t-1", "more": "Liddell"})
    data, headers = people.headers.read(redact(Redactor(people), text))
    assert headers is not None
    assert headers["trace"] == "t-1"
    assert "Liddell" not in str(headers)
    assert b"GB-004217" not in data
    assert people.judge(redact(Redactor(people), text)).valid


def test_a_mark_that_is_spelt_wrong_is_a_problem(tmp_path: Path) -> None:
    """It would leave a value as it is, and say nothing."""
    with pytest.raises(ValueError, match=r"x-sandbox: in a schema this is \{personal: true\}"):
        load_text(
            tmp_path,
            _PEOPLE.replace("x-sandbox: {personal: true}}, trace", "x-sandbox: {personel: true}}, trace"),
        )


def test_avro_is_redacted_by_the_marks_of_its_schema(tmp_path: Path) -> None:
    """And is the same record otherwise, readable as before."""
    schema = {
        "type": "record", "name": "Visit", "fields": [
            {"name": "id", "type": "long"},
            {"name": "who", "type": "string", "x-sandbox": {"personal": True}},
            {"name": "born", "type": {"type": "int", "logicalType": "date"}, "x-sandbox": {"personal": True}},
            {"name": "photo", "type": "bytes", "x-sandbox": {"personal": True}},
        ],
    }  # fmt: skip
    document = {
        "asyncapi": "3.0.0", "info": {"title": "Visits", "version": "1"},
        "channels": {"visits": {"address": "visits", "messages": {"visit": {
            "contentType": "application/avro",
            "payload": {"schemaFormat": "application/vnd.apache.avro;version=1.9.0", "schema": schema},
        }}}},
    }  # fmt: skip
    contract = load_text(tmp_path, json.dumps(document), "visits.json")
    form = contract.personal.form(b"")
    assert form is not None
    assert form.encode is not None
    assert form.decode is not None
    old = {"id": 4711, "who": "Alice Liddell", "born": "1980-02-29", "photo": b"\x89PNG..."}
    raw = form.encode({**old, "born": dt.date(1980, 2, 29)})
    new = form.decode(redact(Redactor(contract), raw))
    assert new["id"] == 4711
    assert re.fullmatch(r"[A-Z][a-z]{4} [A-Z][a-z]{6}", new["who"])
    assert new["who"] != "Alice Liddell"
    assert new["born"] != dt.date(1980, 2, 29)
    assert len(new["photo"]) == len(old["photo"])
    assert new["photo"] != old["photo"]


def plant() -> Iterator[tuple[bytes, str]]:
    """Messages with 2,000 marked values in all, each of its own, and their keys."""
    assert RDSS.sequences is not None
    number = 0

    def value(form: str = "{}") -> str:
        nonlocal number
        number += 1
        return form.format(f"{PLANTED}{number:04}")

    for at, sample in enumerate([each for each in list_messages(RDSS) if b"objectPersonRole" in each] * 20):
        if number >= 2000:
            return
        message = json.loads(sample)
        body, header = message["messageBody"], message["messageHeader"]
        for role in body["objectPersonRole"]:
            role["person"] |= {
                "personGivenNames": value(), "personFamilyNames": value("Mac {}"),
                "personMail": value("{}@example.org"), "personHonorificSuffix": value(),
            }  # fmt: skip
        body["objectDescription"] = [
            {"descriptionType": "abstract", "descriptionValue": value('Said "{}" of\nGröße ') * 3}
        ]
        body["objectKeyword"] = [value(), value("{}\\")]
        header["returnAddress"] = value("https://files.example/{}")
        header["generator"] = base64.b64encode(value("by {}").encode()).decode()
        key = header["returnAddress"] if at % 3 else value("{}")
        way = list(_WAYS)[at % 4]
        raw = _WAYS[way](message).encode()
        yield from ((part, key) for part in (cut(raw) if way == "compact" else [raw]))


def cut(raw: bytes) -> list[bytes]:
    assert RDSS.sequences is not None
    return RDSS.sequences.split(raw, new_id=new_uuid, limit=1_000)


def search(data: bytes) -> Iterable[str]:
    """The ways in which a planted value is in some bytes: as it is, escaped, in base64, also in pieces."""
    halves = (PLANTED[:8], PLANTED[3:], PLANTED)
    for text in halves:
        forms = {text, escape(text), text.encode().hex()}
        # All the characters that the text alone decides: fewer would be met by chance.
        forms |= {
            base64.b64encode(b" " * shift + text.encode()).decode()[
                -(-shift * 4 // 3) : (shift + len(text)) * 4 // 3
            ]
            for shift in range(3)
        }
        yield from (form for form in forms if form.encode() in data)


def unpack(path: Path) -> bytes:
    """The entries of a tape, as they were before they were compressed."""
    written = path.read_bytes()
    return b"".join(
        decompress(written[frame.start : frame.start + frame.length])
        for frame in salvage.blocks(path).kept
        if frame.lines
    )


def test_no_planted_value_is_in_the_file(tmp_path: Path) -> None:
    """Of two thousand: plain, escaped, in base64, in keys, and across the cuts of parts."""
    redactor = Redactor(RDSS, patterns=[rf"{PLANTED}\d+"])
    path = tmp_path / "a.tape"
    messages = list(plant())
    joined = b"".join(raw + key.encode() for raw, key in messages)
    assert set(search(joined))
    with TapeWriter(path, TapeMark(FORMAT, "1", NOW), redactor.redact) as tape:
        for body, key in messages:
            tape.add(TapedMessage(NOW, "input", body, len(body), key))
    assert redactor.left_out == 0
    assert redactor.values > 2000
    entries = unpack(path)
    assert len(entries) > sum(len(raw) for raw, _ in messages)
    assert not list(search(path.read_bytes() + entries))


def test_who_asks_for_nothing_is_told_how_to_ask() -> None:
    """A tape that is called redacted and is not would be worse than none."""
    with pytest.raises(BadRedactionError, match="marks nothing as personal"):
        Redactor(PARCELS)
    with pytest.raises(BadRedactionError, match="customer is no JSON Pointer: one begins with /"):
        Redactor(PARCELS, ["customer"])
    with pytest.raises(BadRedactionError, match=r"\(a is no regular expression"):
        Redactor(PARCELS, patterns=["(a"])


def test_the_page_lists_what_is_personal() -> None:
    """Otherwise: python -m tests.docs.redaction_page docs/redaction.md."""
    page = (ROOT / "docs" / "redaction.md").read_text(encoding="utf-8")
    assert page == renew(page)
