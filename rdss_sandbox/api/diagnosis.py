"""What clients do wrong."""

from __future__ import annotations

from rdss_sandbox.api.endpoint import GET, Mode, Subject
from rdss_sandbox.api.parameters import Seconds
from rdss_sandbox.shapes.diagnosis import Diagnosis
from rdss_sandbox.shapes.recorded_exchange import Exchange


class ClientDiagnosis(Subject[Mode], at="/diagnosis"):
    """What clients do wrong, by rules that docs/diagnose.md lists."""

    @GET("")
    def diagnosis(
        self, stream: str | None = None, client: str | None = None, later: Seconds = 0.0
    ) -> Diagnosis:
        """The findings about every client, or those about one ``stream`` or one ``client``.

        ``later`` judges as if nothing more came for so many seconds: for a client that has ended, nothing
        needs to be waited for.
        """

    @GET("/exchange")
    def recorded_exchange(self) -> Exchange:
        """What clients were seen to do: all that the rules judge by, to keep and to judge again."""
