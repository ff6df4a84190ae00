"""``GET /metrics``: the sandbox's metrics for Prometheus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from starlette.responses import Response

from emulator.listeners.control.endpoint_routing import handles
from rdss_sandbox.api.sandbox_state import SandboxState
from rdss_sandbox.shapes.events import Event
from rdss_sandbox.shapes.faults import Fault
from rdss_sandbox.shapes.status import Status

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric


class MetricDeclaration(NamedTuple):
    """A metric: its name, whether it can go down (``gauge``) or not (``counter``), and its labels."""

    name: str
    kind: Literal["gauge", "counter"]
    meaning: str
    labels: tuple[str, ...] = ()

    @property
    def exposed(self) -> str:
        """The name in ``/metrics``: that of a counter ends in ``_total`` there."""
        return f"{self.name}_total" if self.kind == "counter" else self.name


RECORDS: Final = MetricDeclaration(
    "sandbox_stream_records", "gauge", "Records that a stream holds", ("stream",)
)
BYTES: Final = MetricDeclaration(
    "sandbox_stream_bytes", "gauge", "Bytes of data that a stream holds", ("stream",)
)
OPEN_SHARDS: Final = MetricDeclaration(
    "sandbox_stream_open_shards", "gauge", "Open shards of a stream", ("stream",)
)
CLOSED_SHARDS: Final = MetricDeclaration(
    "sandbox_stream_closed_shards", "gauge", "Closed shards of a stream", ("stream",)
)
UPTIME: Final = MetricDeclaration("sandbox_uptime_seconds", "gauge", "Real seconds since the start")
CLOCK: Final = MetricDeclaration("sandbox_clock_seconds", "gauge", "The clock, in epoch seconds")
MESSAGES: Final = MetricDeclaration("sandbox_messages", "gauge", "Messages that came")
EVENTS: Final = MetricDeclaration("sandbox_events", "counter", "Events since the start", ("kind",))
INJECTED: Final = MetricDeclaration("sandbox_faults_injected", "counter", "Injections", ("fault", "type"))

METRICS: Final = (
    RECORDS,
    BYTES,
    OPEN_SHARDS,
    CLOSED_SHARDS,
    UPTIME,
    CLOCK,
    MESSAGES,
    EVENTS,
    INJECTED,
)
"""Every metric, in the order of ``/metrics`` and of docs/metrics.md."""


class EventCounts:
    """Counts events by kind, as a subscriber of ``Events``."""

    def __init__(self) -> None:
        self.by_kind: Counter[str] = Counter()

    def __call__(self, event: Event) -> None:
        self.by_kind[event.kind] += 1


class MetricsResources:
    """``/metrics``, from the sandbox's status at the time of the request."""

    def __init__(
        self, status: Callable[[], Status], faults: Callable[[], Iterable[Fault]], counts: EventCounts
    ) -> None:
        self._status = status
        self._faults = faults
        self._counts = counts

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics, as prometheus_client's registry expects of a collector."""
        from prometheus_client.metrics_core import Metric

        values = self._read_values()
        for declared in METRICS:
            metric = Metric(declared.name, declared.meaning, declared.kind)
            for labels, value in values[declared]:
                metric.add_sample(declared.exposed, dict(zip(declared.labels, labels, strict=True)), value)
            yield metric

    def _read_values(self) -> dict[MetricDeclaration, list[tuple[tuple[str, ...], float]]]:
        """The samples of each metric: the values of its labels, and its own."""
        status = self._status()
        return {
            RECORDS: [((each.name,), each.records) for each in status.streams],
            BYTES: [((each.name,), each.bytes) for each in status.streams],
            OPEN_SHARDS: [((each.name,), each.open_shards) for each in status.streams],
            CLOSED_SHARDS: [((each.name,), each.closed_shards) for each in status.streams],
            UPTIME: [((), status.uptime)],
            CLOCK: [((), status.clock.time)],
            MESSAGES: [((), status.messages)],
            EVENTS: [((kind,), count) for kind, count in sorted(self._counts.by_kind.items())],
            INJECTED: [((each.name, each.type), each.injected) for each in self._faults()],
        }

    @handles(SandboxState.metrics)
    def metrics(self) -> Response:
        from prometheus_client import CollectorRegistry
        from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

        registry = CollectorRegistry(auto_describe=False)
        registry.register(self)
        return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)
