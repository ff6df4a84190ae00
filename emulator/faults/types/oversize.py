"""A message that grows past a size limit and stays as valid as it was."""

from __future__ import annotations

from functools import partial

from emulator.faults.fault import Attribute, Direction, Done, FaultType, Hit, Phase
from schemas.contract import Changes, Contract
from schemas.headers import leave_headers_out

_SPREAD = 1000
_MOST = 1 << 20


def inject(contract: Contract, changes: Changes, hit: Hit) -> Done | None:
    limit = hit.attributes["limit"]
    size = limit + 1 + hit.draws.randrange(_SPREAD)
    before = len(leave_headers_out(contract.headers, hit.item.data))
    if before > limit:
        return None
    grown = changes.grow(hit.item.data, size)
    if grown is None:
        return None
    hit.item.data = grown
    return Done(f"grown from {before} to {size} bytes", {"before": before, "size": size})


def build_type(contract: Contract, changes: Changes) -> FaultType:
    return FaultType(
        "oversize",
        "A message grows past a size limit and stays valid otherwise: a description in its body is padded. "
        "With the default limit it still fits a Kinesis record, so it arrives and the receiver must judge "
        "it. With a limit of 1048576 Kinesis refuses it.",
        Phase.CHANGE,
        (Direction.PUBLISH, Direction.DELIVER),
        partial(inject, contract, changes),
        (
            Attribute(
                "limit",
                "integer",
                contract.max_bytes,
                "the size that the message exceeds",
                "bytes",
                least=1,
                most=_MOST,
            ),
        ),
    )
