"""Finding subscriptions by what they demand finds exactly those that trying them all would find."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.filters import compile_filter
from extensions.topics.engine.matching import TopicSubscriptions
from extensions.topics.engine.topic_subscription import TopicSubscription

VALUES = st.sampled_from(["a", "b", "1", "1.0", "", 1, 1.0, 2, True, None, ["a", "1"], [1, "a"], {"a": 1}])
LITERALS = st.sampled_from(["'a'", "'b'", "'1'", "'1.0'", "''", "1", "1.0", "2", "TRUE"])
FIELDS = st.sampled_from(["/x", "/y", "/z/w"])
EQUALITY = st.builds("{} = {}".format, FIELDS, LITERALS)
OTHER = st.builds("{} {} {}".format, FIELDS, st.sampled_from(["<", ">=", "!="]), LITERALS)
FILTERS = st.one_of(
    st.just(""),
    EQUALITY,
    OTHER,
    st.builds("{} AND {}".format, EQUALITY, EQUALITY),
    st.builds("{} AND {}".format, OTHER, EQUALITY),
    st.builds("{} OR {}".format, EQUALITY, EQUALITY),
)
RECORDS = st.fixed_dictionaries(
    {}, optional={"x": VALUES, "y": VALUES, "z": st.builds(lambda value: {"w": value}, VALUES)}
)


class Nobody:
    """Whoever the subscriptions are of."""

    user = "nobody"
    closed = False

    def deliver(self, message: Any) -> None:
        raise AssertionError(message)


@settings(max_examples=100)
@given(
    filters=st.lists(st.tuples(FILTERS, st.sampled_from([None, "k", "l"])), max_size=12),
    leaving=st.sets(st.integers(0, 11)),
    records=st.lists(st.tuples(RECORDS, st.sampled_from(["k", "l", ""])), min_size=1, max_size=5),
)
def test_found_is_what_matches(
    filters: list[tuple[str, str | None]], leaving: set[int], records: list[tuple[dict[str, Any], str]]
) -> None:
    """Whatever filters and records there are, a subscription is found once where its filter holds."""
    subscriptions = TopicSubscriptions()
    made: list[tuple[TopicSubscription, Any, str | None]] = []
    for number, (text, key) in enumerate(filters):
        one = TopicSubscription(Nobody(), str(number), "objects")
        test = None
        if text:
            compiled = compile_filter(text)
            one.equalities, test = compiled.equalities, compiled.holds
        one.keys = frozenset([key]) if key else None
        subscriptions.add(one, test)
        made.append((one, test, key))
    for number, (one, _, _) in enumerate(made):
        if number in leaving:
            subscriptions.remove(one)
    staying = [entry for number, entry in enumerate(made) if number not in leaving]
    assert len(subscriptions) == len(staying)
    for record, record_key in records:
        found = subscriptions.matching(record, record_key)
        expected = {
            one for one, test, key in staying if key in (None, record_key) and (test is None or test(record))
        }
        assert len(found) == len(set(found))
        assert set(found) == expected
    assert subscriptions.needs_data == any(test is not None for _, test, _ in staying)


def test_a_message_is_tried_on_few_of_many_distinct_filters() -> None:
    """Of a thousand filters, each for another object of one type, a message is tried on two at most."""
    tried: list[str] = []
    subscriptions = TopicSubscriptions()
    for number in range(1000):
        one = TopicSubscription(Nobody(), str(number), "objects")
        one.equalities = compile_filter(f"/type = 'x' AND /id = {number}").equalities

        def test(_: Any, sub_id: str = one.sub_id) -> bool:
            tried.append(sub_id)
            return True

        subscriptions.add(one, test)
    assert [one.sub_id for one in subscriptions.matching({"type": "x", "id": 471}, "")] == ["0", "471"]
    assert tried == ["0", "471"]
