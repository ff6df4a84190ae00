"""Samples as they are asked for: so many of a kind, in parts, or bad for an error code."""

from __future__ import annotations

from collections.abc import Iterator

from schemas.contract import Code, Contract, Sample


def draw_samples(
    contract: Contract,
    seed: int,
    count: int,
    *,
    now: float,
    message_type: str | None = None,
    resource_type: str | None = None,
    parts: int | None = None,
    bad: str | None = None,
) -> Iterator[Sample]:
    """Draw so many messages, the first published at ``now``, in seconds since the epoch.

    ``bad`` is an error code in any case. Raises ValueError for what the contract has no such samples of.
    """
    if contract.samples is None:
        raise ValueError(f"the contract {contract.name} has no samples")
    maker = contract.samples.from_seed(seed, now=now)
    if bad is not None:
        code = _find_code(contract, bad)
        return (maker.bad(code) for _ in range(count))
    if parts is not None:
        return (maker.big_message(parts) for _ in range(count))
    if message_type is None and resource_type is None:
        return maker.stream(count)
    return (maker.message(message_type, variant=resource_type) for _ in range(count))


def _find_code(contract: Contract, text: str) -> Code:
    known = {name.upper(): code for name, code in contract.codes.items()}
    try:
        return known[text.upper()]
    except KeyError as error:
        raise ValueError(f"no error code {text}; there are {', '.join(known.values())}") from error
