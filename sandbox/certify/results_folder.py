"""The folder of a certificate: JSON, a page, JUnit XML, a badge, and the events of the run."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

import msgspec

from rdss_sandbox.shapes.certificate import FILE, Certificate, ClauseVerdict
from sandbox.certify.certificate_page import page
from sandbox.certify.history import History
from sandbox.certify.lab import encode_history

_COLOURS: Final = {"gold": "#b8860b", "silver": "#708090", "bronze": "#a0522d", None: "#b22222"}
_CHARACTER: Final = 7


def write_results(certificate: Certificate, history: History | None, folder: Path) -> None:
    """Write all files into the folder, which is made if it is not there. Raises OSError.

    Without a history, of which a certificate of parts has none, there are no pictures and no events.
    """
    folder.mkdir(parents=True, exist_ok=True)
    whole = msgspec.json.format(msgspec.json.encode(certificate), indent=2)
    events = () if history is None else (("events.ndjson", encode_history(history)),)
    for name, content in (
        (FILE, (whole, b"\n")),
        ("certificate.html", (page(certificate, history).encode(),)),
        ("junit.xml", (junit(certificate),)),
        ("badge.svg", (badge(certificate).encode(),)),
        *events,
    ):
        # A link of that name is replaced, and what it leads to stays as it is.
        (folder / name).unlink(missing_ok=True)
        with (folder / name).open("xb") as file:
            file.writelines(content)


def junit(certificate: Certificate) -> bytes:
    """The certificate as JUnit XML: a clause is a test case, one that was not exercised is skipped."""
    counts = certificate.counts
    suite = ET.Element(
        "testsuite",
        name=f"sandbox certify {certificate.role}",
        tests=str(len(certificate.clauses)),
        failures=str(counts[ClauseVerdict.FAIL]),
        skipped=str(counts[ClauseVerdict.NOT_EXERCISED] + counts[ClauseVerdict.NOT_APPLICABLE]),
        errors="0",
        time=str(certificate.seconds),
    )
    for each in certificate.clauses:
        case = ET.SubElement(suite, "testcase", classname=f"certify.{certificate.role}", name=each.id)
        if each.verdict is ClauseVerdict.FAIL:
            text = "\n".join(line for finding in each.evidence for line in (finding.said, *finding.output))
            ET.SubElement(case, "failure", message=each.evidence[0].said).text = f"{text}\n{each.replay}"
        elif each.verdict is not ClauseVerdict.PASS:
            ET.SubElement(case, "skipped", message=f"{each.reason}: {each.exposure} of {each.needed}")
    ET.indent(suite)
    document: bytes = ET.tostring(suite, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def badge(certificate: Certificate) -> str:
    """A small picture of the level for a README."""
    left, right = f"rdss {certificate.role}", certificate.level or "not certified"
    widths = [len(text) * _CHARACTER + 10 for text in (left, right)]
    whole, colour = sum(widths), _COLOURS[certificate.level]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{whole}" height="20" role="img" '
        f'aria-label="{escape(left)}: {escape(right)}"><title>{escape(left)}: {escape(right)}</title>'
        f'<rect width="{widths[0]}" height="20" fill="#444"/>'
        f'<rect x="{widths[0]}" width="{widths[1]}" height="20" fill="{colour}"/>'
        '<g fill="#fff" font-family="Verdana,sans-serif" font-size="11" text-anchor="middle">'
        f'<text x="{widths[0] / 2}" y="14">{escape(left)}</text>'
        f'<text x="{widths[0] + widths[1] / 2}" y="14">{escape(right)}</text></g></svg>\n'
    )
