"""The population in docs/certify.md: ``python -m tests.sandbox.certify.population.page docs/certify.md``."""

from __future__ import annotations

from collections.abc import Iterator

from tests.bench import certify_rates
from tests.bench.certify_rates import Rate
from tests.docs.page_parts import renew_file, renew_part
from tests.sandbox.certify.population.kind import Kind, Part
from tests.sandbox.certify.population.population import PARTS, SHAPES, WRONG


def renew_population(page: str) -> str:
    """Generate the tables of the population again. Raises ValueError when the mark is missing."""
    rates = {(each.shape, each.kind): each for each in certify_rates.read()}
    lines = [*_right_clients(rates), *(line for part in PARTS for line in _wrong_clients(part, rates))]
    return renew_part(page, "population", "\n".join(["", *lines, ""]))


def _right_clients(rates: dict[tuple[str, str], Rate]) -> Iterator[str]:
    yield from (
        "",
        "### Right clients",
        "",
        "| client | shapes, and in how many runs nothing failed |",
        "|---|---|",
    )
    for part in PARTS:
        shapes = [each for each in SHAPES if (each.role, each.channel) == (part.role, part.channel)]
        found = (_found(each.name, rates.get((each.id, ""))) for each in shapes)
        yield f"| {part.name} | {', '.join(found)} |"


def _wrong_clients(part: Part, rates: dict[tuple[str, str], Rate]) -> Iterator[str]:
    yield from (
        "",
        f"### Wrong: {part.name}",
        "",
        "| bug | clause | shapes, and in how many runs the clause failed |",
    )
    yield "|---|---|---|"
    for kind in part.kinds:
        yield f"| **{kind.name}**: {kind.bug} | `{kind.clause}` | {', '.join(_shapes(part, kind, rates))} |"


def _shapes(part: Part, kind: Kind, rates: dict[tuple[str, str], Rate]) -> Iterator[str]:
    for each in WRONG:
        if each.kind is kind and each.shape.channel is part.channel:
            yield _found(each.shape.name, rates.get((each.shape.id, kind.name)))


def _found(shape: str, rate: Rate | None) -> str:
    return f"{shape} {rate.found} of {rate.runs}" if rate else shape


if __name__ == "__main__":
    renew_file(renew_population)
