"""What ``judge`` says about messages: valid or not, which code, which field."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from schemas.contract import MOST_FOUND, MOST_NAMED, Verdict
from schemas.rdss.catalogue import reference
from schemas.rdss.envelope import serialise
from schemas.rdss.error_codes import ErrorCode
from schemas.rdss.samples import Samples
from schemas.rdss.sequence import split
from schemas.rdss.validation import PRECEDENCE, VALID, is_valid, judge, judge_message

if TYPE_CHECKING:
    from collections.abc import Callable

NOW = 1_600_000_000.0
BAD_UUID = "0A021CF3-FA5F-4B86-AB09-634BD5DE1ABD"


def paths(verdict: Verdict) -> set[str]:
    return {violation.path for violation in verdict.violations}


def spoil_header(message: dict[str, Any]) -> None:
    del message["messageHeader"]["generator"]


def spoil_uuid(message: dict[str, Any]) -> None:
    message["messageHeader"]["correlationId"] = BAD_UUID


def spoil_body_uuid(message: dict[str, Any]) -> None:
    message["messageBody"]["objectUUID"] = BAD_UUID


def spoil_type(message: dict[str, Any]) -> None:
    message["messageHeader"]["messageType"] = "VocabularyRead"


def spoil_expiry(message: dict[str, Any]) -> None:
    message["messageHeader"]["messageTimings"]["expirationTimestamp"] = "2018-12-12T00:00:00Z"


def spoil_body(message: dict[str, Any]) -> None:
    message["messageBody"]["objectTitle"] = ""


SPOILS: dict[ErrorCode, tuple[Callable[[dict[str, Any]], None], ...]] = {
    ErrorCode.GENERR004: (spoil_header,),
    ErrorCode.GENERR010: (spoil_uuid, spoil_body_uuid),
    ErrorCode.GENERR002: (spoil_type,),
    ErrorCode.GENERR003: (spoil_expiry,),
    ErrorCode.GENERR001: (spoil_body,),
}


@pytest.mark.parametrize("as_published", [False, True])
@pytest.mark.parametrize("code", list(SPOILS))
def test_of_several_faults_the_gravest_gives_the_code(code: ErrorCode, *, as_published: bool) -> None:
    """A message with one fault, and with every fault that is less grave on top, gets the same code."""
    for spoil in SPOILS[code]:
        message = Samples(3).message("MetadataCreate", "dataset")
        spoil(message)
        assert judge(serialise(message), now=NOW, as_published=as_published).code is code
        for lesser in PRECEDENCE[PRECEDENCE.index(code) + 1 :]:
            SPOILS[lesser][-1](message)
            assert judge(serialise(message), now=NOW, as_published=as_published).code is code, (code, lesser)


def test_of_twenty_thousand_faults_the_first_are_found_and_the_gravest() -> None:
    """The rest is not looked for, but for a UUID, whose code is graver."""
    message = Samples(3).message("MetadataCreate", "dataset")
    message["messageBody"]["objectFile"] = [{"a": number} for number in range(20_000)]
    verdict = judge(serialise(message))
    assert (verdict.code, len(verdict.violations)) == (ErrorCode.GENERR001, MOST_FOUND)
    assert verdict.sentences()[-1] == f"and at least {MOST_FOUND - MOST_NAMED} more"
    message["messageBody"]["objectFile"].append({"fileUUID": "no UUID"})
    assert judge(serialise(message)).code is ErrorCode.GENERR010


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"{}}",
        b"[]",
        b"null",
        b'"text"',
        b"7",
        b"{'a':1}",
        b"\xef\xbb\xbf{}",
        "{}".encode("utf-16"),
        b'{"messageHeader":{"messageId":"\xff"}}',
        b'{"a":NaN}',
        b'{"a":"\\ud800"}',
        b"[" * 200_000,
        b'{"a":1e999}',
    ],
)
def test_what_is_no_json_object_is_malformed(raw: bytes) -> None:
    """GENERR007 before all else: not JSON, not UTF-8, not an object, or beyond what any reader agrees on."""
    verdict = judge(raw)
    assert (verdict.valid, verdict.code) == (False, "GENERR007")
    assert [violation.path for violation in verdict.violations] == [""]


def test_a_top_level_field_given_twice_is_malformed(message: dict[str, Any]) -> None:
    """Readers would not agree which header counts; the same name inside of a title is no harm."""
    raw = serialise(message)
    twice = raw[:-1] + b',"messageHeader":{}}'
    assert judge(twice).code == "GENERR007"
    assert "messageHeader is given twice" in judge(twice).violations[0].message
    message["messageBody"]["objectKeyword"] = ["messageHeader", "messageBody"]
    assert judge(serialise(message)) == VALID


@pytest.mark.parametrize(
    ("change", "code", "path"),
    [
        (lambda m: m.pop("messageHeader"), "GENERR004", "/messageHeader"),
        (lambda m: m.update(messageHeader=[]), "GENERR004", "/messageHeader"),
        (lambda m: m.pop("messageBody"), "GENERR001", "/messageBody"),
        (lambda m: m.update(messageBody="text"), "GENERR001", "/messageBody"),
        (lambda m: m.update(messageBody=None), "GENERR001", "/messageBody"),
        (lambda m: m.update({"a/b~c": 1}), "GENERR001", "/a~1b~0c"),
        (lambda m: m["messageHeader"].pop("messageId"), "GENERR004", "/messageHeader/messageId"),
        (lambda m: m["messageHeader"].update(messageId=5), "GENERR010", "/messageHeader/messageId"),
        (lambda m: m["messageHeader"].pop("messageType"), "GENERR004", "/messageHeader/messageType"),
        (lambda m: m["messageHeader"].update(messageType="Error"), "GENERR002", "/messageHeader/messageType"),
        (lambda m: m["messageHeader"].update(tenantJiscID=1.5), "GENERR004", "/messageHeader/tenantJiscID"),
        (lambda m: m["messageHeader"].update(tenantJiscID=True), "GENERR004", "/messageHeader/tenantJiscID"),
        (lambda m: m["messageHeader"].update(version="4.0"), "GENERR004", "/messageHeader/version"),
        (lambda m: m["messageHeader"].update(extra=1), "GENERR004", "/messageHeader/extra"),
        (
            lambda m: m["messageHeader"]["messageSequence"].update(sequence="x"),
            "GENERR010",
            "/messageHeader/messageSequence/sequence",
        ),
        (
            lambda m: m["messageHeader"]["messageHistory"][0].update(machineAddress=" "),
            "GENERR004",
            "/messageHeader/messageHistory/0/machineAddress",
        ),
        (
            lambda m: m["messageBody"]["objectPersonRole"][0]["person"].update(
                personUUID=BAD_UUID.lower() + "\n"
            ),
            "GENERR010",
            "/messageBody/objectPersonRole/0/person/personUUID",
        ),
        (
            lambda m: m["messageBody"].update(unknown=[{"fileUUID": "x"}]),
            "GENERR010",
            "/messageBody/unknown/0/fileUUID",
        ),
        (lambda m: m["messageBody"].pop("objectUUID"), "GENERR001", "/messageBody/objectUUID"),
        (
            lambda m: m["messageBody"]["objectRights"]["access"][0].update(accessType="Open"),
            "GENERR001",
            "/messageBody/objectRights/access/0/accessType",
        ),
        (
            lambda m: m["messageBody"]["objectKeyword"].extend(["again", "again"]),
            "GENERR001",
            "/messageBody/objectKeyword/",
        ),
        (lambda m: m["messageBody"].update(version=""), "GENERR001", "/messageBody/version"),
    ],
)
def test_a_violation_names_the_field_at_fault(
    message: dict[str, Any], change: Callable[[dict[str, Any]], object], code: str, path: str
) -> None:
    """The code follows from the field, and no other field is blamed."""
    change(message)
    verdict = judge(serialise(message))
    assert verdict.code == code
    named = paths(verdict)
    assert any(found == path or (path.endswith("/") and found.startswith(path)) for found in named), named
    assert len(named) <= 2, named


def test_violations_say_which_value_and_what_was_expected(message: dict[str, Any]) -> None:
    """Enough to repair the message without the schema at hand."""
    message["messageHeader"]["messageTimings"]["publishedTimestamp"] = "2018-12-11"
    message["messageBody"]["objectResourceType"] = "datset"
    message["messageBody"]["objectTitle"] = 7
    told = {violation.path: violation for violation in judge(serialise(message)).violations}
    published = told["/messageHeader/messageTimings/publishedTimestamp"]
    assert published.rule == "format"
    assert '"2018-12-11" is not an RFC 3339 time' in published.message
    assert "did you mean dataset?" in told["/messageBody/objectResourceType"].message
    assert told["/messageBody/objectTitle"].message == "7 is not a string"


def test_a_thesis_that_lacks_its_award_is_told_so() -> None:
    """The branch that the resource type names explains, not all four of them."""
    message = Samples(3).message("MetadataCreate", "thesisDissertation")
    message["messageBody"]["objectDate"].pop()
    message["messageBody"]["objectDate"][0]["dateType"] = "created"
    verdict = judge(serialise(message))
    assert [(v.path, v.rule) for v in verdict.violations] == [("/messageBody/objectDate", "contains")]
    assert "dateType awarded" in verdict.violations[0].message


@pytest.mark.parametrize("code", [ErrorCode.GENERR001, ErrorCode.GENERR004])
def test_a_value_is_shown_in_brief(message: dict[str, Any], code: ErrorCode) -> None:
    """A megabyte of nonsense in one field does not make a megabyte of explanation."""
    part = "messageBody" if code is ErrorCode.GENERR001 else "messageHeader"
    message[part]["objectTitle" if code is ErrorCode.GENERR001 else "version"] = ["x" * 1_000_000]
    message[part]["objectValue" if code is ErrorCode.GENERR001 else "messageClass"] = "x" * 1_000_000
    assert sum(len(violation.message) for violation in judge(serialise(message)).violations) < 1_000


class TestExpiry:
    @pytest.mark.parametrize(
        ("now", "code"), [(None, None), (1_544_572_800.0, None), (1_544_572_800.001, "GENERR003")]
    )
    def test_a_message_expires_after_its_moment(
        self, message: dict[str, Any], now: float | None, code: str | None
    ) -> None:
        """At the expiration timestamp it still counts, after it no more; without a clock it is not asked."""
        spoil_expiry(message)
        assert judge(serialise(message), now=now).code == code

    def test_a_part_expires_as_well(self, message: dict[str, Any]) -> None:
        """A part is judged by its header, and that includes the expiry."""
        spoil_expiry(message)
        part = split(message, limit=1_500, new_id=BAD_UUID.lower)[0]
        assert judge(part, now=NOW).code == "GENERR003"


class TestParts:
    def test_a_part_is_judged_by_its_header_alone(self, message: dict[str, Any]) -> None:
        """A slice of text is no body; the joined message will be judged whole."""
        spoil_body(message)
        for part in split(message, limit=1_500, new_id=BAD_UUID.lower):
            assert judge(part) == VALID
            assert judge(part, joined=True).code == "GENERR001"

    def test_a_part_with_a_bad_header_is_refused(self, message: dict[str, Any]) -> None:
        """Every header of a sequence is a header."""
        spoil_header(message)
        part = split(message, limit=1_500, new_id=BAD_UUID.lower)[1]
        assert judge(part).code == "GENERR004"

    def test_a_joined_body_may_have_a_total_above_one(self, message: dict[str, Any]) -> None:
        """Who joins by hand and keeps the first part's header can have the body judged."""
        message["messageHeader"]["messageSequence"]["total"] = 3
        assert judge(serialise(message), joined=True) == VALID


class TestBeyondThePublishedFiles:
    """What the specification demands and its schema files let pass."""

    @pytest.mark.parametrize(
        ("change", "code"),
        [
            (lambda m: m["messageHeader"].update(messageType="MetadataDelete"), "GENERR001"),
            (lambda m: m["messageHeader"].update(messageType="PreservationEvent"), "GENERR001"),
            (
                lambda m: (
                    m["messageBody"].pop("objectValue"),
                    m["messageBody"].pop("version"),
                    m["messageBody"].pop("coverage"),
                ),
                "GENERR001",
            ),
            (lambda m: m["messageHeader"]["messageSequence"].update(position=0), "GENERR004"),
            (lambda m: m["messageHeader"]["messageSequence"].update(position=2), "GENERR004"),
            (lambda m: m["messageHeader"]["messageSequence"].update(total=-1), "GENERR004"),
            (lambda m: m["messageHeader"]["messageSequence"].update(total=2), "GENERR001"),
            (lambda m: m["messageHeader"]["messageSequence"].update(total=2**31), "GENERR004"),
            (
                lambda m: m["messageHeader"]["messageSequence"].update(position=10**30, total=10**30),
                "GENERR004",
            ),
            (lambda m: m["messageHeader"].update(errorCode="GENERR011"), "GENERR004"),
        ],
    )
    def test_adds_what_they_miss(
        self, message: dict[str, Any], change: Callable[[dict[str, Any]], object], code: str
    ) -> None:
        """Valid as published, invalid by default, each with its code."""
        change(message)
        assert judge(serialise(message), as_published=True) == VALID
        verdict = judge(serialise(message))
        assert (verdict.code, bool(verdict.violations)) == (code, True)

    @pytest.mark.parametrize("code", list(ErrorCode))
    def test_knows_all_fourteen_codes(self, message: dict[str, Any], code: ErrorCode) -> None:
        """A decorated message is valid with any code of the table."""
        message["messageHeader"] |= {"errorCode": str(code), "errorDescription": code.description}
        assert judge(serialise(message)) == VALID

    @pytest.mark.parametrize(
        ("message_class", "valid"), [("Document", True), ("Command", False), ("Event", False)]
    )
    def test_a_read_is_an_answer_when_it_is_a_document(self, message_class: str, *, valid: bool) -> None:
        """The class tells a request, which names an object, from an answer, which holds one."""
        message = Samples(1).message("MetadataRead", "software")
        message["messageHeader"]["messageClass"] = message_class
        assert judge(serialise(message)).valid is valid


def test_an_instance_that_no_json_can_hold_is_invalid_not_an_error() -> None:
    """Callers that judge decoded messages get a verdict for odd ones too."""
    deep: Any = "x"
    for _ in range(2_000):
        deep = {"objectUUID": deep}
    message = Samples(1).message("MetadataDelete")
    assert not judge_message(message | {"messageBody": deep}).valid
    assert not judge_message(message | {"messageBody": {"objectUUID": "\ud800"}}).valid


def test_definitions_are_found_by_name() -> None:
    """The short name will do where it is the only one."""
    assert is_valid(
        "Checksum",
        {"checksumUUID": BAD_UUID.lower(), "checksumType": "md5", "checksumValue": "x"},
    )
    assert reference("vocabulary.PersonRole") != reference("parties.PersonRole")
    with pytest.raises(KeyError, match=r"vocabulary\.PersonRole and parties\.PersonRole"):
        is_valid("PersonRole", {})
    with pytest.raises(KeyError, match="no definition"):
        is_valid("Vocabulary", {})
