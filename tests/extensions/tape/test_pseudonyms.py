"""What stands for a personal value: of its kind and length, the same each time, and another for another."""

from __future__ import annotations

import base64
import re
from datetime import datetime
from itertools import product
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extensions.tape.pseudonyms import Pseudonyms
from schemas.rdss.formats import is_email, is_uri

PSEUDONYMS = Pseudonyms(b"a key of these tests")
OTHERS = Pseudonyms(b"the key of another tape")


@given(st.text())
def test_a_text_keeps_its_length_in_characters_and_in_bytes(text: str) -> None:
    """And is the same each time."""
    new = PSEUDONYMS.replace(text)
    assert len(new) == len(text)
    assert len(new.encode(errors="surrogatepass")) == len(text.encode(errors="surrogatepass"))
    assert PSEUDONYMS.replace(text) == new


@given(st.from_regex(r"-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,10})?([eE][+-]?[0-9]{1,2})?", fullmatch=True))
def test_a_number_keeps_its_length_and_stays_one(literal: str) -> None:
    """With no zero in front that was not there."""
    new = PSEUDONYMS.replace_number(literal)
    assert len(new) == len(literal)
    assert re.fullmatch(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?", new)


def test_values_that_differ_stay_different() -> None:
    """All of one form, however short: what was joined is joined, and nothing else."""
    assert len({PSEUDONYMS.replace(f"{number:03}") for number in range(1000)}) == 1000
    assert len({PSEUDONYMS.replace("".join(pair)) for pair in product("abcdefghij", repeat=3)}) == 1000
    days = [
        f"19{year:02}-{month:02}-{day:02}"
        for year, month, day in product(range(30), range(1, 13), range(1, 29))
    ]
    assert len({PSEUDONYMS.replace(day) for day in days}) == len(days)
    names = [f"Person Number {number}" for number in range(5000)]
    assert len({PSEUDONYMS.replace(name) for name in names}) == len(names)


def test_another_tape_has_others() -> None:
    """Two tapes cannot be laid beside each other."""
    for text in ("Fiona Ní Bhriain", "alice@example.org", "0000-0002-1825-0097", "1980-02-03"):
        assert PSEUDONYMS.replace(text) != OTHERS.replace(text)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("Fiona", r"[A-Z][a-z]{4}"),
        ("田中", r"[\u4e00-\u9fff]{2}"),
        ("Ægir Ó", r"[À-Þ][a-z]{3} [À-Þ]"),
        ("+44 (0)20 7946-0018", r"\+\d\d \(\d\)\d\d \d{4}-\d{4}"),
        ("192.0.2.17", r"\d{3}\.\d\.\d\.\d\d"),
        ("https://orcid.org/0000-0002-1825-0097", r"https://orcid\.org/[0-9-]{18}[0-9X]"),
        ("deadbeef0123456789abcdef", r"[0-9a-f]{24}"),
    ],
)
def test_a_text_keeps_its_form(text: str, form: str) -> None:
    """Letters stay letters of their alphabet and case, digits stay digits."""
    new = PSEUDONYMS.replace(text)
    assert new != text
    assert re.fullmatch(form, new)


def test_a_mail_address_stays_one_and_keeps_its_neighbours() -> None:
    """Two people of one domain still have one."""
    one, other = PSEUDONYMS.replace("alice.smith@uni.example"), PSEUDONYMS.replace("bob@uni.example")
    assert is_email(one)
    assert one.partition("@")[2] == other.partition("@")[2] != "uni.example"


def test_a_url_stays_one_with_its_joins() -> None:
    """The ORCID in it is the one that the ORCID alone becomes; escaped bytes stay escaped ones."""
    new = PSEUDONYMS.replace("https://orcid.org/0000-0002-1825-0097")
    assert new.removeprefix("https://orcid.org/") == PSEUDONYMS.replace("0000-0002-1825-0097")
    escaped = PSEUDONYMS.replace("https://files.example/%41%6c%69ce/%C3%A9?name=Alice")
    assert is_uri(escaped)
    assert re.fullmatch(
        r"https://\w{5}\.\w{7}/(%[0-9A-Fa-f]{2}){3}\w\w/%C3%[89AB][0-9A-F]\?\w{4}=\w{5}", escaped
    )
    assert "Alice" not in escaped


@pytest.mark.parametrize("identifier", ["0000-0002-1825-0097", "0000-0002-1694-233X", "0000000121032683"])
def test_an_orcid_has_its_check_digit(identifier: str) -> None:
    """ISO 7064 MOD 11-2, as ORCID and ISNI have it."""
    digits = PSEUDONYMS.replace(identifier).replace("-", "")
    total = 0
    for digit in digits:
        total = (total * 2 + (10 if digit == "X" else int(digit))) % 11
    assert total == 1


def test_a_uuid_keeps_its_version() -> None:
    """And its variant, so that who looks at them takes it."""
    old = UUID("05805975-ed2f-49d9-8a2f-20aaf3c64af7")
    new = UUID(PSEUDONYMS.replace(str(old)))
    assert (new.version, new.variant) == (old.version, old.variant)
    assert new != old


def test_a_time_stays_one() -> None:
    """In its century, with its zone and decimals."""
    for text in (
        "1980-02-29",
        "2023-11-14T22:13:20.123Z",
        "0001-01-01T00:00:00+01:00",
        "1999-12-31t23:59:59z",
    ):
        new = PSEUDONYMS.replace(text)
        assert new[:2] == text[:2]
        assert datetime.fromisoformat(new.upper())
        assert new[19:20] == text[19:20]


def test_base64_stays_decodable() -> None:
    """With its padding, as strict decoders want it."""
    for text in (b"Alice Liddell!", b"Alice Liddell!!"):
        new = PSEUDONYMS.replace(base64.b64encode(text).decode())
        assert base64.b64encode(base64.b64decode(new, validate=True)).decode() == new


def test_what_is_asked_of_a_text_holds_for_its_pseudonym() -> None:
    """A prefix, a set of digits, and a list that leaves no choice but the text itself."""
    cases = (r"GB[1-5]{6}", r"CUST-[0-9]{4}-[A-Z]", r"(red|tan)")
    for form, text in zip(cases, ("GB123451", "CUST-0042-X", "red"), strict=True):
        accepts = re.compile(form).fullmatch
        assert accepts(PSEUDONYMS.replace(text, lambda each, accepts=accepts: accepts(each) is not None))
    assert PSEUDONYMS.replace("CUST-0042-X", lambda each: each[:5] == "CUST-") != "CUST-0042-X"


def test_a_choice_is_one_of_the_same_length() -> None:
    """Each of them once."""
    choices = ("red", "tan", "sky", "green", "brown")
    assert {PSEUDONYMS.choose(each, choices) for each in choices[:3]} == set(choices[:3])
    assert len(PSEUDONYMS.choose("green", choices)) == 5
