"""What every contract promises, asked of RDSS, of one unlike it, and of one that a document declares."""

from __future__ import annotations

import itertools

import pytest

from schemas.contract import Contract, SampleMaker
from schemas.rdss.contract import AS_PUBLISHED, RDSS
from tests.parcels import PARCELS
from tests.schemas.asyncapi.documents import ORDERS

NOW = 1_800_000_000.0


@pytest.fixture(
    params=[RDSS, AS_PUBLISHED, PARCELS, ORDERS], ids=["rdss", "as published", "parcels", "asyncapi"]
)
def contract(request: pytest.FixtureRequest) -> Contract:
    found: Contract = request.param
    return found


def _maker(contract: Contract, seed: int = 7) -> SampleMaker:
    assert contract.samples is not None
    return contract.samples.from_seed(seed, now=NOW)


def test_samples_are_valid_and_each_is_known_by_its_key(contract: Contract) -> None:
    """Who sends one under its key can tell it from all others."""
    made = list(_maker(contract).stream(40))
    assert all(contract.judge(each.data, now=NOW + 1).valid for each in made)
    assert all(contract.peek(each.data, each.key).message_id == each.key for each in made)
    assert len({contract.identity(contract.peek(each.data, each.key)) for each in made}) == len(made)


def test_the_same_seed_makes_the_same_samples(contract: Contract) -> None:
    """What one run was given, another can be given too."""
    one, other, third = _maker(contract), _maker(contract), _maker(contract, 8)
    made = [one.message() for _ in range(9)]
    assert made == [other.message() for _ in range(9)]
    assert made != [third.message() for _ in range(9)]


def test_a_message_has_the_kind_that_is_asked_for(contract: Contract) -> None:
    """Every kind that is named can be made, early in a stream too, and no other one."""
    assert contract.samples is not None
    maker, kinds = _maker(contract), contract.samples.kinds
    assert [contract.peek(maker.message(kind).data).message_type for kind in kinds] == list(kinds)
    assert {contract.peek(each.data).message_type for each in maker.stream(40)} == set(kinds)
    with pytest.raises(ValueError, match="SomethingElse"):
        maker.message("SomethingElse")


def test_a_bad_sample_has_its_code(contract: Contract) -> None:
    """Every code that is named can be caused, and is what the verdict gives."""
    assert contract.samples is not None
    maker = _maker(contract)
    for code, _ in itertools.product(contract.samples.codes, range(5)):
        assert contract.judge(maker.bad(code).data, now=NOW).code == code


def test_a_message_expires_when_it_is_said_to(contract: Contract) -> None:
    """A contract whose messages do not expire makes none that could."""
    if contract.expired is None:
        with pytest.raises(ValueError, match="expire"):
            _maker(contract).message(expires=NOW)
        return
    late = _maker(contract).message(expires=NOW + 5)
    assert contract.judge(late.data, now=NOW + 5).valid
    assert contract.judge(late.data, now=NOW + 6).code == contract.expired


@pytest.mark.parametrize("limit", [None, 20_000])
def test_a_big_message_is_cut_into_parts_that_carry_what_it_carries(
    contract: Contract, limit: int | None
) -> None:
    """Each part fits, has a key of its own, and together they are the message."""
    maker = _maker(contract)
    if contract.sequences is None:
        with pytest.raises(ValueError, match="piece"):
            maker.big_message(3, limit=limit)
        return
    whole = maker.big_message(3, limit=limit)
    ids = iter(["p2", "p3"])
    parts = contract.sequences.split(whole.data, new_id=lambda: next(ids), limit=limit)
    assert [contract.peek(part).message_id for part in parts] == [whole.key, "p2", "p3"]
    assert max(map(len, parts)) <= (limit or contract.max_bytes)
    joined = contract.sequences.judge_parts(reversed(parts), now=NOW).whole
    assert joined is not None
    assert contract.body(joined) == contract.body(whole.data)


def test_a_sample_of_an_older_release_is_valid_for_who_takes_it(contract: Contract) -> None:
    """A receiver takes it in the present form; who validates for the present release refuses it."""
    assert contract.samples is not None
    maker, releases = _maker(contract), contract.samples.releases
    assert bool(releases) == (contract.versions is not None)
    for data in (maker.older(release).data for release in releases):
        assert contract.versions is not None
        assert not contract.judge(data, now=NOW).valid
        assert contract.versions.judge(data, now=NOW).upgraded is not None
    with pytest.raises(ValueError, match=r"release 9\.9"):
        maker.older("9.9")
