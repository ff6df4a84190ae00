"""The page of the metrics, made of their declarations: ``python -m tests.docs.metrics_page`` writes it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from emulator.listeners.control.metrics import METRICS

PAGE: Final = Path(__file__).parents[2] / "docs/metrics.md"

_TEXT: Final = """\
# Metrics

`GET /metrics` on the control port has the metrics of a sandbox in the text format of
[Prometheus](https://prometheus.io/docs/instrumenting/exposition_formats/). They are read at the time of the
request, and cost nothing between two. The extra `metrics` brings what they need.

<!-- made of the declarations: python -m tests.docs.metrics_page -->

| metric | type | labels | |
|---|---|---|---|
{rows}

A metric with labels has a line for each stream, kind of event or fault that there is. The strikes of a fault
are counted as long as it is in force. Counters begin at 0 when the sandbox starts, and gauges of streams when
it is emptied.

<!-- slow: a sandbox -->
<!-- given: sandbox up --detach -->
```sh
sandbox fault add duplicate --name twice --toxicity 1
sandbox message sample --count 3 | sandbox send -
curl --silent http://127.0.0.1:4570/metrics | grep 'sandbox_faults_injected_total.*"twice".* 3'
```

For Prometheus it is a target of `static_configs`, `127.0.0.1:4570`. A sandbox with a [token](security.md)
wants it from Prometheus too: under `authorization`, as `credentials`.
"""


def page() -> str:
    """The page as it should be."""
    return _TEXT.format(rows="\n".join(_rows()))


def _rows() -> Iterator[str]:
    for each in METRICS:
        labels = ", ".join(f"`{label}`" for label in each.labels)
        yield f"| `{each.exposed}` | {each.kind} | {labels} | {each.meaning} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
