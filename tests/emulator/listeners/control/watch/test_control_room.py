"""The control room: each action done by clicks, and what it shows typed in a terminal does the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from emulator.listeners.control.same_commands import COMMANDS
from rdss_sandbox.shapes.faults import Fault, NewFault
from rdss_sandbox.shapes.messages import NewMessage
from schemas.rdss.decoration import decorate
from schemas.rdss.envelope import serialise
from schemas.rdss.error_codes import ErrorCode
from schemas.rdss.samples import Samples
from tests.chromium import open_tab
from tests.emulator.listeners.control.watch.conftest import Room, Seat
from tests.emulator.listeners.control.watch.test_watch_page import CONTRASTS, UNNAMED
from tests.taken_out import needs

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]
ACTIONS = [
    pytest.param(endpoint.method, endpoint.path, id=f"{endpoint.method} {endpoint.path}")
    for endpoint in COMMANDS
]
TOKEN = "not-to-be-guessed"


def test_a_fault_is_added_with_the_help_of_the_command_line(room: Room, terminal: Seat) -> None:
    """The kind's own help and that of its parameters; what is in force is what the command puts in force."""
    room.turn_to("faults")
    room.fill(type="oversize")
    kind = next(each for each in room.seat.client.fault_types() if each.type == "oversize")
    said = room.tab.eval("document.querySelector('#panel-faults').textContent")
    assert kind.help in said
    assert all(attribute.help in said for attribute in kind.attributes)
    typed = " ".join(terminal.type("sandbox fault add oversize --help").split()).lower()
    for setting in httpx.get(f"{room.seat.running.control}/faults/types", trust_env=False).json()["common"]:
        assert setting["help"] in said
        assert setting["help"] in typed

    room.fill(
        **{"attribute.limit": "2000", "limit": "7"}, name="it's big", toxicity="0.5", at="2s", every="3"
    )
    room.fill(match="messageType=Metadata*", channel="in*", direction="deliver")
    command, outcome = room.press("Add the fault")
    assert (outcome, room.refused) == ("it's big is in force on in*", False)
    terminal.type(command)
    [added], [typed] = room.seat.client.faults(), terminal.client.faults()
    assert added == typed
    assert added == Fault(
        "it's big", "oversize", "in*", "deliver", 0.5, added.attributes, added.when, 7, note=added.note
    )
    assert added.attributes["limit"] == 2000

    command, outcome = room.press("Remove", ".in-force")
    assert outcome == "removed it's big, after 0 strikes"
    terminal.type(command)
    assert room.seat.client.faults() == terminal.client.faults() == ()


def test_a_refusal_is_told_in_the_words_of_the_api(room: Room) -> None:
    room.turn_to("faults")
    room.fill(match="messageTyp=x")
    _, outcome = room.press("Add the fault")
    with pytest.raises(Exception, match="messageTyp") as refused:
        room.seat.client.add_fault(NewFault("duplicate", when={"match": {"messageTyp": "x"}}))
    assert (outcome, room.refused) == (str(refused.value), True)


def test_the_clock_is_held_moved_on_and_set(room: Room, terminal: Seat) -> None:
    room.turn_to("clock")

    def press(label: str) -> tuple[Any, Any]:
        command, outcome = room.press(label)
        assert outcome.startswith("the clock says ")
        terminal.type(command)
        return room.seat.client.clock(), terminal.client.clock()

    for here, there in [press("Hold")]:
        assert here.speed == there.speed == 0
    room.fill(time="2026-03-01T12:00:00")
    for here, there in [press("Set")]:
        assert here.time == there.time == 1772366400
    room.fill(length="1.5", unit="hours")
    for here, there in [press("Advance")]:
        assert here.time == there.time == 1772366400 + 5400
    room.fill(speed="60")
    for here, there in [press("Run at this speed")]:
        assert here.speed == there.speed == 60
    for here, there in [press("Let it run")]:
        assert here.speed == there.speed == 1
        assert not here.real
    for here, there in [press("Real time")]:
        assert here.real
        assert there.real


def test_a_shard_is_split_by_pointing_at_its_lane_and_two_neighbours_are_merged(
    room: Room, terminal: Seat
) -> None:
    """A third one begins anew; what is no neighbour is not merged. The list beside the lanes picks too."""
    room.turn_to("shards")

    def point_at(shard: int) -> None:
        room.tab.wait(f"document.querySelectorAll('#streams [data-key$=\"{shard:012}\"]').length > 0")
        room.tab.click_on(f"#streams .lane[data-key$='{shard:012}']")

    def do(label: str) -> None:
        room.tab.wait(f"document.querySelector('#panel-shards .do').textContent === {json.dumps(label)}")
        command, outcome = room.press(label)
        assert outcome.startswith("input: ")
        terminal.type(command)
        here, there = (
            [(each.id, each.parents, each.starting_hash_key) for each in seat.client.stream("input").shards]
            for seat in (room.seat, terminal)
        )
        assert here == there

    do("Split the widest")
    point_at(2)
    room.tab.wait("document.querySelector('#streams .shard.picked')?.textContent === '2'")
    do("Split 2")
    point_at(4)
    point_at(3)
    room.tab.wait("document.querySelector('#panel-shards .do').textContent === 'Split 3'")
    point_at(5)
    do("Merge 5 and 3")
    room.tab.wait("document.querySelector('.shards').children.length === 3")
    room.tab.click_on(".shards li:last-child button")
    do("Split 1")
    room.turn_to("faults")
    room.tab.click_on("#streams .lane")
    assert not room.tab.eval("Boolean(document.querySelector('.picked'))"), "lanes are for looking again"


def test_samples_are_sent_and_bad_ones_by_their_error_code(room: Room, terminal: Seat) -> None:
    """The same seed, the same messages, here and by the command; a code says what it means."""
    room.turn_to("samples")

    def send(**fields: str) -> list[tuple[Any, ...]]:
        room.fill(**fields)
        command, outcome = room.press("Send")
        assert " sent to " in outcome, outcome
        terminal.type(command)
        here, there = (_list_messages(seat) for seat in (room.seat, terminal))
        assert here == there
        return here

    assert len(send(count="3", seed="5", stream="output")) == 3
    sent = send(count="1", parts="3", stream="input")
    assert [each[:3] for each in sent[:3]] == [("input", 3, position) for position in (1, 2, 3)]
    room.fill(bad="GENERR004")
    assert "header" in room.tab.eval("document.querySelector('#meaning-of-code').textContent")
    send(count="1")
    rows = room.seat.client.messages(matching="stream:input").messages
    assert room.seat.client.verdict(max(rows, key=lambda row: row.time).id).code == "GENERR004"

    room.seat.client.add_fault(NewFault("error", channel="input", attributes={"code": "InternalFailure"}))
    room.fill(count="2")
    _, outcome = room.press("Send")
    assert "2 refused, the last with: InternalFailure" in outcome


def _list_messages(seat: Seat) -> list[tuple[Any, ...]]:
    """What of each message comes from its seed: not the ids of later parts, nor where these lie."""
    rows = seat.client.messages(limit=1000, matching="-stream:audit").messages
    return sorted(
        (
            each.stream,
            each.total or 1,
            each.position or 1,
            "" if each.total == 3 else f"{each.shard} {each.message_id}",
        )
        for each in rows
    )


def refuse(seat: Seat) -> int:
    """Put a message into ``output`` and, refused, into the error queue; return its id there."""
    data = Samples(4, now=1772366400.0).bad(ErrorCode.GENERR004)
    seat.client.send(NewMessage("output", data, "a-key"))
    seat.client.messages()
    wrapped = decorate(data, ErrorCode.GENERR004, "its header is invalid", now=1772366401.0)
    seat.client.send(NewMessage("error", wrapped, "a-key"))
    return max(row.id for row in seat.client.messages(matching="stream:error").messages)


def read_sent(seat: Seat, stream: str) -> dict[str, Any]:
    """The newest message of a stream, without the history that says when it was sent again."""
    rows = seat.client.messages(matching=f"stream:{stream}").messages
    found: dict[str, Any] = json.loads(seat.client.message(rows[-1].id).raw or "")
    assert found["messageHeader"].pop("messageHistory")
    return found


def test_a_reject_goes_back_where_it_came_from_as_it_was_or_edited(room: Room, terminal: Seat) -> None:
    """The contract's verdict stands below what is edited; the command sends the same to the same stream."""
    here, there = refuse(room.seat), refuse(terminal)
    assert here == there
    room.turn_to("rejects")
    room.tab.wait("document.querySelector('.rejects').textContent.includes('GENERR004')")
    command, outcome = room.press("Redrive", ".rejects")
    assert outcome.startswith(f"sent #{here} to output, shard ")
    terminal.type(command)
    assert read_sent(room.seat, "output") == read_sent(terminal, "output")

    room.tab.click_on(".rejects li:last-child button:not(.do)")
    room.tab.wait("document.querySelector('#editor .verdict').textContent.startsWith('GENERR004')")
    valid = serialise(Samples(5, now=room.seat.client.clock().time).message()).decode()
    room.fill(text="{broken", to="input")
    room.tab.wait("document.querySelector('#editor .verdict').textContent.startsWith('GENERR007')")
    room.fill(text=valid.replace('"generator":"', '"generator":"it\'s edited, '))
    room.tab.wait("document.querySelector('#editor .verdict').textContent === 'It meets the contract.'")
    command, outcome = room.press("Send", "#editor")
    assert outcome.startswith(f"sent #{here} to input, shard ")
    terminal.type(command)
    sent = read_sent(room.seat, "input")
    assert sent == read_sent(terminal, "input")
    assert sent["messageHeader"]["generator"].startswith("it's edited")
    assert not room.tab.eval("document.querySelector('#editor').checkVisibility()")


@needs("queues")
def test_rejects_are_claimed_and_released(room: Room, terminal: Seat) -> None:
    for seat in (room.seat, terminal):
        refuse(seat)
    room.turn_to("rejects")
    room.tab.wait("document.querySelectorAll('#panel-rejects [name=queue] option').length > 0")

    def claims(seat: Seat) -> list[tuple[str, int]]:
        return [(each.client, len(each.messages)) for each in seat.client.queues.claims("rdss", "error")]

    room.fill(queue="error", limit="3", worker="table 1")
    command, outcome = room.press("Claim")
    assert "1 message for 300 s" in outcome
    terminal.type(command)
    assert claims(room.seat) == claims(terminal) == [("table 1", 1)]
    _, outcome = room.press("Claim")
    assert outcome == "nothing to claim: error has no message that is free"
    _, outcome = room.press("Release", ".claims")
    assert outcome.startswith("released ")
    assert claims(room.seat) == []
    room.press("Claim")
    [held] = room.seat.client.queues.claims("rdss", "error")
    room.tab.wait(f"document.querySelector('.claims').children[0]?.dataset.key === '{held.id}'")
    room.tab.eval("document.querySelector('.claims .do').dispatchEvent(new Event('pointerenter'))")
    room.wait_for_command(f"sandbox claim release error {held.id}")
    room.seat.type(f"sandbox claim release error {held.id}")
    assert claims(room.seat) == []


def test_a_scenario_is_played_and_its_verdict_comes_here(room: Room, terminal: Seat) -> None:
    room.turn_to("scenarios")
    room.fill(scenario="producer-retry", seed="3")
    taught = next(each for each in room.seat.client.scenarios.list() if each.name == "producer-retry").teach
    said = room.tab.eval("document.querySelector('#panel-scenarios').textContent")
    assert all(text in said for text in (taught.happens, taught.why, taught.client))
    command, outcome = room.press("Play")
    assert outcome == "producer-retry plays, with the seed 3"
    room.tab.wait("document.querySelector('.runs .verdict')?.textContent === 'pass'")
    [run] = room.seat.client.scenarios.runs()
    assert (run.scenario, run.seed, run.verdict) == ("producer-retry", 3, "pass")
    played = terminal.type(command)
    assert played.startswith("pass ")
    assert "seed 3" in played


def test_a_snapshot_is_saved_and_loaded_after_a_warning(room: Room, terminal: Seat) -> None:
    """Loading and removing take a second press; what there was is there again."""
    room.turn_to("snapshots")
    room.fill(name="before it")
    _, outcome = room.press("Save")
    assert room.refused, "a name that cannot be one is refused in the words of the API"
    room.fill(name="before")
    command, outcome = room.press("Save")
    assert outcome == "saved before: 0 records in streams"
    terminal.type(command)
    for seat in (room.seat, terminal):
        seat.client.add_fault(NewFault("duplicate"))
    command, outcome = room.press_twice("Load", "Load: what there is now is lost")
    assert outcome.startswith("loaded before, in ")
    assert room.seat.client.faults() == ()
    terminal.type(command)
    assert terminal.client.faults() == ()
    command, outcome = room.press_twice("Remove", "Remove it for good")
    assert outcome == "removed before"
    terminal.type(command)
    assert room.seat.client.snapshots.list().snapshots == terminal.client.snapshots.list().snapshots == ()


def test_it_is_closed_until_one_opens_it_and_works_by_keyboard_alone(browser: str, seat: Seat) -> None:
    """A fault is added with keys; letters that are typed into a field are no keys of the page."""
    with open_tab(browser) as tab:
        tab.open(f"{seat.running.control}/")
        tab.wait("document.querySelector('#state').textContent === 'live'")
        assert not tab.eval("document.querySelector('#room').checkVisibility()")
        assert tab.eval("document.querySelector('#act').getAttribute('aria-expanded')") == "false"
        tab.key("c")
        tab.wait("document.activeElement.id === 'tab-faults'")
        tab.key("ArrowRight")
        tab.wait("document.activeElement.id === 'tab-shards'")
        tab.key("ArrowLeft")
        tab.wait("document.activeElement.id === 'tab-faults'")
        tab.key("Tab")
        tab.wait("document.activeElement.name === 'type'")
        while tab.eval("document.activeElement.tagName") != "SUMMARY":
            tab.key("Tab")
        tab.key("Enter")
        tab.key("Tab")
        for letter in "thn":
            tab.key(letter)
        assert tab.eval("document.activeElement.value") == "thn"
        assert tab.eval("document.querySelector('#state').textContent") == "live"
        tab.wait("document.querySelector('#command').textContent.endsWith('--name thn')")
        tab.key("Enter")
        tab.wait("document.querySelector('#outcome').textContent === 'thn is in force on *'")
        assert [each.name for each in seat.client.faults()] == ["thn"]
        tab.key("Escape")
        assert tab.eval("document.activeElement.id") == "act"
        assert not tab.eval("document.querySelector('#room').checkVisibility()")
        assert tab.problems == []


def test_the_command_is_copied(room: Room) -> None:
    """To the clipboard where the browser lets the page; else it is marked."""
    room.turn_to("clock")
    room.press("Hold")
    room.tab.click_on("#same button")
    room.tab.wait("/copied|marked/.test(document.querySelector('#outcome').textContent)")
    if "marked" in room.outcome:
        assert room.tab.eval("getSelection().toString()") == "sandbox clock freeze"


def test_with_a_token_nothing_is_offered_before_it_is_given(
    browser: str, make_seat: Callable[..., Any]
) -> None:
    """The cookie that opens the page lets it look: it says so, and takes the token for this visit alone."""
    with make_seat(token=TOKEN) as seat, open_tab(browser) as tab:
        page = f"{seat.running.control}/"
        tab.open(f"{page}?token={TOKEN}", lands_at=page)
        for _ in range(2):
            tab.click_on("#act")
            tab.wait("/change nothing/.test(document.querySelector('#room').textContent)")
            assert not tab.eval("Boolean(document.querySelector('.tabs'))")
            for given in ("wrong", TOKEN):
                tab.eval(f"document.querySelector('[name=token]').value = {json.dumps(given)}")
                tab.click_on("#room form .do")
                if given == "wrong":
                    tab.wait("/not its token/.test(document.querySelector('#room').textContent)")
            tab.wait("Boolean(document.querySelector('.tabs'))")
            assert tab.eval("localStorage.length + sessionStorage.length + document.cookie.length") <= 1
            tab.eval("localStorage.clear()")
            tab.open(page)
        tab.click_on("#act")
        tab.wait("Boolean(document.querySelector('[name=token]'))")


def test_without_a_token_it_is_not_offered_to_who_comes_by_another_name(
    browser: str, make_seat: Callable[..., Any]
) -> None:
    """A sandbox that others reach by a name is looked at only, and the page says how it is otherwise."""
    with make_seat(allowed_hosts=("sandbox.localhost",)) as seat, open_tab(browser) as tab:
        port = seat.running.control.rpartition(":")[2]
        tab.open(f"http://sandbox.localhost:{port}/")
        tab.click_on("#act")
        tab.wait("/SANDBOX_TOKEN/.test(document.querySelector('#room').textContent)")
        assert not tab.eval("Boolean(document.querySelector('.tabs, #room form'))")


@pytest.mark.parametrize(("method", "path"), ACTIONS)
def test_each_action_needs_the_token_and_a_page_of_the_sandbox(guarded: Seat, method: str, path: str) -> None:
    """Without the token 401, with the page's cookie too; from another origin 403, whatever it brings."""
    address = f"{guarded.running.control}{path.replace('{', '').replace('}', '')}"
    with httpx.Client(trust_env=False) as asking:
        assert asking.request(method, address, json={}).status_code == 401
        asking.get(guarded.running.control, params={"token": TOKEN})
        assert asking.cookies
        assert asking.request(method, address, json={}).status_code == 401
        bearer = {"authorization": f"Bearer {TOKEN}"}
        for foreign in ({"origin": "http://evil.example"}, {"sec-fetch-site": "cross-site"}):
            answer = asking.request(method, address, json={}, headers={**bearer, **foreign})
            assert (answer.status_code, answer.content) == (403, b"")
        assert asking.request(method, address, json={}, headers=bearer).status_code not in {401, 403}


def test_every_word_of_it_can_be_read_and_has_a_name(room: Room) -> None:
    """As the rest of the page: a contrast of 7 to 1 in both themes; a screen reader has a name for all."""
    refuse(room.seat)
    unlabelled = (
        "[...document.querySelectorAll('#room :is(input, select, textarea)')].filter((each) =>"
        " !each.labels.length && !each.ariaLabel).map((each) => each.outerHTML)"
    )
    for panel in list_panels(room):
        room.turn_to(panel)
        assert room.tab.eval(unlabelled) == [], panel
        assert room.tab.eval(UNNAMED) == [], panel
        for theme in ("dark", "light"):
            room.tab.eval(f"document.documentElement.dataset.theme = '{theme}'")
            assert [each for each in room.tab.eval(CONTRASTS) if each[0] < 7] == [], (panel, theme)


def list_panels(room: Room) -> list[str]:
    found: list[str] = room.tab.eval(
        "[...document.querySelectorAll('.tabs button')].map(({id}) => id.slice(4))"
    )
    return found


@pytest.mark.parametrize(("width", "height"), [(360, 800), (1280, 720), (1920, 1080), (2560, 1440)])
def test_it_fits_the_window(room: Room, width: int, height: int) -> None:
    """Nothing of any panel is beyond the right edge, and the outcome and the command are in sight."""
    room.tab.size(width, height)
    for panel in list_panels(room):
        room.turn_to(panel)
        assert room.tab.eval("document.documentElement.scrollWidth") <= width, panel
        room.tab.wait("document.querySelector('.foot').getBoundingClientRect().bottom <= innerHeight")
