"""The screens in front of real sandboxes of two contracts: nothing of the one is seen at the other."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from textual.widgets import Input, TextArea

from rdss_sandbox.client import AsyncClient
from tests.tui.app_pilot import opened, see, text_of, until
from tests.two_contracts import CONTRACTS, REASON, Site, open_site
from tui.dialogs.add_fault import AddFault
from tui.dialogs.edit import Edit
from tui.panes.filter_bar import FilterBar
from tui.widgets.message_list import MessageList
from tui.widgets.row_list import RowList

SIZE = (200, 60)
LABELS = {"rdss": {"correlation", "class", "tenant", "version"}, "parcels": {"depot"}}


@pytest.fixture(scope="module", params=CONTRACTS)
def site(request: pytest.FixtureRequest) -> Iterator[Site]:
    with open_site(CONTRACTS[request.param]) as site:
        yield site


def others(site: Site) -> set[str]:
    """The fields that the other contract has, and this one has not."""
    return {name for contract, names in LABELS.items() if contract != site.contract.name for name in names}


async def test_the_list_has_a_column_for_what_is_declared(site: Site) -> None:
    """Type, code and id of every message, a label that the contract lists, and parts where there are some."""
    async with opened(AsyncClient(site.client.url), size=SIZE) as pilot:
        rows = pilot.app.screen.query_one(MessageList)
        await until(pilot, lambda: rows.total == 9)
        titles = [column.title for column in rows._columns._columns]
        listed = [each.name for each in site.contract.fields if each.listed]
        assert {"type", "code", "message id", "mark", *listed} <= set(titles)
        assert ("part" in titles) == (site.contract.sequences is not None)
        assert others(site).isdisjoint(titles)
        first = site.sent[0]
        seen = site.contract.peek(first.data, first.key)
        told = (seen.message_type, *(getattr(seen, e.attribute) for e in site.contract.fields if e.listed))
        await see(pilot, *map(str, told))


async def test_it_is_filtered_by_its_fields(site: Site) -> None:
    """The bar shows an example of this contract; a field of another one is refused with those that it has."""
    field = next(each for each in site.contract.fields if each.counted and each.name != "code")
    first = site.sent[0]
    value = getattr(site.contract.peek(first.data, first.key), field.attribute)
    async with opened(AsyncClient(site.client.url), size=SIZE) as pilot:
        rows = pilot.app.screen.query_one(MessageList)
        await until(pilot, lambda: rows.total == 9)
        await pilot.press("slash")
        bar = pilot.app.screen.query_one(FilterBar).query_one(Input)
        examples = [each.example for each in site.contract.fields if each.name in {"type", "code"}]
        assert bar.placeholder.startswith(" ".join(examples))
        bar.value = f"{min(others(site))}:x"
        await pilot.press("enter")
        await see(pilot, f"there are {', '.join(each.name for each in site.contract.fields if each.indexed)}")
        bar.value = f"{field.name}:{value}"
        await pilot.press("enter")
        wanted = site.client.messages(matching=f"-stream:audit {field.name}:{value}").total
        await until(pilot, lambda: rows.total == wanted)


async def test_help_and_forms_are_made_of_its_fields(site: Site) -> None:
    """The help lists each field with an example; the form of a fault says what can be matched."""
    async with opened(AsyncClient(site.client.url), size=SIZE) as pilot:
        await pilot.press("question_mark")
        await until(pilot, lambda: pilot.app.screen.query("#fields"))
        held = pilot.app.screen.query_one("#fields", RowList)._pages._held
        names = [name for name, _ in held[0].values()]
        declared = [each.name for each in site.contract.fields if each.indexed]
        assert names[: len(declared)] == declared
        await pilot.press("escape", "5")
        kinds = pilot.app.screen.query_one("#kinds", RowList)
        await until(pilot, lambda: kinds.total > 3)
        kinds.focus()
        await pilot.press("a")
        await until(pilot, lambda: isinstance(pilot.app.screen, AddFault))
        await see(pilot, "field=glob: ")
        said = next(line for line in text_of(pilot).splitlines() if "field=glob: " in line)
        field = said.partition("field=glob: ")[2].partition("=")[0]
        assert field in {each.spelling for each in site.contract.fields}


async def test_errors_are_explained_and_mended(site: Site) -> None:
    """The code has the contract's meaning, the editor its verdict: on the message as it was sent."""
    async with opened(AsyncClient(site.client.url), size=SIZE) as pilot:
        await pilot.press("4")
        await until(pilot, lambda: pilot.app.screen.query(MessageList).first().current is not None)
        await see(pilot, str(site.code), site.code.description)
        await pilot.press("enter")
        await see(pilot, f"{site.code}: {site.code.description}", REASON)
        await pilot.press("E")
        await until(pilot, lambda: isinstance(pilot.app.screen, Edit))
        await see(pilot, f"✗ {site.code}")
        pilot.app.screen.query_one(TextArea).text = site.sent[0].data.decode()
        await see(pilot, "✓ meets the contract")


async def test_sequences_are_those_that_the_contract_has(site: Site) -> None:
    """A list without any says so, also where there are none by contract."""
    async with opened(AsyncClient(site.client.url), size=SIZE) as pilot:
        await pilot.press("2")
        await see(pilot, "0 messages in several parts")
