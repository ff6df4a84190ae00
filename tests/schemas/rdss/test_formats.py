"""Corner cases of each format, at the function and through both validators."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.message_timestamps import instant, timestamp
from schemas.rdss.explanation import flaws
from schemas.rdss.formats import FORMATS
from schemas.rdss.validation import is_valid

DEFINITIONS = {
    "date-time": "primitives.Timestamp",
    "email": "primitives.EmailAddress",
    "uri": "primitives.URI",
    "network-address": "primitives.NetworkAddress",
}

CASES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "date-time": (
        (
            "1997-07-16T19:20:30+01:00",
            "1997-07-16T19:20:30.45+01:00",
            "2004-08-01T10:00:00-00:00",
            "2016-02-29T00:00:00Z",
            "2000-02-29T00:00:00Z",
            "2018-12-31T23:59:59.999999999999Z",
            "1963-06-19t08:30:06z",
            "1998-12-31T23:59:60Z",
            "1998-12-31T15:59:60.123-08:00",
            "0000-02-29T00:00:00Z",
            "9999-12-31T23:59:59Z",
            "2018-01-31T00:00:00+23:59",
            "1972-07-01T01:29:60+01:30",
        ),
        (
            "",
            "2018-01-01",
            "2018-01-01T10:00Z",
            "2018-01-01T10:00:00",
            "2018-01-01 10:00:00Z",
            "2018-01-01T10:00:00Z\n",
            " 2018-01-01T10:00:00Z",
            "2018-1-1T10:00:00Z",
            "2018-02-29T00:00:00Z",
            "1900-02-29T00:00:00Z",
            "2018-04-31T00:00:00Z",
            "2018-00-01T00:00:00Z",
            "2018-13-01T00:00:00Z",
            "2018-01-00T00:00:00Z",
            "2018-01-32T00:00:00Z",
            "2018-01-01T24:00:00Z",
            "2018-01-01T10:60:00Z",
            "2018-01-01T10:00:61Z",
            "1998-12-31T22:59:60Z",
            "1998-12-31T23:59:60+01:00",
            "2018-01-01T10:00:00+24:00",
            "2018-01-01T10:00:00+01:60",
            "2018-01-01T10:00:00+0100",
            "2018-01-01T10:00:00+01",
            "2018-01-01T10:00:00.Z",
            "2018-01-01T10:00:00,5Z",
            "2018-01-01T10:00:00ZZ",
            "2018-01-01T10:00:00.1.2Z",
            "20180101T100000Z",
            "\uff12\uff10\uff11\uff18-01-01T10:00:00Z",
            "2018-W01-1T10:00:00Z",
            "+2018-01-01T10:00:00Z",
        ),
    ),
    "email": (
        (
            "person@net",
            "email_address@jisc.ac.uk",
            "a.b+c@example.org",
            '"quoted string"@example.org',
            '"with \\" and @"@example.org',
            "!#$%&'*+/=?^_`{|}~-@example.org",
            "a@[192.0.2.1]",
            "a@[IPv6:::1]",
            "a@b_c",
            '""@example.org',
            "1@2",
        ),
        (
            "",
            "@",
            "a@",
            "@b",
            "a",
            "a@b@c",
            ".a@b",
            "a.@b",
            "a..b@c",
            "a@.b",
            "a@b.",
            "a@b..c",
            "a b@c",
            "a@b c",
            "a@b\n",
            " a@b",
            "a@b ",
            "a(comment)@b",
            "Name <a@b>",
            "é@example.org",
            "a@exämple.org",
            '"a@b',
            'a"b"@c',
            '"é"@b',
            "a@[b",
            "a@[a]b]",
            "a,b@c",
            "a@b;c",
            '"a\n"@b',
            "mailto:a@b",
        ),
    ),
    "uri": (
        (
            "https://tools.ietf.org/html/rfc3986",
            "http://[2001:db8::7]:8080/c=GB?objectClass?one#x",
            "mailto:a@b.c",
            "urn:oasis:names:specification:docbook",
            "news:comp.infosystems",
            "tel:+1-816-555-1212",
            "file:///etc/hosts",
            "s3://bucket/a%20b",
            "a:",
            "a:?q#",
            "a://",
            "http://user:pw@host:80/",
            "http://a//b///c",
            "x:a//b",
            "http://[v7.a:b]/",
            "HTTP://EXAMPLE.COM",
            "http://a/?q=/?#/?",
            "http://a:/",
            "a+b-c.1:x",
        ),
        (
            "",
            "relative/path",
            "//host/path",
            "/path",
            "#fragment",
            "http://a b",
            "http://a/\n",
            "http://a/é",
            "http://a/%zz",
            "http://a/%2",
            "1http://a",
            ":a",
            "http://[::1",
            "http://[1.2.3.4]",
            "http://[::1%25eth0]",
            "http://a/<b>",
            'http://a/"b"',
            "http://a/\\b",
            "http://a#b#c",
            "http://a:port/",
            "http://a]b/",
            "http://a/[b]",
            "http://a/{b}",
            "http://a/^",
            "http://[::1]x/",
            "-a:b",
            "a b:c",
        ),
    ),
    "network-address": (
        (
            "machine.example.com",
            "192.0.2.1",
            "::1",
            "02:42:ac:11:00:02",
            "0000:1111",
            "arn:aws:ec2:eu-west-2:123456789012:instance/i-0abc",
            "web_1",
            "256.256.256.256",
        ),
        ("", " ", "\t\n"),
    ),
}
IPV6_LITERALS: tuple[tuple[str, ...], tuple[str, ...]] = (
    (
        "::",
        "::1",
        "fd1e:9f02:b2a0:5067:ffff:ffff:ffff:ffff",
        "2001:db8::7",
        "::ffff:192.0.2.1",
        "1::",
        "ABCD::1",
    ),
    (
        "",
        ":",
        ":::",
        "1::2::3",
        "12345::",
        "g::1",
        "::1\n",
        " ::1",
        "fe80::1%eth0",
        "1:2:3:4:5:6:7",
        "::1/64",
        "1:2:3:4:5:6:7:8:9",
        "::256.0.0.1",
        "[::1]",
        "::\u0661",
    ),
)
TABLE = [
    pytest.param(form, text, good, id=f"{form}-{'good' if good else 'bad'}-{number}")
    for form, (right, wrong) in CASES.items()
    for good, texts in ((True, right), (False, wrong))
    for number, text in enumerate(texts)
]


@pytest.mark.parametrize(("form", "text", "good"), TABLE)
def test_corner_cases(form: str, text: str, *, good: bool) -> None:
    """Each text is judged as the document that defines the format says, by both validators alike."""
    assert FORMATS[form](text) is good, text
    if full := DEFINITIONS.get(form):
        assert is_valid(full, text) is good
        assert (not flaws(full, text)) is good


@pytest.mark.parametrize("good", [True, False])
def test_an_address_in_a_uri_is_one_of_ipv6(*, good: bool) -> None:
    """A host in brackets has the form of RFC 4291 section 2.2, without a zone."""
    for text in IPV6_LITERALS[0 if good else 1]:
        assert FORMATS["uri"](f"http://[{text}]/") is good, text


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01T00:00:00Z", 0.0),
        ("1970-01-01T01:00:00.25+01:00", 0.25),
        ("2018-12-11T10:00:00-00:00", 1_544_522_400.0),
        ("1998-12-31T23:59:60.5Z", 915_148_800.5),
        ("0001-01-01T00:00:00Z", -62_135_596_800.0),
        ("no time", None),
    ],
)
def test_instants(text: str, seconds: float | None) -> None:
    """A timestamp with any zone is the same second everywhere."""
    assert instant(text) == seconds


@given(st.datetimes(min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30), timezones=st.just(UTC)))  # noqa: DTZ001 - hypothesis wants naive bounds
def test_timestamps_are_read_back(moment: datetime) -> None:
    """What we write as a timestamp is a valid one, and the same moment to the millisecond."""
    text = timestamp(moment.timestamp())
    assert FORMATS["date-time"](text)
    read_back = instant(text)
    assert read_back is not None
    assert abs(read_back - moment.timestamp()) < 0.002


@pytest.mark.parametrize("form", sorted(FORMATS.keys() - {"network-address"}))
def test_hostile_text_is_answered_at_once(form: str) -> None:
    """A megabyte of what almost matches is refused without backtracking for ever."""
    for unit in ("a", "a.", "a@", "%41", "1:", '"\\"', "http://", "9"):
        assert FORMATS[form](unit * (1_000_000 // len(unit)) + "\x00") is False
