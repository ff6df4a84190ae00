"""A message that is changed so that it causes one error code."""

from __future__ import annotations

from functools import partial

from emulator.faults.fault import CARRIERS, Attribute, Direction, Done, FaultType, Hit, Phase
from schemas.contract import Changes, Contract


def inject(contract: Contract, changes: Changes, hit: Hit) -> Done | None:
    code = contract.codes[hit.attributes["code"]]
    changed = changes.spoil(hit.item.data, code, hit.draws)
    if changed is None:
        return None
    hit.item.data = changed
    return Done(f"made bad so as to cause {code}: {code.description}", {"code": str(code)})


def build_type(contract: Contract, changes: Changes) -> FaultType:
    codes = tuple(map(str, changes.codes))
    return FaultType(
        "mutate",
        "A message is changed so that it causes an error code. Fragments of a sequence are spared, and so "
        "are messages to which the code cannot apply.",
        Phase.CHANGE,
        (Direction.PUBLISH, Direction.DELIVER),
        partial(inject, contract, changes),
        (
            Attribute(
                "code", "choice", codes[0], "the error code that it causes", choices=tuple(sorted(codes))
            ),
        ),
        kinds=CARRIERS,
    )
