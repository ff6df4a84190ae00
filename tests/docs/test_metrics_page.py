"""The page of the metrics says what a sandbox exposes."""

from __future__ import annotations

import re

import httpx
from prometheus_client.parser import text_string_to_metric_families

from emulator.assembly.embedded import embedded
from emulator.settings.settings import Settings
from rdss_sandbox.client import Client
from rdss_sandbox.shapes.faults import NewFault
from tests.docs.metrics_page import PAGE, page


def test_the_page_is_made_of_the_declarations() -> None:
    """When this fails: python -m tests.docs.metrics_page."""
    assert PAGE.read_text(encoding="utf-8") == page()


def test_a_sandbox_exposes_what_the_page_lists() -> None:
    """Each metric with its type and its labels, as a parser of Prometheus reads them, and no other."""
    settings = Settings(aws_port=0, control_port=0, amqp="none", data_dir=None)
    with embedded(settings) as sandbox, Client(sandbox.control) as client:
        client.add_fault(NewFault("duplicate"))
        text = httpx.get(f"{sandbox.control}/metrics", trust_env=False).text
    exposed = {
        (sample.name, family.type, tuple(sample.labels))
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| (.*?) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert exposed == {(name, kind, tuple(re.findall(r"`(\w+)`", labels))) for name, kind, labels in rows}
