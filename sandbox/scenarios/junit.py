"""A run as JUnit XML for CI servers: a test case for each line of the verdict."""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree import ElementTree as ET

from sandbox.judging.verdict import VerdictLine
from sandbox.scenarios.outcome import Run


def junit(run: Run) -> bytes:
    """The JUnit document: a line that does not hold is a failure.

    One that is undecided is skipped, and so is a fact that cannot be seen of a command.
    """
    judgement = run.judgement
    lines = judgement.lines
    unseen = {
        fact: why
        for fact, why in judgement.not_observable.items()
        if fact not in {line.claim for line in lines}
    }
    suite = ET.Element(
        "testsuite",
        name=run.scenario.name,
        tests=str(max(len(lines) + len(unseen), 1)),
        failures=str(sum(line.holds is False for line in lines)),
        skipped=str(sum(line.holds is None for line in lines) + len(unseen) or int(not lines)),
        errors="0",
        time=f"{run.judgement.facts.get('took', 0):.3f}",
    )
    properties = ET.SubElement(suite, "properties")
    for name, value in (("seed", run.seed), ("channel", run.kind), ("repeat with", run.command)):
        ET.SubElement(properties, "property", name=name, value=str(value))
    for line in lines or (VerdictLine("played", "no", "yes", holds=None),):
        case = ET.SubElement(suite, "testcase", classname=f"scenario.{run.scenario.name}", name=line.claim)
        why = judgement.note or f"{line.claim} is {line.observed}; it must be {line.expected}"
        if line.holds is False:
            text = "\n".join((*judgement.remarks, f"repeat with: {run.command}"))
            ET.SubElement(case, "failure", message=why).text = text
        elif line.holds is None:
            ET.SubElement(case, "skipped", message=_unseen(judgement.not_observable, line.claim) or why)
    for fact in unseen:
        case = ET.SubElement(suite, "testcase", classname=f"scenario.{run.scenario.name}", name=fact)
        ET.SubElement(case, "skipped", message=_unseen(unseen, fact))
    ET.indent(suite)
    document: bytes = ET.tostring(suite, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _unseen(unseen: Mapping[str, str], fact: str) -> str:
    """Why a fact is not observable; empty where it is."""
    return f"{fact} is not observable: {unseen[fact]}" if fact in unseen else ""
