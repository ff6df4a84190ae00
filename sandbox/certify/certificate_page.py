"""``certificate.html``: a certificate for people, in one file without a network."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from typing import Final

from emulator.pages.frame import render_page
from rdss_sandbox.shapes.certificate import Certificate, ClauseResult, ClauseVerdict, Finding
from sandbox.certify.history import History
from sandbox.certify.run_drawing import draw_run

_CLASSES: Final = {
    ClauseVerdict.PASS: "pass",
    ClauseVerdict.FAIL: "fail",
    ClauseVerdict.NOT_EXERCISED: "open",
    ClauseVerdict.NOT_APPLICABLE: "open",
}


def page(certificate: Certificate, history: History) -> str:
    """The whole HTML document."""
    style = (files("sandbox.certify") / "certificate.css").read_text(encoding="utf-8")
    title = f"{certificate.role}: {certificate.level or 'not certified'}"
    body = "\n".join((_head(certificate), _clauses(certificate), _smallest(certificate), draw_run(history)))
    return render_page(title, body, style=style)


def _head(certificate: Certificate) -> str:
    counts = ", ".join(f"{count} {verdict}" for verdict, count in certificate.counts.items())
    command = shlex.join(certificate.subject["command"])
    rows = {
        "client": f"<code>{escape(command)}</code>",
        "clauses": escape(counts),
        "seed": str(certificate.seed),
        "took": f"{certificate.seconds:g} s",
        "kit": f"version {certificate.kit['version']}, sandbox {escape(str(certificate.kit['sandbox']))}",
        **{
            escape(name): f"<code>sha256 {digest}</code>"
            for name, digest in certificate.subject["files"].items()
        },
    }
    listed = "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in rows.items())
    level = (
        f"It reaches <strong>{certificate.level}</strong>." if certificate.level else "It reaches no level."
    )
    levels = ", ".join(f"{name}: {verdict}" for name, verdict in certificate.levels.items())
    remarks = "".join(f"<p>{escape(each)}</p>" for each in certificate.remarks)
    return (
        f"<header><h1>Certificate of a {escape(certificate.role)}</h1><p class=level>{level}</p>"
        f"<p>{escape(levels)}</p>{remarks}<dl>{listed}</dl></header>"
    )


def _clauses(certificate: Certificate) -> str:
    rows = "".join(_clause(each, certificate.stages) for each in certificate.clauses)
    return (
        "<main><h2>Clauses</h2><table><thead><tr><th>clause<th>verdict<th>tried<th>what it demands</thead>"
        f"<tbody>{rows}</tbody></table></main>"
    )


def _clause(result: ClauseResult, stages: Mapping[str, str]) -> str:
    evidence = "".join(_finding(each, stages.get(each.stage, "")) for each in result.evidence)
    shown = f"<ul>{evidence}</ul><code>{escape(result.replay)}</code>" if evidence else ""
    reason = f"<br>{escape(result.reason)}" if result.reason else ""
    return (
        f"<tr><td><code>{result.id}</code><td class={_CLASSES[result.verdict]}>{result.verdict}{reason}"
        f"<td class=n>{result.exposure} of {result.needed}"
        f"<td>{escape(result.demand)} <small>({escape(result.source)})</small>{shown}"
    )


def _finding(finding: Finding, does: str) -> str:
    where = f"<b>{escape(finding.stage)}</b>. {escape(does)} " if finding.stage else ""
    times = f" ({finding.times} times)" if finding.times > 1 else ""
    output = f"<pre>{escape(chr(10).join(finding.output))}</pre>" if finding.output else ""
    return f"<li>{where}{escape(finding.said)}{times}{output}</li>"


def _smallest(certificate: Certificate) -> str:
    if not certificate.smallest:
        return ""
    found = "".join(
        f"<p>{escape(each.sentence)}</p><code>{escape(each.replay)}</code>" for each in certificate.smallest
    )
    return f"<section><h2>The failures made small</h2>{found}</section>"
