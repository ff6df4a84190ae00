"""Lives of messages, led by what systems and people do: one for each transition of the table."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeAlias

import pytest

from extensions.processing import Administration, Child, Exchange, KeyKind, State
from extensions.processing.transitions import Cause, Transition
from tests.extensions.processing.processing_platform import Platform, put

Plan: TypeAlias = Callable[[Exchange], Any]


class Life:
    """A process whose routes do what is planned, attempt by attempt; one failure is taken up again."""

    def __init__(self, platform: Platform) -> None:
        self.site = platform
        self.plan: list[Plan] = []
        platform.routes.add("customer", "set", self._follow)
        platform.routes.add("customer", "split", self._split)
        self.process = platform.open(partly_fails_before_failed=1)
        self.other = platform.open(partly_fails_before_failed=1)
        self.administration = Administration(self.process)

    def _follow(self, exchange: Exchange) -> None:
        if self.plan:
            self.plan.pop(0)(exchange)

    def _split(self, exchange: Exchange) -> None:
        exchange.split([Child(service="customer", operation="set")])

    def run(self, *plan: Plan, operation: str = "set", **given: Any) -> int:
        """Receive a message and process it, the first of the attempts that are planned; its number."""
        self.plan = list(plan)
        number = self.site.send(self.process, operation, **given)
        self.process.drain()
        return number

    def later(self) -> None:
        """Take up what is to be tried again."""
        self.site.retry(self.process)

    def forget(self, number: int) -> None:
        """Have the process hold this message without doing anything with it."""
        queue = self.process._queue
        kept = [each for each in queue.pop_until(math.inf) if each[0] != number]
        queue.replace((0, each) for each in kept)

    def abandon(self) -> None:
        """The process is not heard of any more, and another looks after what it had."""
        self.site.clock.advance(self.process.parameters.lease)
        self.other.maintain_leases()


def _fail(_: Exchange) -> None:
    raise ConnectionError("down")


def _crash(_: Exchange) -> None:
    raise KeyboardInterrupt


def _failed(life: Life) -> int:
    number = life.run(_fail, _fail)
    life.later()
    return number


def _answered(life: Life) -> int:
    number = life.run(Exchange.wait_for_answer)
    life.process.answer(number, b"42")
    return number


def _resumed(life: Life) -> int:
    number = life.run(Exchange.wait_for_answer)
    life.process.resume(number, b"42")
    return number


def _in_order(life: Life) -> int:
    """One that waits for another of its order, which is not done in time for the first look."""
    ahead = life.site.send(life.process, funnel="f", guaranteed_order=True)
    life.forget(ahead)
    number = life.run(funnel="f", guaranteed_order=True)
    life.later()
    return number


def _in_the_funnel(life: Life) -> int:
    life.forget(life.site.send(life.process, funnel="f"))
    return life.run(lambda exchange: exchange.funnel("f", "here"))


def _late_in_the_queue(life: Life) -> int:
    number = _in_order(life)
    life.site.clock.advance(life.process.parameters.postponed_limit)
    life.later()
    return number


def _late_in_the_route(life: Life) -> int:
    enter: Plan = lambda exchange: exchange.funnel_in_order("f", "here")  # noqa: E731 -- said twice below
    ahead = life.run(lambda exchange: (enter(exchange), exchange.wait_for_answer()))
    assert life.process.store.message(ahead).state is State.WAITING_FOR_RES
    number = life.run(enter, enter)
    life.site.clock.advance(life.process.parameters.postponed_limit)
    life.later()
    return number


def _obsolete(life: Life) -> int:
    call: Plan = lambda exchange: exchange.call("crm", kind=KeyKind.ENTITY)  # noqa: E731 -- as above
    life.site.script("crm", "500")
    number = life.run(call, object_id="5")
    life.site.clock.advance(1)
    life.run(call, object_id="5")
    life.plan = [call]
    life.later()
    return number


def _child_failed(life: Life) -> int:
    number = life.run(_fail, _fail, operation="split")
    life.later()
    return number


def _stuck_new(life: Life, failed: int) -> int:
    """Persisted, and the process was gone before it could queue it."""
    number = life.process.store.insert(_heard(life), lease=life.process.parameters.lease).number
    return _stuck(life, number, failed)


def _heard(life: Life) -> Any:
    return life.site.new(source="CRM")


def _stuck_queued(life: Life, failed: int) -> int:
    number = life.site.send(life.process)
    life.forget(number)
    return _stuck(life, number, failed)


def _stuck_processing(life: Life, failed: int) -> int:
    with pytest.raises(KeyboardInterrupt):
        life.run(_crash)
    (number,) = (row[0] for row in life.process.store.rows("SELECT max(number) FROM messages"))
    return _stuck(life, number, failed)


def _stuck(life: Life, number: int, failed: int) -> int:
    with life.process.store.transaction() as store:
        store.execute("UPDATE messages SET failed = ? WHERE number = ?", (failed, number))
    life.abandon()
    return number


def _put(life: Life, state: State) -> int:
    number = life.site.send(life.process)
    put(life.process, number, state)
    return number


def _cancelled(life: Life, state: State) -> int:
    number = _BEFORE_CANCEL[state](life) if state in _BEFORE_CANCEL else _put(life, state)
    if life.process.store.message(number).state is not State.CANCEL:
        life.administration.cancel(number)
    return number


def _restarted(life: Life, state: State) -> int:
    number = _failed(life) if state is State.FAILED else life.run()
    if state is State.CANCEL:
        number = _cancelled(life, State.PARTLY_FAILED)
    life.administration.restart_wholly(number)
    return number


_BEFORE_CANCEL: Final[dict[State, Callable[[Life], int]]] = {
    State.PARTLY_FAILED: lambda life: life.run(_fail),
    State.WAITING: lambda life: life.run(_fail, operation="split"),
    State.WAITING_FOR_RES: lambda life: life.run(Exchange.wait_for_answer),
    State.POSTPONED: _in_order,
    State.PROCESSING: lambda life: life.run(lambda each: life.administration.cancel(each.message.number)),
}
_LIVES: Final[dict[Cause | tuple[Cause, State], Callable[[Life], int]]] = {
    Cause.RECEIVED: Life.run,
    Cause.STARTED: Life.run,
    Cause.SUCCEEDED: Life.run,
    (Cause.QUEUED, State.NEW): Life.run,
    (Cause.QUEUED, State.PARTLY_FAILED): _failed,
    (Cause.QUEUED, State.POSTPONED): _in_order,
    Cause.ANSWERED: _answered,
    Cause.RESUMED: _resumed,
    Cause.ASKED: lambda life: life.run(Exchange.wait_for_answer),
    Cause.FAILED_FOR_NOW: lambda life: life.run(_fail),
    Cause.FAILED_FOR_GOOD: _failed,
    Cause.NO_EFFECT: lambda life: life.run(lambda exchange: setattr(exchange, "no_effect", True)),
    (Cause.POSTPONED, State.NEW): _in_order,
    (Cause.POSTPONED, State.IN_QUEUE): _in_order,
    (Cause.POSTPONED, State.PROCESSING): _in_the_funnel,
    (Cause.OUT_OF_ORDER, State.IN_QUEUE): _late_in_the_queue,
    (Cause.OUT_OF_ORDER, State.PROCESSING): _late_in_the_route,
    Cause.OBSOLETE: _obsolete,
    Cause.SPLIT: lambda life: life.run(operation="split"),
    Cause.CHILDREN_DONE: lambda life: life.run(operation="split"),
    Cause.CHILD_FAILED: _child_failed,
    (Cause.STUCK, State.NEW): partial(_stuck_new, failed=0),
    (Cause.STUCK, State.IN_QUEUE): partial(_stuck_queued, failed=0),
    (Cause.STUCK, State.PROCESSING): partial(_stuck_processing, failed=0),
    (Cause.STUCK_TOO_OFTEN, State.NEW): partial(_stuck_new, failed=1),
    (Cause.STUCK_TOO_OFTEN, State.IN_QUEUE): partial(_stuck_queued, failed=1),
    (Cause.STUCK_TOO_OFTEN, State.PROCESSING): partial(_stuck_processing, failed=1),
}


def lead(life: Life, transition: Transition) -> int:
    """Lead a life in which the transition happens; the message's number."""
    before, cause = transition.before, transition.cause
    if before is not None and cause is Cause.CANCELLED:
        return _cancelled(life, before)
    if before is not None and cause is Cause.RESTARTED:
        return _restarted(life, before)
    if before is not None and (cause, before) in _LIVES:
        return _LIVES[cause, before](life)
    return _LIVES[cause](life)
