"""The filter language: the published examples, its readings of awkward values, its errors."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.filters import FilterSyntaxError, compile_filter, read_path, reader
from emulator.filters.indexing import value_keys
from tests.emulator.filters.evaluator import holds
from tests.emulator.filters.strategies import conditions, records, spelled

ARRAYS = {"data": [1, 2, 3, "zebra", 5], "other": [14, 34, 23, 5]}


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("1 < 2", True),
        ("10 < '2'", False),
        ("'2.000' <> '2.0'", True),
        ("2 = 2.0", True),
        ("10 < 'Crank It Up'", True),
        ("10 < ''", False),
        ("10 > ''", False),
        ("'' = ''", False),
        ("'' IS NULL", True),
    ],
)
def test_the_published_comparisons(text: str, verdict: bool) -> None:
    """Values of different types compare as the published table of examples says."""
    assert compile_filter(text)({}) is verdict


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("/data = 1", True),
        ("/data = 'zebra'", True),
        ("/data != 'zebra'", True),
        ("/data = 42", False),
        ("/data LIKE 'z'", True),
        ("/other > 30", True),
        ("/other > 50", False),
        ("/data[0] = 1", True),
        ('/data[3] = "zebra"', True),
        ("/data[1] != 1", True),
        ("/other[1] LIKE '4'", True),
        ("/data[9] IS NULL", True),
        ("/data = /other", True),
        ("/data IN (1, 99)", True),
        ("/data + 1 = 2", True),
        ("/none + 1 IS NULL", True),
    ],
)
def test_the_published_examples_of_arrays(text: str, verdict: bool) -> None:
    """A comparison with an array asks its elements, arithmetic takes the first."""
    assert compile_filter(text)(ARRAYS) is verdict


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("/n = 3 OR /n = 3 AND 1 = 2", True),
        ("(/n = 3 OR /n = 3) AND 1 = 2", False),
        ("NOT /n = 4 AND /n = 3", True),
        ("/n == 3 and not /n <> 3", True),
        ("/n BETWEEN 3 AND 5", True),
        ("/n NOT BETWEEN 3 AND 5", False),
        ("/n NOT IN (1, '3.0')", False),
        ("/missing NOT IN (1)", False),
        ("/missing != 1", False),
        ("NOT /missing = 1", True),
        ("/missing IS NULL AND /n IS NOT NULL", True),
        ("/t LIKE 'at'", True),
        ("/t LIKE 'AT'", False),
        ("/t LIKE '(?i)^DATA'", True),
        ("/t LIKE '(d|x)at'", True),
        ("/t NOT LIKE '%'", True),
        ("/n LIKE '^3$'", True),
        ("/flag = TRUE AND /flag != FALSE", True),
        ("/who/name = 'Ada'", True),
        ("/who/name IN (/t, 'Ada')", True),
        ("/who/@id = 7", True),
        ("/55 = 'fix'", True),
        ("-3 + 5 * 2 - 10 % 4 = 5", True),
        ("/n /2 = 1.5", True),
        ("(/n + 1) * 2 >= 8", True),
        ("/n / 0 IS NULL", True),
        ("/t + 1 IS NULL", True),
        ("-7 % 3 = -1", True),
        ("'it''s' = \"it's\"", True),
        ("/who = /who", False),
    ],
)
def test_operators_and_their_precedence(text: str, verdict: bool) -> None:
    """Each operator does what SQL-92 and the published grammar say, AND before OR, NOT before both."""
    record = {
        "n": 3,
        "t": "dataset",
        "flag": True,
        "who": [{"name": "Ada", "@id": "7"}, {"name": "Bob"}],
        "55": "fix",
    }
    assert compile_filter(text)(record) is verdict


@pytest.mark.parametrize(
    ("text", "position", "why"),
    [
        ("", 0, "too early"),
        ("/a = ", 5, "too early"),
        ("/a = 'x", 5, "does not end"),
        ("objectTitle = 'x'", 0, "unexpected 'o'"),
        ("1 = 1)", 5, "unexpected ')'"),
        ("/a = 1 /b = 2", 8, "unexpected 'b'"),
        ("/a LIKE 'ab('", 9, "no regular expression"),
        (f"/a[{'1' * 5000}] = 1", 2, "unexpected '['"),
        ("/a LIKE '(a)\\1'", 9, "without back references"),
        ("/a LIKE '" + "(a?){400}" * 10 + "'", 9, "instructions"),
        ("/a LIKE /b", 8, "unexpected '/b'"),
        ("/a", 2, "too early"),
        ("NOT " * 200 + "1 = 1", 0, "nested deeper"),
        ("1" + " + 1" * 200 + " = 1", 0, "more than 100"),
    ],
)
def test_an_error_says_what_and_where(text: str, position: int, why: str) -> None:
    """A filter that cannot be understood is refused with the place in it, counted from 0, and the reason."""
    with pytest.raises(FilterSyntaxError, match="of filter: ") as refused:
        compile_filter(text)
    assert refused.value.position == position
    assert why in str(refused.value)


@given(conditions, records)
def test_a_second_evaluator_agrees(tree: tuple[Any, ...], record: Any) -> None:
    """What a filter says of a record is what its description, read a second time, says."""
    assert compile_filter(spelled(tree))(record) is holds(tree, record), spelled(tree)


json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
)
FILTERS = [
    compile_filter(text)
    for text in (
        "/a * 1e308 * 1e308 - /a * 1e308 * 1e308 > /b % 0 OR /a / /b < 'x'",
        "/a[0] BETWEEN /b AND '9' OR NOT (/a LIKE '^[^0-9]' AND /b NOT IN ('', 1, /a))",
        "/a/b/c[1] = /b OR /a IS NULL OR -/a >= 1 AND /a % 2.5 <= /b",
    )
]


@given(json, json)
def test_evaluation_never_raises(a: Any, b: Any) -> None:
    """Whatever a record holds, a filter answers yes or no."""
    for filter_ in FILTERS:
        for record in ({"a": a, "b": b}, a):
            assert filter_(record) in (True, False)


@pytest.mark.parametrize("number", [10**400, -(10**400), "9" * 5000, 1e308, "1e999", "\u0663"])
def test_numbers_beyond_measure_do_no_harm(number: Any) -> None:
    """A number that no float holds, or that Python will not write out, is compared all the same."""
    record = {"a": number, "b": 1.5}
    for filter_ in (*FILTERS, compile_filter("/a * 1.5 > /b OR /a LIKE '0' OR /a / 7.5 = 1 OR /a = '1'")):
        assert filter_(record) in (True, False)


@given(conditions, records)
def test_an_index_by_equalities_loses_no_match(tree: tuple[Any, ...], record: Any) -> None:
    """A record that matches has, at the path of each equality, one of its keys."""
    filter_ = compile_filter(spelled(tree))
    if filter_(record):
        for equality in filter_.equalities:
            assert set(value_keys(reader(equality.path)(record))) & set(equality.keys)


def test_equalities_are_those_of_the_top_level() -> None:
    """Only what every match must fulfil is offered for an index."""
    filter_ = compile_filter(
        "/type = 'dataset' AND (2 = /n AND /a/b[0] = 'x') AND (/c = 1 OR /d = 2) AND /e > 1"
    )
    found = [(equality.path, equality.value) for equality in filter_.equalities]
    assert found == [(("type",), "dataset"), (("n",), 2), (("a", "b", 0), "x")]
    assert compile_filter("/a = 1 OR /b = 2").equalities == ()


def test_an_identifier_is_read_by_itself() -> None:
    """A path beside a filter, of a key or an order, is written the same way."""
    assert read_path("/a/@b[2]/c") == ("a", "@b", 2, "c")
    with pytest.raises(ValueError, match="'a/b' is no identifier"):
        read_path("a/b")


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        (" AND ".join(["/a = 1"] * 201), "200"),
        (" OR ".join(["/a IS NOT NULL"] * 201), "200"),
        ("/a IN (" + ",".join(["'x'"] * 3_000) + ")", "10000"),
    ],
)
def test_a_filter_that_is_too_large_says_what_is_the_most(text: str, limit: str) -> None:
    with pytest.raises(FilterSyntaxError, match=limit):
        compile_filter(text)


def test_the_largest_filters_are_taken() -> None:
    assert compile_filter(" AND ".join(["/a = 1"] * 200))({"a": 1})
    assert compile_filter("/a IN (" + ",".join(str(number) for number in range(1_500)) + ")")({"a": 1_499})
