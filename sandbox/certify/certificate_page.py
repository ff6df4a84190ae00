"""``certificate.html``: a certificate for people, in one file without a network."""

from __future__ import annotations

import shlex
from html import escape
from importlib.resources import files
from typing import Final

from sandbox.certify.certificate import Certificate, ClauseResult, ClauseVerdict
from sandbox.certify.history import History
from sandbox.certify.run_drawing import draw_run

_CLASSES: Final = {
    ClauseVerdict.PASS: "pass",
    ClauseVerdict.FAIL: "fail",
    ClauseVerdict.NOT_EXERCISED: "open",
}
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"


def page(certificate: Certificate, history: History) -> str:
    """The whole HTML document."""
    style = (files("sandbox.certify") / "certificate.css").read_text(encoding="utf-8")
    title = f"{certificate.role}: {certificate.level or 'not certified'}"
    body = "\n".join((_head(certificate), _clauses(certificate), _smallest(certificate), draw_run(history)))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


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
    return (
        f"<header><h1>Certificate of a {escape(certificate.role)}</h1><p class=level>{level}</p>"
        f"<dl>{listed}</dl></header>"
    )


def _clauses(certificate: Certificate) -> str:
    rows = "".join(_clause(each) for each in certificate.clauses)
    return (
        "<main><h2>Clauses</h2><table><thead><tr><th>clause<th>verdict<th>tried<th>what it demands</thead>"
        f"<tbody>{rows}</tbody></table></main>"
    )


def _clause(result: ClauseResult) -> str:
    evidence = "".join(f"<li>{escape(finding.said)}</li>" for finding in result.evidence)
    shown = f"<ul>{evidence}</ul><code>{escape(result.replay)}</code>" if evidence else ""
    reason = f"<br>{escape(result.reason)}" if result.reason else ""
    return (
        f"<tr><td><code>{result.id}</code><td class={_CLASSES[result.verdict]}>{result.verdict}{reason}"
        f"<td class=n>{result.exposure} of {result.needed}"
        f"<td>{escape(result.demand)} <small>({escape(result.source)})</small>{shown}"
    )


def _smallest(certificate: Certificate) -> str:
    found = certificate.smallest
    if found is None:
        return ""
    said = f"<p>{escape(found.sentence)}</p><code>{escape(found.replay)}</code>"
    return f"<section><h2>The failure made small</h2>{said}</section>"
