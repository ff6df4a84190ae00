"""Whose tag is whose: the two mapping engines against small models, without a network."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.amqp.confirms import Confirms, PublishConfirm
from emulator.relay.amqp.acknowledgements import (
    Acknowledgements,
    BrokerDelivery,
    PrefetchWindow,
    UnknownTagError,
)
from rdss_sandbox.shapes.trace import Disposition

_GRAVEST = (Disposition.ACK, Disposition.DISCARD, Disposition.REQUEUE)
Step = tuple[str, int, bool, Disposition]

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["settle", "settle", "give", "arrive", "withdraw", "roll back"]),
        st.integers(0, 9),
        st.booleans(),
        st.sampled_from(Disposition),
    ),
    max_size=30,
)


ARRIVALS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 6)), max_size=8)
"""Messages that are there from the start, with their copies, and which of them is given next."""


class Model:
    """A broker that minds its own tags, and a client's deliveries by theirs."""

    def __init__(self) -> None:
        self.acks = Acknowledgements()
        self.window = PrefetchWindow()
        self.broker: set[int] = set()
        self.to_give: list[BrokerDelivery] = []
        self.given: dict[int, BrokerDelivery] = {}
        self.heard: dict[int, list[Disposition]] = {}
        self.dispositions: dict[int, Disposition] = {}
        self.last = 0

    def arrive(self, copies: int) -> None:
        self.last += 1
        handed = self.acks.add_broker_delivery(self.last, self.window)
        handed.left = 1 + copies
        self.broker.add(self.last)
        self.to_give += [handed] * (1 + copies)
        self.heard[self.last] = []

    def give(self, which: int) -> None:
        if self.to_give:
            handed = self.to_give.pop(which % len(self.to_give))
            tag = self.acks.assign_tag(handed)
            assert tag == max(self.given, default=0) + 1 or tag not in self.given
            self.given[tag] = handed

    def settle(self, tag: int, multiple: bool, disposition: Disposition) -> None:
        covered = [each for each in self.given if each == tag or (multiple and (each < tag or not tag))]
        if tag not in self.given and not (multiple and not tag):
            try:
                self.acks.settle(tag, multiple=multiple, disposition=disposition)
            except UnknownTagError:
                return
            raise AssertionError(f"tag {tag} was never given, and was settled")
        for each in covered:
            self.heard[self.given.pop(each).tag].append(disposition)
        self.tell(self.acks.settle(tag, multiple=multiple, disposition=disposition))

    def withdraw(self, which: int) -> None:
        if self.to_give:
            handed = self.to_give.pop(which % len(self.to_give))
            if not handed.made:
                self.heard[handed.tag].append(Disposition.REQUEUE)
            self.tell(self.acks.withdraw(handed))

    def tell(self, settlements: list[tuple[int, bool, Disposition]]) -> None:
        for tag, multiple, disposition in settlements:
            assert tag in self.broker, "the broker would close the channel"
            done = {each for each in self.broker if each == tag or (multiple and each < tag)}
            self.broker -= done
            self.dispositions |= dict.fromkeys(done, disposition)


@settings(max_examples=300)
@given(ARRIVALS, STEPS)
def test_the_broker_hears_of_each_message_once_and_when_it_is_done(
    arrivals: list[tuple[int, int]], steps: list[Step]
) -> None:
    """However copies, orders, multiple, nacks and cancels mix: never too early, never of another message."""
    model = Model()
    for copies, _ in arrivals:
        model.arrive(copies)
    for _, which in arrivals:
        model.give(which)
    for what, number, multiple, disposition in steps:
        if what == "arrive":
            model.arrive(number % 3)
        elif what == "give":
            model.give(number)
        elif what == "settle":
            model.settle(number, multiple, disposition)
        elif what == "withdraw":
            model.withdraw(number)
        open_ = {handed.tag for handed in (*model.to_give, *model.given.values())}
        assert model.broker == open_
        assert model.window.taken == len(model.given)
    for tag, disposition in model.dispositions.items():
        assert disposition == max(model.heard[tag], key=_GRAVEST.index)


@settings(max_examples=200)
@given(STEPS)
def test_what_was_rolled_back_is_to_be_settled_again(steps: list[Step]) -> None:
    """After a rollback everything is as it was when the transaction began."""
    model = Model()
    for _ in range(4):
        model.arrive(1)
    for _ in range(8):
        model.give(0)
    model.acks.begin()
    before, broker = dict(model.given), set(model.broker)
    for what, number, multiple, disposition in steps:
        if what == "settle":
            model.settle(number, multiple, disposition)
        elif what == "roll back":
            model.acks.roll_back()
            model.given, model.broker = dict(before), set(broker)
            model.heard = {tag: [] for tag in broker}
    model.acks.roll_back()
    model.given, model.broker = dict(before), set(broker)
    assert model.window.taken == len(before)
    model.settle(0, True, Disposition.ACK)
    assert model.broker == set()


PUBLISHES = st.lists(st.sampled_from(["passed", "once", "twice", "thrice", "refused", "unheard"]), max_size=6)
ANSWERS = st.lists(st.tuples(st.integers(0, 12), st.booleans(), st.booleans()), max_size=12)


@settings(max_examples=300)
@given(PUBLISHES, ANSWERS)
def test_every_publish_is_confirmed_once_with_its_own_tag(
    publishes: list[str], answers: list[tuple[int, bool, bool]]
) -> None:
    """When all its puts are answered, acked when any was; nothing is said of what was refused here."""
    confirms = Confirms()
    puts: dict[int, int] = {}
    expected: dict[int, set[int]] = {}
    for client, what in enumerate(publishes, 1):
        if what == "refused":
            confirms.note_refused()
            continue
        times = {"twice": 2, "thrice": 3}.get(what, 1)
        if what == "passed":
            confirms.note_passed()
        else:
            confirms.note_forwarded(times, heard=what != "unheard")
        tags = range(len(puts) + 1, len(puts) + 1 + times)
        puts |= dict.fromkeys(tags, client)
        if what != "unheard":
            expected[client] = set(tags)
    said: dict[int, bool] = {}
    open_, acked = set(puts), set()
    for tag, multiple, good in (*answers, (0, True, True)):
        covered = {each for each in open_ if each == tag or (multiple and (each < tag or not tag))}
        open_ -= covered
        acked |= covered if good else set()
        if not multiple and confirms.pass_answer(tag):
            translated = [PublishConfirm(tag, False, good)]
        else:
            confirms.answer(tag, multiple=multiple, acked=good)
            translated = list(confirms.take())
        for confirm in translated:
            # What was confirmed before is outstanding no more, also for one that says "multiple".
            waiting = expected.keys() - said.keys()
            reached = {c for c in waiting if c == confirm.tag or (confirm.multiple and c < confirm.tag)}
            assert confirm.tag in reached
            said |= dict.fromkeys(reached, confirm.acked)
        assert set(said) == {client for client, tags in expected.items() if not tags & open_}
    assert said == {client: bool(tags & acked) for client, tags in expected.items()}


def test_an_outer_window_counts_for_all_inner_ones() -> None:
    """As global prefetch does for a channel's consumers."""
    outer = PrefetchWindow(2)
    first, second = PrefetchWindow(0, outer), PrefetchWindow(1, outer)
    second.add(1)
    assert (first.room, second.room) == (True, False)
    first.add(1)
    assert not first.room
