"""The table of transitions: everything in it happens, and nothing else can."""

from __future__ import annotations

from pathlib import Path

import pytest

from extensions.processing import Processing, State
from extensions.processing.transitions import (
    FINAL,
    TABLE,
    TAKEN_UP_AGAIN,
    Cause,
    IllegalTransitionError,
    Transition,
    markdown_table,
)
from tests.extensions.processing.lives import Life, lead
from tests.extensions.processing.processing_platform import Platform, put, state_of

_DOCS = Path(__file__).parents[3] / "docs" / "processing.md"


@pytest.mark.parametrize("transition", [each for each in TABLE if each.before], ids=str)
def test_each_transition_of_the_table_is_done_and_is_an_event(
    platform: Platform, process: Processing, transition: Transition
) -> None:
    """The state changes, the change is in the message's life, and whoever listens is told."""
    assert transition.before is not None
    number = platform.send(process)
    put(process, number, transition.before)
    moved = process.progress.move(number, transition.cause, why="to see it")
    assert moved is not None
    assert moved.state is transition.after
    last = process.store.changes(number)[-1]
    assert (last.before, last.cause, last.after) == transition[:3]
    event = platform.events.since()[-1]
    assert event.kind == "processing.changed"
    assert event.fields["message"] == number
    assert (event.fields["before"], event.fields["cause"], event.fields["after"]) == transition[:3]


@pytest.mark.parametrize("state", State)
def test_what_is_not_in_the_table_is_refused_and_changes_nothing(
    platform: Platform, process: Processing, state: State
) -> None:
    """The message stays as it is, and the refusal says in which states it could be done."""
    number = platform.send(process)
    put(process, number, state)
    before = process.store.message(number)
    illegal = set(Cause) - {each.cause for each in TABLE if each.before is state}
    assert illegal
    for cause in illegal:
        with pytest.raises(IllegalTransitionError, match=f"{state.value} cannot be {cause}"):
            process.progress.move(number, cause)
    assert process.store.message(number) == before


def test_a_message_that_is_not_there_cannot_be_moved(process: Processing) -> None:
    """Its number is named."""
    with pytest.raises(LookupError, match="no message 7"):
        process.progress.move(7, Cause.CANCELLED)


def test_a_change_from_an_older_step_is_dropped(platform: Platform, process: Processing) -> None:
    """Whoever saw the message before somebody else moved it does nothing to it."""
    number = platform.send(process)
    step = process.store.message(number).step
    assert process.store.change(number, Cause.STARTED, held=step) is not None
    assert process.store.change(number, Cause.POSTPONED, held=step) is None
    assert state_of(process, number) is State.PROCESSING


@pytest.mark.parametrize("transition", TABLE, ids=str)
def test_each_transition_of_the_table_comes_about_in_life(platform: Platform, transition: Transition) -> None:
    """By what systems and people do, not by moving the message there."""
    life = Life(platform)
    number = lead(life, transition)
    lived = [(each.before, each.cause, each.after) for each in life.process.store.changes(number)]
    assert transition[:3] in lived


def test_final_states_lead_nowhere_but_to_a_restart() -> None:
    """And SKIPPED not even there."""
    leaving = {(each.before, each.cause) for each in TABLE if each.before in FINAL}
    assert leaving == {(state, Cause.RESTARTED) for state in (State.OK, State.FAILED, State.CANCEL)}


def test_every_state_but_a_final_one_can_be_left_and_cancelled() -> None:
    """Nobody has to wait for a message for ever."""
    for state in set(State) - FINAL:
        causes = {each.cause for each in TABLE if each.before is state}
        assert Cause.CANCELLED in causes
        assert len(causes) > 1
    assert {each.before for each in TABLE if each.cause is Cause.QUEUED} >= TAKEN_UP_AGAIN


def test_the_documentation_shows_the_table_that_the_code_runs_from() -> None:
    """``python -m extensions.processing`` prints it, to be put there."""
    assert markdown_table() in _DOCS.read_text()


def test_the_store_knows_no_other_states(process: Processing) -> None:
    """Its indexes, which are written in SQL, name the states of the table."""
    rows = process.store.rows("SELECT sql FROM sqlite_master WHERE type = 'index' AND sql LIKE '%state%'")
    named = {word for (sql,) in rows for word in sql.split("'")[1::2]}
    assert named
    assert named <= {str(state) for state in State}
