"""Any life that messages can lead, with workers that die and people who interfere, on two processes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from extensions.processing import Administration, Child, Exchange, KeyKind, State
from extensions.processing.transitions import FINAL, TABLE, Cause, IllegalTransitionError, next_state
from tests.extensions.processing.processing_platform import Platform

ENDS = ("ok", "technical", "business", "blank", "ask", "die", "die after the call", "split")
which = st.sampled_from((0, 1))
ends = st.sampled_from(ENDS)


class Lives(RuleBasedStateMachine):
    """The model: by message, its state, and how often the call that it makes first has succeeded since."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = TemporaryDirectory()
        self.site = Platform(Path(self._folder.name))
        self.plan: list[str] = []
        self.calls: Counter[int] = Counter()
        self.site.routes.add("customer", "set", self._attempt)
        self.processes = [self.site.open(), self.site.open()]
        self.states: dict[int, State] = {}
        self.steps: dict[int, int] = {}

    def _attempt(self, exchange: Exchange) -> None:
        end = self.plan.pop(0) if self.plan else "ok"
        number = exchange.message.number
        if end == "die":
            raise KeyboardInterrupt
        if number % 2:
            exchange.call("billing", str(number).encode(), kind=KeyKind.ENTITY)
        else:
            exchange.call("billing", str(number).encode())
        match end:
            case "die after the call":
                raise KeyboardInterrupt
            case "technical":
                self.site.script("mno", "500")
                exchange.call("mno")
            case "business":
                self.site.script("mno", "business: no")
                exchange.call("mno")
            case "blank":
                exchange.no_effect = True
            case "ask":
                exchange.wait_for_answer()
            case "split" if exchange.message.parent is None:
                exchange.split([Child(service="customer", operation="set", object_id="c")] * 2)

    @rule(process=which, object_id=st.sampled_from("ab"), ordered=st.booleans())
    def send(self, process: int, object_id: str, *, ordered: bool) -> None:
        self.site.clock.advance(1)
        given = {"funnel": object_id, "guaranteed_order": True} if ordered else {}
        self.site.send(self.processes[process], object_id=object_id, **given)

    @rule(process=which, end=st.lists(ends, max_size=3))
    def work(self, process: int, end: list[str]) -> None:
        self.plan = list(end)
        try:
            self.processes[process].process_next()
        except KeyboardInterrupt:
            assert "die" in str(end)

    @rule(process=which, seconds=st.sampled_from((5.0, 60.0, 300.0)))
    def later(self, process: int, seconds: float) -> None:
        self.site.clock.advance(seconds)
        self.processes[process].maintain_leases()
        self.processes[process].queue_due()

    @precondition(lambda self: self.states)
    @rule(data=st.data(), process=which)
    def answer(self, data: st.DataObject, process: int) -> None:
        number = data.draw(st.sampled_from(sorted(self.states)))
        legal = self.states[number] is State.WAITING_FOR_RES
        self._act(legal, lambda: self.processes[process].answer(number, b""))

    @precondition(lambda self: self.states)
    @rule(data=st.data(), cause=st.sampled_from((Cause.CANCELLED, Cause.RESTARTED)), process=which)
    def interfere(self, data: st.DataObject, cause: Cause, process: int) -> None:
        number = data.draw(st.sampled_from(sorted(self.states)))
        administration = Administration(self.processes[process])
        act = administration.cancel if cause is Cause.CANCELLED else administration.restart_partly
        legal = any(each[:2] == (self.states[number], cause) for each in TABLE)
        self._act(legal, lambda: act(number))

    def _act(self, legal: bool, act: Callable[[], object]) -> None:
        if legal:
            act()
            return
        with pytest.raises(IllegalTransitionError):
            act()

    @invariant()
    def every_change_is_in_the_table(self) -> None:
        """And each begins where the one before it ended."""
        store = self.processes[0].store
        for number, state, step in store.rows("SELECT number, state, step FROM messages"):
            for change in store.changes(number)[self.steps.get(number, 0) :]:
                assert change.before == self.states.get(number)
                assert next_state(change.before, change.cause) is change.after
                self.states[number] = change.after
            self.steps[number] = step
            assert self.states[number] == state

    @invariant()
    def no_call_is_repeated_once_it_is_recorded(self) -> None:
        """A restart leaves what succeeded, too."""
        assert all(count == 1 for count in Counter(self.site.calls_of("billing")).values())

    @invariant()
    def a_message_has_an_owner_while_it_is_in_hand_and_only_then(self) -> None:
        query = (
            "SELECT count(*) FROM messages WHERE (owner IS NULL) != (state NOT IN ('IN_QUEUE', 'PROCESSING'))"
        )
        assert self.processes[0].store.rows(query) == [(0,)]

    def teardown(self) -> None:
        """Left to itself, every message ends, and each source is told once of each end."""
        self.plan = []
        process = self.processes[0]
        self.processes[1].close()
        for _ in range(40):
            for number, state in self.states.items():
                if state is State.WAITING_FOR_RES:
                    process.answer(number, b"")
            process.drain()
            self.site.clock.advance(process.parameters.lease)
            process.maintain_leases()
            process.queue_due()
            self.every_change_is_in_the_table()
            if set(self.states.values()) <= FINAL:
                break
        assert set(self.states.values()) <= FINAL
        self.no_call_is_repeated_once_it_is_recorded()
        told = sum(
            1 for number in self.states for change in process.store.changes(number) if change.after in FINAL
        )
        process.queue_due()
        assert len(self.site.told.confirmations) == told
        self.site._opened = [process]
        self.site.close()
        self._folder.cleanup()


TestAnyLife = Lives.TestCase
TestAnyLife.settings = settings(
    max_examples=20, stateful_step_count=25, suppress_health_check=list(HealthCheck)
)
