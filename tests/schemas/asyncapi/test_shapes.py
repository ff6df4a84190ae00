"""Documents of many shapes: what is made of their messages, and how it is judged."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

import fastavro
import jsonschema
import pytest

from emulator.rng import Chance, Draws
from schemas.asyncapi.contract import AsyncApiContract
from schemas.asyncapi.declarations import Message
from schemas.asyncapi.mutations import list_mutations
from schemas.asyncapi.peek import walk
from schemas.asyncapi.samples import DeclaredSamples
from schemas.headers import leave_headers_out
from tests.edits import edit
from tests.schemas.asyncapi.documents import SHAPES

NOW = 1_800_000_000.0
MUTATIONS = 3_000


@pytest.fixture(params=SHAPES.values(), ids=SHAPES)
def contract(request: pytest.FixtureRequest) -> AsyncApiContract:
    found: AsyncApiContract = request.param
    return found


def test_every_message_can_be_made_and_is_valid(contract: AsyncApiContract) -> None:
    """Of each kind, from any seed, and none twice."""
    assert isinstance(contract.samples, DeclaredSamples)
    assert contract.samples.undrawn == {}
    assert contract.samples.kinds == contract.kinds
    for seed in range(5):
        made = list(contract.samples.from_seed(seed, now=NOW).stream(60))
        assert all(contract.judge(each.data, now=NOW).valid for each in made)
        if contract.identified:
            seen = [contract.peek(each.data) for each in made]
            assert len({contract.identity(each) for each in seen} - {None}) + sum(
                contract.identity(each) is None for each in seen
            ) == len(made)


def test_the_same_seed_makes_the_same_messages(contract: AsyncApiContract) -> None:
    """Also in another process: nothing but the seed is chance."""
    assert contract.samples is not None
    one, other = (list(contract.samples.from_seed(7, now=NOW).stream(30)) for _ in range(2))
    assert one == other


def test_a_bad_message_has_the_code_that_is_asked_for(contract: AsyncApiContract) -> None:
    """And so has a good one that is spoilt on its way."""
    assert contract.samples is not None
    maker = contract.samples.from_seed(3, now=NOW)
    for code in contract.samples.codes:
        for _ in range(10):
            assert contract.judge(maker.bad(code).data, now=NOW).code == code
    for sample in maker.stream(20):
        for code in contract.changes.codes:
            spoilt = contract.changes.spoil(sample.data, code, Chance(5).draws("mutations"))
            assert spoilt is None or contract.judge(spoilt, now=NOW).code == code


def test_a_message_that_grows_stays_valid(contract: AsyncApiContract) -> None:
    """Until it is too large for the contract; bytes that cannot grow are left alone."""
    assert contract.samples is not None
    for sample in contract.samples.from_seed(3, now=NOW).stream(10):
        grown = contract.changes.grow(sample.data, 5_000)
        assert grown is None or len(leave_headers_out(contract.headers, grown)) == 5_000
        assert grown is None or contract.judge(grown).valid


def test_peek_and_judge_take_any_bytes(contract: AsyncApiContract) -> None:
    """Whatever a client sends: a verdict, and never an exception."""
    draws = Chance(11).draws("mutations")
    assert contract.samples is not None
    good = [each.data for each in contract.samples.from_seed(1, now=NOW).stream(20)]
    strange = [
        b"",
        b"null",
        b"[]",
        b"1e999",
        b'"\\ud800"',
        b'{"a":' * 3_000,
        b"[" * 100_000,
        b"\xff\xfe",
        b"NaN",
    ]
    for raw in good:
        at = draws.randrange(len(raw) + 1)
        strange += [raw[:at], raw[:at] + draws.randbytes(3) + raw[at:], raw + raw]
    for raw in strange:
        contract.peek(raw, "key")
        verdict = contract.judge(raw, now=NOW)
        assert verdict.valid == (verdict.code is None)
        code = verdict.code or contract.failures.unknown
        refused = contract.decorate(raw, code, "why", now=NOW)
        assert contract.undecorate(refused).data == raw
        assert contract.peek(refused).error_code == str(code)


def _mutants(contract: AsyncApiContract, draws: Draws) -> Iterator[Any]:
    """Values of valid messages, each with a rule broken or with something changed."""
    assert contract.samples is not None
    maker = contract.samples.from_seed(9, now=NOW)
    schemas = {
        kind: each.payload for each in contract.declared.messages for kind in each.values or (each.name,)
    }
    while True:
        for kind in contract.samples.kinds:
            value = json.loads(leave_headers_out(contract.headers, maker.message(kind).data))
            broken = [each.apply(value) for each in list_mutations(value, schemas[kind])]
            yield from draws.sample(broken, min(len(broken), 20))
            yield from (edit(value, draws) for _ in range(5))


_FORMATS = {
    "date-time": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z",
    "email": r"[a-z]+@[a-z.]+",
    "uri": r"https://[a-z./0-9]+",
    "uri-reference": r"[a-zA-Z:/.0-9-]*",
    "uuid": r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
}
"""The texts that samples and edits have in these formats: jsonschema checks none without other packages."""


def _validator(message: Message) -> Any:
    schema = message.payload
    kind = jsonschema.validators.validator_for(schema)
    checker = jsonschema.FormatChecker(formats=())
    for name, pattern in _FORMATS.items():
        checker.checks(name)(
            lambda value, pattern=pattern: (
                not isinstance(value, str) or re.fullmatch(pattern, value) is not None
            )
        )
    return kind(schema, format_checker=checker)


JSON = [name for name, each in SHAPES.items() if all(one.content == "json" for one in each.declared.messages)]


@pytest.mark.parametrize("name", JSON)
def test_mutations_are_judged_as_jsonschema_judges_them(name: str) -> None:
    """One validator decides and another one, that others wrote, agrees."""
    contract = SHAPES[name]
    messages = contract.declared.messages
    validators = {each.name: _validator(each) for each in messages}
    named = {value: each.name for each in messages for value in each.values}
    place = contract.declared.type
    judged = {True: 0, False: 0}
    for value in islice(_mutants(contract, Chance(2).draws("mutations")), MUTATIONS):
        if place is not None and place.part == "payload" and len(messages) > 1:
            kind = walk(value, place.steps)
            asked = [validators[named[kind]]] if isinstance(kind, str) and kind in named else []
        else:
            asked = list(validators.values())
        expected = any(each.is_valid(value) for each in asked)
        verdict = contract.judge(json.dumps(value).encode())
        assert verdict.valid == expected, (value, verdict.why)
        judged[expected] += 1
    assert min(judged.values()) > 20


@pytest.mark.parametrize("name", ["avro_binary.yaml", "avro_json.yaml"])
def test_mutations_are_judged_as_fastavro_judges_them(name: str) -> None:
    """What its reader takes is a message, to the last byte, and nothing else is."""
    contract, draws = SHAPES[name], Chance(4).draws("mutations")
    assert contract.samples is not None
    maker = contract.samples.from_seed(9, now=NOW)
    schema = contract.declared.messages[0].payload
    judged = {True: 0, False: 0}
    for _ in range(MUTATIONS):
        raw = bytearray(maker.message().data)
        for _ in range(draws.randint(0, 2)):
            raw[draws.randrange(len(raw))] = draws.randrange(256)
        data = bytes(raw[: draws.choice([len(raw), len(raw), draws.randrange(len(raw))])])
        try:
            if name == "avro_binary.yaml":
                stream = io.BytesIO(data)
                fastavro.schemaless_reader(stream, schema, None)
                expected = stream.tell() == len(data)
            else:
                (read,) = fastavro.json_reader(io.StringIO(data.decode()), schema)
                expected = fastavro.validate(read, schema)
        except Exception:  # noqa: BLE001 -- it raises whatever the bytes led it to
            expected = False
        assert contract.judge(data).valid == expected, data
        judged[expected] += 1
    assert min(judged.values()) > 20


def test_headers_are_judged_where_a_transport_has_them() -> None:
    """An event is known by them, and a stream, which has none, does not refuse it for their lack."""
    contract, raw = SHAPES["binary_events.yaml"], b'{"kwh": 3}'
    headers = {f"cloudEvents:{name}": name for name in ("id", "source")}
    headers |= {"cloudEvents:type": "example.reading", "cloudEvents:specversion": "1.0"}
    assert contract.headers is not None
    sent = contract.headers.write(raw, headers)
    seen = contract.peek(sent)
    assert (seen.message_id, seen.source, seen.message_type) == ("id", "source", "example.reading")
    assert contract.judge(raw).valid
    assert contract.judge(sent).valid
    assert contract.headers.read(sent) == (raw, headers)
    refused = contract.judge(contract.headers.write(raw, {**headers, "cloudEvents:specversion": "0.3"}))
    assert refused.violations[0].path == "$message.header#/cloudEvents:specversion"


def test_what_is_refused_keeps_its_headers() -> None:
    """Its queue may be a stream, which has none: they are in the object around it, and come back with it."""
    contract = SHAPES["binary_events.yaml"]
    assert contract.samples is not None
    sent = contract.samples.from_seed(1, now=NOW).message().data
    refused = contract.decorate(sent, contract.failures.unknown, "why", now=NOW)
    assert contract.peek(refused).message_id == contract.peek(sent).message_id is not None
    assert contract.redrive(refused, now=NOW) == sent
    kept_elsewhere = contract.decorate(sent, contract.oversize, "why", now=NOW, original="s3://bucket/key")
    assert contract.peek(kept_elsewhere).error_code == "oversize"


def test_headers_that_no_channel_carries_are_left_out_of_everything() -> None:
    """The same document on streams alone: neither identity nor samples have any."""
    contract = SHAPES["binary_events.yaml"]
    plain = contract.without_headers
    assert (contract.headers is not None, plain.headers) == (True, None)
    assert plain.by_digest is not None
    assert plain.samples is not None
    assert not plain.samples.from_seed(1, now=NOW).message().data.startswith(b'{"x-sandbox')


def test_events_of_two_sources_may_have_the_same_id() -> None:
    """What tells one from all others is the source and the id, as CloudEvents has it."""
    contract = SHAPES["structured_events.yaml"]
    raw = b'{"specversion":"1.0","id":"1","source":"/%s","type":"example.parcel.came","data":{"to":"a"}}'
    one, other = (contract.peek(raw % depot) for depot in (b"leith", b"oban"))
    assert one.message_id == other.message_id
    assert contract.identity(one) != contract.identity(other)


def test_a_document_names_its_codes_and_where_refused_messages_go() -> None:
    """What it does not name has our names; what is not there is said not to be there."""
    contract = SHAPES["everything.yaml"]
    assert contract.rejects
    assert (contract.expired, contract.expired and contract.expired.queue) == ("E-LATE", "late")
    assert contract.codes["E-FORM"].description == "The record is not complete."
    assert (contract.oversize, contract.oversize.queue, contract.max_bytes) == ("oversize", "refused", 65_536)
    plain = SHAPES["lamps.yaml"]
    assert (plain.rejects, plain.identified, plain.expired) == (False, False, None)
    assert "expired" not in plain.codes


def test_a_part_of_a_sequence_is_known_by_its_place() -> None:
    """And two parts with one id are two messages."""
    contract = SHAPES["everything.yaml"]
    raw = b'{"meta":{"id":"1","run":"r","no":%d,"of":2,"kind":"measured"},"value":1}'
    assert [contract.identity(contract.peek(raw % number)) for number in (1, 2)] == ["r/1", "r/2"]
