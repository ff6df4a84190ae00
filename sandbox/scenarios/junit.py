"""A run as JUnit XML for CI servers: a test case for each line of the verdict."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from sandbox.judging.verdict import VerdictLine
from sandbox.scenarios.outcome import Run


def junit(run: Run) -> bytes:
    """The JUnit document: a line that does not hold is a failure, an undecided one is skipped."""
    lines = run.judgement.lines
    suite = ET.Element(
        "testsuite",
        name=run.scenario.name,
        tests=str(max(len(lines), 1)),
        failures=str(sum(line.holds is False for line in lines)),
        skipped=str(sum(line.holds is None for line in lines) or int(not lines)),
        errors="0",
        time=f"{run.judgement.facts.get('took', 0):.3f}",
    )
    properties = ET.SubElement(suite, "properties")
    for name, value in (("seed", run.seed), ("channel", run.kind), ("repeat with", run.command)):
        ET.SubElement(properties, "property", name=name, value=str(value))
    for line in lines or (VerdictLine("played", "no", "yes", holds=None),):
        case = ET.SubElement(suite, "testcase", classname=f"scenario.{run.scenario.name}", name=line.claim)
        why = run.judgement.note or f"{line.claim} is {line.observed}; it must be {line.expected}"
        if line.holds is False:
            ET.SubElement(case, "failure", message=why).text = f"repeat with: {run.command}"
        elif line.holds is None:
            ET.SubElement(case, "skipped", message=why)
    ET.indent(suite)
    document: bytes = ET.tostring(suite, encoding="utf-8", xml_declaration=True)
    return document + b"\n"
