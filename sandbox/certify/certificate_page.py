"""``certificate.html``: a certificate for people, in one file without a network."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Final

from emulator.pages.frame import COPY_BUTTONS, PageFrame, wide
from rdss_sandbox.shapes.certificate import Certificate, ClauseResult, ClauseVerdict, Finding
from sandbox.certify.clause import REASONS
from sandbox.certify.history import History
from sandbox.certify.run_drawing import draw_run, draw_stage

_FRAME: Final = PageFrame(
    here="Certificate",
    styles=(Path(__file__).with_name("certificate.css"),),
    scripts=(COPY_BUTTONS,),
)
_MEANINGS: Final = {
    "bronze": "It holds on ordinary days: what comes twice, late, or while it is down.",
    "silver": "It holds on bad days: shards that split, refusals, and calls that fail.",
    "gold": "It holds on the worst days: killed at any moment, and by its contract to the letter.",
}
_SHOWN: Final = 3


def page(certificate: Certificate, history: History | None) -> str:
    """The whole HTML document: failures first, what passes folded, the whole run behind them.

    Without a history it has no pictures.
    """
    title = f"{certificate.role}: {certificate.level or 'not certified'}"
    body = "\n".join(
        (
            _head(certificate),
            _failures(certificate, history),
            _smallest(certificate),
            _missed(certificate),
            _passes(certificate),
            *([] if history is None else _whole_run(history)),
        )
    )
    return _FRAME.render(title, body)


def _whole_run(history: History) -> tuple[str, ...]:
    return (
        "<section class=whole><h2>The whole run</h2><p class=hint>From left to right as it happened;",
        "a vertical line begins a stage. Point at a mark to see what it is.</p>",
        f"{draw_run(history)}</section>",
    )


def _head(certificate: Certificate) -> str:
    level, failed = certificate.level, len(certificate.failed)
    if level:
        said = _MEANINGS[level]
    elif failed:
        said = f"{failed} of its {len(certificate.tried)} clauses {'fails' if failed == 1 else 'fail'}."
    else:
        said = "Nothing failed, and too little was shown for a level."
    levels = "".join(
        f'<li class="{name}"><b>{name}</b> <span class="{_style(verdict)}">{verdict}</span></li>'
        for name, verdict in certificate.levels.items()
    )
    remarks = "".join(f"<p>{escape(each)}</p>" for each in certificate.remarks)
    return (
        f"<header><p class=name>Certificate of a {escape(certificate.role)}</p>"
        f'<h1 class="level {level or ""}">{(level or "no level").capitalize()}</h1><p class=lead>{said}</p>'
        f"<ul class=levels>{levels}</ul>{remarks}<dl class=facts>{_facts(certificate)}</dl></header>"
    )


def _facts(certificate: Certificate) -> str:
    kit = certificate.kit
    counts = ", ".join(f"{count} {verdict}" for verdict, count in certificate.counts.items() if count)
    rows = {
        "client": f"<code>{escape(shlex.join(certificate.subject['command']))}</code>",
        "channel": escape(certificate.channel),
        "clauses": escape(counts),
        "seed": f"{certificate.seed}, in {certificate.seconds:g} s",
        "judged by": f"sandbox {escape(str(kit['sandbox']))}, version {kit['version']} of the clauses",
        **{
            escape(name): f"<code>sha256 {digest}</code>"
            for name, digest in certificate.subject["files"].items()
        },
    }
    if certificate.clauses:
        rows["repeat with"] = f"<code>{escape(certificate.clauses[0].replay)}</code>"
    return "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in rows.items())


def _style(verdict: ClauseVerdict) -> str:
    return {ClauseVerdict.PASS: "pass", ClauseVerdict.FAIL: "fail"}.get(verdict, "open")


def _failures(certificate: Certificate, history: History | None) -> str:
    failed = [each for each in certificate.tried if each.verdict is ClauseVerdict.FAIL]
    drawn: set[str] = set()
    articles = "".join(_failure(each, certificate.stages, history, drawn) for each in failed)
    return f"<section><h2>What failed</h2>{articles}</section>" if failed else ""


def _failure(
    result: ClauseResult, stages: Mapping[str, str], history: History | None, drawn: set[str]
) -> str:
    """One failed clause. A stage's picture comes once: ``drawn`` has those that came, and is added to."""
    found = sorted(result.evidence, key=lambda each: not each.output)
    order = list(dict.fromkeys(each.stage for each in found))
    by_stage = groupby(sorted(found, key=lambda each: order.index(each.stage)), lambda each: each.stage)
    parts = []
    for stage, findings in by_stage:
        picture = "" if history is None or stage in drawn else draw_stage(history, stage)
        drawn.add(stage)
        parts.append(_stage(stage, stages.get(stage, ""), list(findings), picture))
    advice = f"<p class=note><b>What to do.</b> {escape(result.advice)}</p>" if result.advice else ""
    return (
        f"<article class='card fail'><h3>{escape(result.demand)}</h3>"
        f"<p class=hint><code>{result.id}</code>, {result.level}. "
        f"{escape(result.source)}. Tried {result.exposure} times, {result.needed} needed.</p>"
        f"{advice}{''.join(parts)}</article>"
    )


def _stage(name: str, does: str, findings: list[Finding], picture: str) -> str:
    heading = f"<h4>{escape(name)}</h4><p class=hint>{escape(does)}</p>" if name else ""
    shown, more = findings[:_SHOWN], findings[_SHOWN:]
    rest = (
        f"<details><summary>and {len(more)} more</summary><ul>{_list_findings(more)}</ul></details>"
        if more
        else ""
    )
    return f"{heading}<ul>{_list_findings(shown)}</ul>{rest}{picture}"


def _list_findings(findings: Iterable[Finding]) -> str:
    return "".join(
        f"<li>{escape(each.said)}"
        + (f" ({each.times} times)" if each.times > 1 else "")
        + (f"<pre>{escape(chr(10).join(each.output))}</pre>" if each.output else "")
        + "</li>"
        for each in findings
    )


def _smallest(certificate: Certificate) -> str:
    if not certificate.smallest:
        return ""
    found = "".join(
        f"<p>{escape(each.sentence)}</p><pre>{escape(each.replay)}</pre>" for each in certificate.smallest
    )
    return f"<section><h2>The smallest runs that fail</h2>{found}</section>"


def _missed(certificate: Certificate) -> str:
    """What bars a level without a failure, and why."""
    if not certificate.missed:
        return ""
    rows = "".join(
        _row(each, REASONS.get(each.reason or "", each.reason or "")) for each in certificate.missed
    )
    return f"<section><h2>What was not shown</h2>{_table('what was not shown', rows, 'why not')}</section>"


def _passes(certificate: Certificate) -> str:
    """What passes, and what was not tried, folded."""
    passed = [each for each in certificate.tried if each.verdict is ClauseVerdict.PASS]
    absent = [each for each in certificate.tried if each.verdict is ClauseVerdict.NOT_APPLICABLE]
    folds = (
        (f"{len(passed)} {'passes' if len(passed) == 1 else 'pass'}", "tried", [*passed]),
        (f"{len(absent)} not applicable", "why", absent),
        (f"{len(certificate.left_out)} not tried", "why", [*certificate.left_out]),
    )
    return "".join(
        f"<details><summary>{title}</summary>"
        f"{_table(title, ''.join(map(_folded, clauses)), column)}</details>"
        for title, column, clauses in folds
        if clauses
    )


def _folded(result: ClauseResult) -> str:
    passed = result.verdict is ClauseVerdict.PASS
    why = REASONS.get(result.reason or "", result.reason or "")
    return _row(result, f"{result.exposure} times, {result.needed} needed" if passed else why)


def _row(result: ClauseResult, last: str) -> str:
    return f"<tr><td><code>{result.id}</code><td>{result.level}<td>{escape(result.demand)}<td>{escape(last)}"


def _table(label: str, rows: str, column: str) -> str:
    head = "".join(f"<th scope=col>{each}" for each in ("clause", "level", "what it demands", column))
    return wide(f"<table><thead><tr>{head}</thead><tbody>{rows}</tbody></table>", label)
