"""The diagnosis of clients, and the exchange that it is made from."""

from __future__ import annotations

import msgspec

from emulator.diagnosis.diagnosis_service import DiagnosisService
from emulator.listeners.control.endpoint_routing import handles
from rdss_sandbox.api.diagnosis import ClientDiagnosis
from rdss_sandbox.shapes.diagnosis import Diagnosis
from rdss_sandbox.shapes.recorded_exchange import Exchange


class DiagnosisResources:
    """``/diagnosis``."""

    def __init__(self, service: DiagnosisService) -> None:
        self._service = service

    @handles(ClientDiagnosis.diagnosis)
    def diagnosis(self, stream: str | None, client: str | None, later: float) -> Diagnosis:
        found = self._service.diagnose(later=later)
        chosen = tuple(
            each for each in found.findings if stream in {None, each.stream} and client in {None, each.client}
        )
        return msgspec.structs.replace(found, findings=chosen)

    @handles(ClientDiagnosis.recorded_exchange)
    def exchange(self) -> Exchange:
        return self._service.exchange()[0]
