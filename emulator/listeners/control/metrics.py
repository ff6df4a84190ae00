"""``GET /metrics``: the sandbox's metrics for Prometheus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from starlette.responses import Response

from emulator.listeners.control.routing import handles
from rdss_sandbox.api.sandbox_state import SandboxState
from rdss_sandbox.shapes.events import Event
from rdss_sandbox.shapes.faults import Fault
from rdss_sandbox.shapes.status import Status

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric


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
        from prometheus_client.metrics_core import (
            CounterMetricFamily,
            GaugeMetricFamily,
        )

        status = self._status()
        for name, help_text in (
            ("records", "Records that a stream holds"),
            ("bytes", "Bytes of data that a stream holds"),
            ("open_shards", "Open shards of a stream"),
            ("closed_shards", "Closed shards of a stream"),
        ):
            gauge = GaugeMetricFamily(f"sandbox_stream_{name}", help_text, labels=["stream"])
            for stream in status.streams:
                gauge.add_metric([stream.name], getattr(stream, name))
            yield gauge
        yield GaugeMetricFamily("sandbox_uptime_seconds", "Real seconds since the start", status.uptime)
        yield GaugeMetricFamily("sandbox_clock_seconds", "The clock, in epoch seconds", status.clock.time)
        yield GaugeMetricFamily("sandbox_messages", "Messages that came", status.messages)
        events = CounterMetricFamily("sandbox_events", "Events since the start", labels=["kind"])
        for kind, count in sorted(self._counts.by_kind.items()):
            events.add_metric([kind], count)
        yield events
        injected = CounterMetricFamily("sandbox_faults_injected", "Injections", labels=["fault", "type"])
        for fault in self._faults():
            injected.add_metric([fault.name, fault.type], fault.injected)
        yield injected

    @handles(SandboxState.metrics)
    def metrics(self) -> Response:
        from prometheus_client import CollectorRegistry
        from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

        registry = CollectorRegistry(auto_describe=False)
        registry.register(self)
        return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)
