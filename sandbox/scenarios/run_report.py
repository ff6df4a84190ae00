"""``report.html``: a run for people, in one self-contained file."""

from __future__ import annotations

import shlex
from collections import Counter
from html import escape
from pathlib import Path
from typing import Final

from emulator.pages.frame import PageFrame, wide
from rdss_sandbox.text.timestamps import timestamp
from sandbox.judging.run_index import INDEX
from sandbox.judging.verdict import Verdict, VerdictLine
from sandbox.scenarios.facts import CONTRACT, MEANINGS
from sandbox.scenarios.outcome import Run
from sandbox.scenarios.play import START
from sandbox.scenarios.replay.first_failure import FirstFailure, find_first_failure
from sandbox.scenarios.replay.replay_section import SCRIPT, STYLE, replay_section
from sandbox.scenarios.replay.replay_steps import fold_events
from sandbox.scenarios.timeline_drawing import TimelineDrawing, draw, timeline

_MARKS: Final = {True: ("holds", "pass"), False: ("fails", "fail"), None: ("not shown", "open")}
_SAID: Final = {
    Verdict.PASS: "Every line holds.",
    Verdict.FAIL: "Some lines do not hold.",
    Verdict.INCONCLUSIVE: "Something that should be shown did not happen.",
}
_HEADINGS: Final = (
    "<tr><th scope=col>fact<th scope=col class=n>observed<th scope=col class=n>must be<th scope=col>verdict"
    "<th scope=col>meaning"
)
_MOST_MESSAGES: Final = 500


def page(run: Run) -> str:
    """The whole HTML document."""
    found = timeline(steps := fold_events(run.events))
    lit = find_first_failure(steps, run.judgement.lines, run.culprits)
    played = replay_section(run, found, lit) if steps else ""
    body = "\n".join(
        (
            _head(run),
            played,
            _timeline(run, found, lit),
            _teaching(run),
            _claims(run),
            _facts(run),
            _messages(found),
        )
    )
    return PageFrame(
        here="Runs",
        places={"Runs": f"../../{INDEX}"},
        styles=(Path(__file__).with_name("report.css"), STYLE),
        scripts=(SCRIPT,) if steps else (),
    ).render(f"{run.scenario.name}: {run.judgement.verdict}", body)


def _head(run: Run) -> str:
    verdict = run.judgement.verdict
    reason = run.judgement.note or _SAID[verdict]
    client = (
        f"<dt>client</dt><dd><code>{escape(shlex.join(run.against.command))}</code></dd>"
        if run.against
        else ""
    )
    return (
        f"<header><p class=name>{escape(run.scenario.name)}</p><h1>{escape(run.scenario.title)}</h1>"
        f'<p><strong class="badge {verdict}">{verdict}</strong> {escape(reason)}</p>'
        f"<dl class=facts><dt>seed</dt><dd>{run.seed}</dd><dt>channel</dt><dd>{run.kind}</dd>{client}"
        f"<dt>began</dt><dd>{timestamp(START)} on the scenario's clock</dd>"
        f"<dt>repeat with</dt><dd><code>{escape(run.command)}</code></dd></dl></header>"
    )


def _teaching(run: Run) -> str:
    teach = run.scenario.teach
    paragraphs = (
        ("What happens", teach.happens),
        ("Why", teach.why),
        ("What a correct client does", teach.client),
    )
    parts = "".join(
        f"<div class=note><h2>{title}</h2><p>{escape(text)}</p></div>" for title, text in paragraphs
    )
    return f"<section class=cards>{parts}</section>"


def _timeline(run: Run, found: TimelineDrawing, lit: FirstFailure | None) -> str:
    if not found.steps:
        return ""
    drawing = draw(found, lit)
    legend = "".join(
        f'<li><svg viewBox="0 0 14 14"><circle class="dot {style}" cx="7" cy="7" r="4.5"/></svg>{text}</li>'
        for style, text in _legend(run)
    )
    return (
        "<section><h2>Timeline</h2><p class=hint>Each line is a message on its way, from left to right as it "
        "happened; dotted lines are where nothing happened for a while. Point at a dot to see what it is; "
        "click to go there.</p>"
        f"<ul class=legend>{legend}</ul><div class=chart>{drawing.names}"
        f'<div class=scroll id=timeline-scroll tabindex="0" role="region" '
        f'aria-label="the timeline">{drawing.picture}</div></div></section>'
    )


def _legend(run: Run) -> list[tuple[str, str]]:
    """The meanings of the dots that occur in the timeline."""
    kinds = Counter(event.kind for event in run.events)
    repeated = run.judgement.facts.get("repeated", 0) + run.judgement.facts.get("redelivered", 0)
    shown = {
        "offered": kinds["message.offered"],
        "refused": kinds["message.refused"],
        "again": repeated,
        "processed": kinds["message.processed"],
        "rejected": kinds["message.rejected"],
        "injected": kinds["fault.injected"],
        "crashed": kinds["receiver.crashed"] + kinds["receiver.failed"],
    }
    return [(style, _LEGEND[style]) for style, count in shown.items() if count]


_LEGEND: Final = {
    "offered": "sent, taken, delivered",
    "refused": "refused, or no answer",
    "again": "delivered again",
    "processed": "processed",
    "rejected": "rejected to a queue",
    "injected": "a fault strikes",
    "crashed": "the receiver dies",
}


def _claims(run: Run) -> str:
    if not run.judgement.lines:
        return ""
    judgement = run.judgement
    claims = {line.claim for line in judgement.lines}
    rows = "".join(_claim(line) for line in judgement.lines)
    rows += "".join(
        f"<tr><td><code>{escape(fact)}</code><td class=n colspan=2>not observable"
        f'<td><span class="badge open">not judged</span><td>{escape(why)}'
        for fact, why in judgement.not_observable.items()
        if fact not in claims
    )
    remarks = "".join(f"<li>{escape(each)}" for each in judgement.remarks)
    reason = f"<ul>{remarks}</ul>" if remarks else ""
    return (
        f"<section><h2>Verdict</h2>{reason}"
        f"{wide(f'<table><thead>{_HEADINGS}</thead><tbody>{rows}</tbody></table>', 'the verdict')}</section>"
    )


def _claim(line: VerdictLine) -> str:
    mark, style = _MARKS[line.holds]
    contract = " (demanded in every scenario)" if line.claim in CONTRACT else ""
    return (
        f"<tr><td><code>{escape(line.claim)}</code><td class=n>{line.observed}<td class=n>{line.expected}"
        f'<td><span class="badge {style}">{mark}</span><td>{_meaning(line.claim)}{contract}'
    )


def _meaning(fact: str) -> str:
    return escape(MEANINGS.get(fact.partition(".")[0], ""))


def _facts(run: Run) -> str:
    rows = "".join(
        f"<tr><td><code>{escape(fact)}</code><td class=n>{value:,.10g}<td>{_meaning(fact)}"
        for fact, value in run.judgement.facts.items()
    )
    return (
        f"<section><details><summary>All facts</summary>{wide(f'<table>{rows}</table>', 'all facts')}"
        "</details></section>"
    )


def _messages(found: TimelineDrawing) -> str:
    """The steps of each message, in order, as a table; parts of a sequence are with their whole message."""
    texts: dict[str, list[str]] = {}
    for step in found.steps:
        if step.message:
            struck = step.kind == "fault.injected"
            what = f"fault {step.place}" if struck else step.kind.removeprefix("message.")
            texts.setdefault(step.message, []).append(f"+{step.at:.3f} s {what}")
    rows = "".join(
        f'<tr><td><button type="button" class=life data-message="{escape(name)}">{escape(name)}</button>'
        f"<td>{escape(' → '.join(steps))}"
        for name, steps in list(texts.items())[:_MOST_MESSAGES]
    )
    left = f"<p>and {len(texts) - _MOST_MESSAGES:,} more</p>" if len(texts) > _MOST_MESSAGES else ""
    return (
        f"<section><details><summary>All messages</summary>{wide(f'<table>{rows}</table>', 'all messages')}"
        f"{left}</details></section>"
    )
