"""What is understood of a document, and what is said of a bad one."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import yaml

from emulator.rng import Chance
from schemas.asyncapi.around import write_headers
from schemas.asyncapi.declarations import Exchange, Stream
from schemas.asyncapi.description import describe
from schemas.asyncapi.fields import MOST_INDEXED
from schemas.asyncapi.problems import BadDocumentError
from tests.edits import edit
from tests.schemas.asyncapi.documents import FOLDER, ORDERS, ORDERS_TEXT, SHAPES, load_text

PLACED = b'{"event":"placed","order":{"id":"o-1"},"until":"2026-01-01T00:00:00Z","amount":3}'


def _problems(folder: Path, text: str, name: str = "asyncapi.yaml") -> dict[str, str]:
    with pytest.raises(BadDocumentError) as caught:
        load_text(folder, text, name)
    return {problem.file + problem.pointer: problem.sentence for problem in caught.value.problems}


def test_channels_and_their_bindings() -> None:
    """Who makes streams and exchanges of a document finds all that it says of them."""
    orders, refused = ORDERS.channels
    assert (orders.name, orders.address, orders.messages) == ("orders", "shop/orders", ("placed", "gone"))
    assert orders.stream == Stream(2, "PROVISIONED", 2048)
    assert orders.amqp is not None
    assert orders.amqp.exchange == Exchange("shop", "topic")
    assert (refused.stream, refused.amqp, refused.messages) == (None, None, ())


def test_messages_are_told_apart_by_what_only_one_of_them_says() -> None:
    """A constant is enough: the document needs no word of ours for it."""
    contract = ORDERS
    assert contract.kinds == ("placed", "gone", "lost")
    seen = contract.peek(PLACED)
    assert (seen.message_id, seen.message_type, seen.amount) == ("o-1", "placed", 3)
    assert contract.judge(PLACED).valid


TOO_LARGE = bytes(2_100_000)


@pytest.mark.parametrize(
    ("raw", "code", "path"),
    [
        (b"{", "malformed", ""),
        (b"[]", "unknown-type", "/event"),
        (b'{"event":"burnt"}', "unknown-type", "/event"),
        (b'{"event":"gone","order":{"id":"z"}}', "invalid", "/order/id"),
        (b'{"event":"lost","order":{}}', "invalid", "/order/id"),
        (TOO_LARGE, "oversize", ""),
        (PLACED, "expired", "/until"),
    ],
    ids=["cut", "array", "unknown", "bad-id", "lost", "oversize", "expired"],
)
def test_a_verdict_names_the_code_and_the_place(raw: bytes, code: str, path: str) -> None:
    """And the code goes to the channel that the document names for what is refused."""
    verdict = ORDERS.judge(raw, now=2e9)
    assert verdict.code is not None
    assert (verdict.code, verdict.code.queue, verdict.violations[0].path) == (code, "refused", path)


def test_a_refused_message_is_given_back_as_it_was() -> None:
    """Whatever its bytes are; and what it says of itself can still be read."""
    contract = ORDERS
    code = contract.codes["invalid"]
    for raw in (PLACED, b" {} ", b"no JSON", b"\xff\x00", b""):
        refused = contract.decorate(raw, code, "so it is", now=1.0)
        assert contract.undecorate(refused)[:2] == (raw, "so it is")
        assert contract.redrive(refused, now=2.0) == raw
        assert contract.peek(refused).error_code == "invalid"
    assert contract.peek(contract.decorate(PLACED, code, "", now=1.0)).message_id == "o-1"


def test_a_document_of_version_2_is_refused_with_the_tool_that_converts_it(tmp_path: Path) -> None:
    """AsyncAPI has one, and says how it is run."""
    found = _problems(tmp_path, "asyncapi: 2.6.0\ninfo: {title: a, version: '1'}\nchannels: {}\n")
    assert list(found) == ["/asyncapi"]
    assert "asyncapi convert" in found["/asyncapi"]


def test_all_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    """Each with the place where it is, also in a file beside the document."""
    (tmp_path / "other.yaml").write_text("type: objekt\nproperties: {a: {minimum: low}}\n")
    found = _problems(
        tmp_path,
        """
asyncapi: 3.0.0
info: {title: Bad}
chanels: {}
channels:
  a:
    bindings: {x-kinesis: {shards: none, mode: BOTH}, amqp: {is: topic}}
    messages:
      b: {$ref: '#/components/messages/none'}
      c: {payload: {$ref: other.yaml}}
      d: {payload: {$ref: 'https://example.com/d.json'}}
      e: {payload: {schemaFormat: application/vnd.google.protobuf;version=3, schema: message}}
      f: {payload: {type: object}, correlationId: {location: id}}
      g: {payload: {properties: {x: {$ref: ../../etc/passwd}}}}
""",
    )
    assert set(found) == {
        "/info",
        "/chanels",
        "/channels/a/bindings/x-kinesis/shards",
        "/channels/a/bindings/x-kinesis/mode",
        "/channels/a/bindings/amqp/is",
        "/channels/a/messages/b/$ref",
        "other.yaml/type",
        "other.yaml/properties/a/minimum",
        "/channels/a/messages/d/payload/$ref",
        "/channels/a/messages/e/payload/schema",
        "/channels/a/messages/f/correlationId/location",
        "/channels/a/messages/g/payload/properties/x/$ref",
    }
    assert "channels" in found["/chanels"]
    assert "network" in found["/channels/a/messages/d/payload/$ref"]


def test_files_near_the_document_are_read(tmp_path: Path) -> None:
    """And theirs, each as seen from its own place, in a folder beside it too."""
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "m.json").write_text(
        '{"name": "m", "payload": {"$ref": "../p.json#/definitions/p"}}'
    )
    (tmp_path / "p.json").write_text(
        '{"definitions": {"p": {"$ref": "#/definitions/q"}, "q": {"type": "array"}}}'
    )
    contract = load_text(
        tmp_path,
        "asyncapi: 3.1.0\ninfo: {title: a, version: '1'}\n"
        "channels: {c: {messages: {m: {$ref: parts/m.json}}}}\n",
    )
    assert contract.judge(b"[]").valid
    assert not contract.judge(b"{}").valid


def test_a_type_of_an_avro_file_is_referred_to_by_its_name(tmp_path: Path) -> None:
    """As AsyncAPI's tools do, for Avro has no pointers; of one that is not there, it is said which are."""
    shutil.copy(FOLDER / "parts" / "invoice.avsc", tmp_path)
    text = (
        "asyncapi: 3.0.0\ninfo: {title: a, version: '1'}\nchannels: {c: {messages: {m: {payload: "
        "{schemaFormat: application/vnd.apache.avro;version=1.9.0, schema: {$ref: 'invoice.avsc#/%s'}}}}}}\n"
    )
    for name in ("Customer", "shop.Customer"):
        assert load_text(tmp_path, text % name).declared.messages[0].payload["type"] == "record"
    assert load_text(tmp_path, text % "Invoice").declared.messages[0].payload["name"] == "shop.Invoice"
    (said,) = _problems(tmp_path, text % "Order").values()
    assert said.endswith("leads nowhere: the types there are Invoice, State, Customer, Key")


@pytest.mark.parametrize(
    "schema_format",
    [
        "application/vnd.aai.asyncapi+json;version=3.0.0",
        "application/schema+json",
        "application/schema+yaml;version=2020-12",
    ],
)
def test_a_schema_says_which_schemas_it_is_of(tmp_path: Path, schema_format: str) -> None:
    """AsyncAPI's own are JSON Schema's, and one without a version is of the usual draft."""
    text = (
        "asyncapi: 3.0.0\ninfo: {title: a, version: '1'}\nchannels: {c: {messages: {m: {payload: "
        f"{{schemaFormat: {schema_format}, schema: {{type: array}}}}}}}}}}}}\n"
    )
    contract = load_text(tmp_path, text)
    assert (contract.judge(b"[]").valid, contract.judge(b"{}").valid) == (True, False)


def test_a_message_has_what_its_traits_have(tmp_path: Path) -> None:
    """What it says itself counts before them, and the later trait before the earlier."""
    contract = load_text(
        tmp_path,
        """
asyncapi: 3.0.0
info: {title: Traits, version: '1'}
channels:
  c:
    messages:
      m:
        traits:
          - {name: first, contentType: text/plain, correlationId: {location: '$message.payload#/a'}}
          - {correlationId: {location: '$message.payload#/b'}}
        name: own
        contentType: application/json
        payload: {type: object}
""",
    )
    assert contract.kinds == ("own",)
    assert contract.peek(b'{"a": "1", "b": "2"}').message_id == "2"


def test_a_trait_in_another_file_refers_from_there(tmp_path: Path) -> None:
    """Where the message stands does not change what its traits mean."""
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "traits.yaml").write_text(
        "common: {headers: {type: object, properties: {v: {$ref: '#/version'}}}}\nversion: {type: integer}\n"
    )
    contract = load_text(
        tmp_path,
        "asyncapi: 3.0.0\ninfo: {title: a, version: '1'}\n"
        "channels: {c: {messages: {m: {payload: {type: array}, "
        "traits: [{$ref: 'parts/traits.yaml#/common'}]}}}}\n",
    )
    assert contract.judge(write_headers(b"[]", {"v": 1})).valid
    assert not contract.judge(write_headers(b"[]", {"v": "one"})).valid


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[",
        "- 1",
        "asyncapi: [3]",
        "asyncapi: 3.0.0",
        "asyncapi: 3.0.0\nchannels: {$ref: '#/channels'}",
        "asyncapi: 3.0.0\nchannels: {a: {$ref: '#/channels/b'}, b: {$ref: '#/channels/a'}}",
        "a: &a [*a]",
        "a: !!python/object:os.system {}",
        "a: .nan",
        "[" * 5_000,
        '{"asyncapi": ' + '{"a":' * 5_000,
        ("a: &a [1,1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\n"
        "d: &d [*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e]\n"
        "g: &g [*e,*e,*e,*e,*e,*e,*e,*e]\nh: [*g,*g,*g,*g,*g,*g,*g,*g]\n"),
        "x" * (5 << 20),
    ],
)  # fmt: skip
def test_what_is_no_document_gets_a_sentence(tmp_path: Path, text: str) -> None:
    """Deep, circular, huge or of another kind: never a traceback."""
    assert all(len(sentence) > 10 for sentence in _problems(tmp_path, text).values())


def test_a_file_that_is_not_there_gets_a_sentence(tmp_path: Path) -> None:
    """As every other thing that is wrong."""
    from schemas.asyncapi.load import load_contract

    with pytest.raises(BadDocumentError, match="cannot be read"):
        load_contract(tmp_path / "none.yaml")


@pytest.mark.parametrize("name", SHAPES)
def test_a_document_with_anything_anywhere_gets_sentences(tmp_path: Path, name: str) -> None:
    """Or is a contract still, which judges whatever comes."""
    draws = Chance(8).draws(name)
    shutil.copytree(FOLDER, tmp_path, dirs_exist_ok=True)
    document = yaml.safe_load((FOLDER / name).read_text())
    outcomes = set()
    for _ in range(40):
        changed = document
        for _ in range(draws.randint(1, 4)):
            changed = edit(changed, draws)
        try:
            contract = load_text(tmp_path, json.dumps(changed), "changed.json")
        except BadDocumentError as error:
            outcomes |= {"refused" for problem in error.problems if problem.sentence}
        else:
            contract.peek(b"{}", "key")
            contract.judge(b"{}", now=1.0)
            describe(contract)
            outcomes.add("read")
    assert "refused" in outcomes


@pytest.mark.parametrize("size", [1_023, 10_241])
def test_a_record_is_as_large_as_aws_allows(tmp_path: Path, size: int) -> None:
    """1,024 KiB at least, and 10,240 at most."""
    (said,) = _problems(tmp_path, ORDERS_TEXT.replace("2048", str(size))).values()
    assert said == "this must be from 1,024 to 10,240"


def test_fields_that_the_index_leaves_out_are_read_when_they_are_asked_for(tmp_path: Path) -> None:
    """Faults match by them, and tables have columns of them: of whatever type."""
    properties = {f"f{number}": {"type": "string"} for number in range(MOST_INDEXED)}
    properties |= {"deep": {"type": "boolean"}, "size": {"type": "integer"}}
    document = {
        "asyncapi": "3.0.0",
        "info": {"title": "a", "version": "1"},
        "channels": {"c": {"messages": {"m": {"payload": {"type": "object", "properties": properties}}}}},
    }
    contract = load_text(tmp_path, json.dumps(document))
    seen = contract.peek(b'{"f0": "a", "deep": true, "size": 3}')
    assert [each.attribute for each in contract.fields if not each.indexed] == ["deep", "payload_size"]
    assert (seen.f0, seen.f1, seen.deep, seen.payload_size) == ("a", None, "true", 3)
    assert contract.peek(b'{"f0": 1, "deep": 2}').deep == "2"
