"""The contract that messages are judged by, and its verdict on a message."""

from __future__ import annotations

import msgspec

from emulator.clock import Clock
from emulator.listeners.control.endpoint_routing import handles
from emulator.listeners.control.message_content import render_verdict
from rdss_sandbox.api.contract import MessageContract
from rdss_sandbox.shapes import contract as shapes
from schemas.contract import Contract


class ContractResources:
    """``/contract`` and ``/contract/verdict``."""

    def __init__(self, contract: Contract, clock: Clock) -> None:
        self._contract = contract
        self._clock = clock

    @handles(MessageContract.contract)
    def contract(self) -> shapes.Contract:
        contract = self._contract
        sampled = contract.samples.codes if contract.samples else ()
        return shapes.Contract(
            contract.name,
            contract.media_type,
            contract.max_bytes,
            fields=msgspec.convert(contract.fields, tuple[shapes.ContractField, ...], from_attributes=True),
            codes=tuple(
                shapes.ContractCode(name, code.description, str(code.queue), code in sampled)
                for name, code in contract.codes.items()
            ),
            patience=contract.sequences.patience if contract.sequences else None,
            **(contract.envelope._asdict() if contract.envelope else {}),
        )

    @handles(MessageContract.judge)
    def judge(self, message: shapes.Judged) -> shapes.Verdict:
        now = self._clock.time() if message.time is None else message.time
        return shapes.Verdict(**render_verdict(self._contract.judge(message.data, now=now)))
