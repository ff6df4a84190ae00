"""Many workers, the clock and restarts, against a model that is too simple to be wrong."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, multiple, rule

from extensions.queues.engine.queue_errors import (
    ClaimNotThereError,
    MessageClaimedError,
    MessageNotClaimedError,
)
from tests.extensions.queues.engine.conftest import QUEUE, room

LONGEST = 1_209_600
WORKERS = st.sampled_from(["anna", "ben", "cleo", "dan"])
TTLS = st.sampled_from([60, 61, 90, 200, 3600, LONGEST])
CLAIM_TTLS = st.sampled_from([60, 75, 120, 43_200])


@dataclass
class Posted:
    """What the model knows of a message; ``holder`` is its claim's id."""

    created: float
    expires: float
    ready: float
    holder: str = ""
    claims: int = 0


@dataclass
class Hold:
    """What the model knows of a claim."""

    ends: float
    messages: list[str] = field(default_factory=list)


class Workers(RuleBasedStateMachine):
    """No message is held twice at once, none is lost, none is free before its time."""

    messages = Bundle("messages")
    claims = Bundle("claims")

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(mkdtemp(prefix="queues-"))
        self.room = room(self.folder / "queues.log")
        self.posted: dict[str, Posted] = {}
        self.held: dict[str, Hold] = {}

    def teardown(self) -> None:
        self.room.engine.close()
        shutil.rmtree(self.folder)

    @property
    def now(self) -> float:
        return self.room.clock.time()

    @rule(target=messages, count=st.integers(1, 4), ttl=TTLS, delay=st.sampled_from([0, 0, 30, 900]))
    def post(self, count: int, ttl: int, delay: int) -> Any:
        ids = self.room.post(*[b"{}"] * count, ttl=ttl, delay=delay)
        for id_ in ids:
            self.posted[id_] = Posted(self.now, self.now + ttl, self.now + delay)
        return multiple(*ids)

    @rule(target=claims, worker=WORKERS, limit=st.integers(1, 5), ttl=CLAIM_TTLS, grace=CLAIM_TTLS)
    def claim(self, worker: str, limit: int, ttl: int, grace: int) -> Any:
        expected = [id_ for id_, message in self.posted.items() if self._free(message)][:limit]
        held = self.room.claim(limit, ttl, grace, worker)
        assert [message.id for message in held.messages] == expected if held else expected == []
        if held is None:
            return multiple()
        self.held[held.claim.id] = Hold(self.now + ttl, expected)
        for message in held.messages:
            mine = self.posted[message.id]
            mine.holder, mine.claims = held.claim.id, mine.claims + 1
            self._outlive(mine, self.now + ttl, grace)
            assert (message.claims, message.expires) == (mine.claims, mine.expires)
        return held.claim.id

    @rule(claim=claims, ttl=CLAIM_TTLS, grace=CLAIM_TTLS)
    def renew(self, claim: str, ttl: int, grace: int) -> None:
        try:
            self.room.engine.claims.renew(QUEUE, claim, ttl=ttl, grace=grace)
        except ClaimNotThereError:
            assert claim not in self.held
            return
        hold = self.held[claim]
        hold.ends = self.now + ttl
        for id_ in hold.messages:
            self._outlive(self.posted[id_], hold.ends, grace)

    @rule(claim=consumes(claims))
    def release(self, claim: str) -> None:
        assert self.room.engine.claims.release(QUEUE, claim) == (claim in self.held)
        self._end(claim)

    @rule(message=messages, claim=claims)
    def delete_with_a_claim(self, message: str, claim: str) -> None:
        there = self.posted.get(message)
        try:
            self.room.engine.messages.delete(QUEUE, message, claim)
        except ClaimNotThereError:
            assert claim not in self.held
        except MessageNotClaimedError:
            assert there is not None
            assert not there.holder
        except MessageClaimedError:
            assert there is not None
            assert there.holder != claim
        else:
            assert there is None or there.holder == claim
            self._remove(message)

    @rule(message=messages)
    def delete_without_a_claim(self, message: str) -> None:
        there = self.posted.get(message)
        try:
            self.room.engine.messages.delete(QUEUE, message)
        except MessageClaimedError:
            assert there is not None
            assert there.holder
        else:
            assert there is None or not there.holder
            self._remove(message)

    @rule(limit=st.integers(1, 3))
    def pop(self, limit: int) -> None:
        expected = [id_ for id_, message in self.posted.items() if self._free(message)][:limit]
        assert [message.id for message in self.room.engine.messages.pop(QUEUE, limit)] == expected
        for id_ in expected:
            self._remove(id_)

    @rule(seconds=st.sampled_from([1, 29, 30, 59, 60, 61, 120, 3600, 43_200, 1_000_000]))
    def wait(self, seconds: int) -> None:
        self.room.clock.advance(seconds)
        for claim in [id_ for id_, hold in self.held.items() if hold.ends <= self.now]:
            self._end(claim)
        for id_ in [id_ for id_, message in self.posted.items() if message.expires <= self.now]:
            self._remove(id_)

    @rule()
    def restart(self) -> None:
        self.room.restart()

    @invariant()
    def everything_is_where_the_model_has_it(self) -> None:
        found = self.room.engine.messages.find(QUEUE, self.posted)
        assert {message.id: claim or "" for message, claim in found} == {
            id_: message.holder for id_, message in self.posted.items()
        }
        if self.posted:
            stats = self.room.engine.queues.stats(QUEUE)
            held = sum(1 for message in self.posted.values() if message.holder)
            assert (stats.claimed, stats.total) == (held, len(self.posted))

    @invariant()
    def claims_hold_what_the_model_has_them_hold(self) -> None:
        for claim, hold in self.held.items():
            held = self.room.engine.claims.get(QUEUE, claim)
            assert [message.id for message in held.messages] == hold.messages
            assert held.claim.ends == hold.ends

    def _free(self, message: Posted) -> bool:
        return not message.holder and message.ready <= self.now

    def _outlive(self, message: Posted, ends: float, grace: int) -> None:
        if message.expires < ends:
            message.expires = max(message.expires, min(ends + grace, message.created + LONGEST))

    def _end(self, claim: str) -> None:
        for id_ in self.held.pop(claim, Hold(0)).messages:
            self.posted[id_].holder = ""

    def _remove(self, id_: str) -> None:
        gone = self.posted.pop(id_, None)
        if gone is not None and gone.holder:
            self.held[gone.holder].messages.remove(id_)


TestWorkers = Workers.TestCase
TestWorkers.settings = settings(max_examples=120, stateful_step_count=40)
