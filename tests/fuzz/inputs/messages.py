"""Messages as a channel delivers them: read, judged, decorated and joined by their contract."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Final

from schemas.contract import Contract, judge_received
from schemas.rdss.contract import RDSS
from tests.fuzz.fuzzed_parser import FuzzedParser, Parse, refusals
from tests.schemas.asyncapi.documents import ORDERS_TEXT, load_text

_NOW: Final = 1_800_000_000.0


def _open(load: Callable[[], Contract]) -> Parse:
    contract = load()
    judge, codes = judge_received(contract), list(contract.codes.values())[:2]

    def parse(data: bytes) -> None:
        glance = contract.peek(data, "key")
        contract.identity(glance)
        verdict = judge(data, now=_NOW)
        verdict.sentences()
        for code in codes:
            contract.undecorate(contract.decorate(data, code, "why", now=_NOW))
        contract.redrive(data, now=_NOW)
        if contract.stamp is not None:
            contract.stamp(data, "machine", "localhost", now=_NOW)
        if contract.sequences is not None:
            contract.sequences.judge_parts([data, data], now=_NOW)
        if contract.documents is not None:
            contract.documents.explain(data)
            contract.documents.complete(data, seed=1, now=_NOW)
        if contract.objects is not None and verdict.code is None:
            contract.objects.read(data, glance)
        if contract.changes is not None:
            contract.changes.grow(data, 5000)
        with refusals(ValueError):
            contract.body(data)

    return parse


def _load_orders() -> Contract:
    with tempfile.TemporaryDirectory() as folder:
        return load_text(Path(folder), ORDERS_TEXT)


def _deep_seeds() -> Iterable[tuple[str, bytes]]:
    yield "deep", b'{"messageHeader": ' + b"[" * 1500
    yield "deep-body", b'{"messageHeader": {}, "messageBody": ' + b"[" * 1200 + b"]" * 1200 + b"}"
    yield (
        "half-a-pair",
        b'{"messageHeader": {"messageId": "\\ud800"}, "order": {"id": "\\udcff"}, "event": "\xff"}',
    )


def _seeds(load: Callable[[], Contract]) -> Iterable[tuple[str, bytes]]:
    contract = load()
    assert contract.samples is not None
    maker = contract.samples.from_seed(7, now=_NOW)
    for number in range(3):
        yield f"message-{number}", maker.message().data[:4000]
    for code in list(contract.codes.values())[:4]:
        yield f"bad-{code}", maker.bad(code).data[:2000]
    yield from _deep_seeds()


RDSS_MESSAGE = FuzzedParser(
    "messages of RDSS on every channel", partial(_open, lambda: RDSS), partial(_seeds, lambda: RDSS)
)
DECLARED_MESSAGE = FuzzedParser(
    "messages of a contract that a document declares",
    partial(_open, _load_orders),
    partial(_seeds, _load_orders),
)
