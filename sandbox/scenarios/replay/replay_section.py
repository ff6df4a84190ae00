"""The section of a run's page that plays the run, with its script, style and data."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Final

from emulator.pages.frame import embed_json
from sandbox.scenarios.outcome import Run
from sandbox.scenarios.replay.first_failure import FirstFailure
from sandbox.scenarios.replay.replay_data import build_replay_data
from sandbox.scenarios.replay.replay_steps import ReplayStep
from sandbox.scenarios.timeline_drawing import TimelineDrawing

_MOST_EFFECTS: Final = 5
_SPEEDS: Final = (1, 4, 16, 64, 256)


SCRIPT: Final = Path(__file__).with_name("replay.js")
STYLE: Final = Path(__file__).with_name("replay.css")


def replay_section(run: Run, found: TimelineDrawing, lit: FirstFailure | None) -> str:
    """The section, with the run's data; the page puts the script at its end."""
    data = embed_json("replay-data", build_replay_data(run, found, lit))
    speeds = "".join(
        f'<option value="{each}">{each} step{"s" if each > 1 else ""} a second</option>' for each in _SPEEDS
    )
    return (
        '<section id="replay" aria-labelledby="replay-title"><h2 id="replay-title">Replay</h2>'
        '<div class="stage"><canvas id="stage" role="img" tabindex="0" aria-label="the run as a picture" '
        'aria-describedby="replay-keys"></canvas></div>'
        '<div class="controls" role="group" aria-label="playing">'
        '<button type="button" id="first">First trouble</button>'
        '<button type="button" id="back">Step back</button>'
        '<button type="button" id="play">Play</button>'
        '<button type="button" id="forward">Step forward</button>'
        f'<label>Speed <select id="speed">{speeds}</select></label></div>'
        f'<input type="range" id="position" min="0" max="{len(found.steps)}" value="0" step="1" '
        'aria-label="position in the run">'
        '<p id="said" role="status" aria-live="polite"></p>'
        '<div id="life" role="region" aria-label="the life of a message" tabindex="-1" hidden></div>'
        f"{_first_failure(found.steps, lit)}"
        '<p class="hint" id="replay-keys">Space plays and holds, the arrow keys step, Home and End go to the '
        "ends. Click a message to see its life; Enter in the picture shows the life of the message of this "
        "step.</p>"
        f"{data}"
        '<noscript><p class="hint">The replay needs JavaScript. All of it is also in the timeline and in the '
        "tables below.</p></noscript></section>"
    )


def _first_failure(steps: Sequence[ReplayStep], lit: FirstFailure | None) -> str:
    if lit is None:
        return '<p id="first-failure">Nothing went wrong in this run.</p>'
    marked = (
        [(lit.cause, "cause")] if lit.cause == lit.wrong else [(lit.cause, "cause"), (lit.wrong, "wrong")]
    )
    marked += [(index, "effect") for index in lit.effects[:_MOST_EFFECTS]]
    # The cause stands first, also where it is told after its effect.
    rows = "".join(_row(index, mark, steps[index]) for index, mark in [marked[0], *sorted(marked[1:])])
    more = len(lit.effects) - _MOST_EFFECTS
    left = f"<p class=hint>and {more:,} more effects, all lit in the timeline</p>" if more > 0 else ""
    title = "What went wrong first." if lit.fails else "The first fault, and what it did."
    fails = f" It makes the verdict fail: {', '.join(lit.fails)}." if lit.fails else ""
    return (
        f'<div id="first-failure"><p><strong>{title}</strong>{escape(fails)}</p><ol>{rows}</ol>{left}</div>'
    )


def _row(index: int, mark: str, step: ReplayStep) -> str:
    return (
        f'<li class="{mark}"><span class="tag">{_TAGS[mark]}</span> '
        f'<button type="button" data-step="{index}">+{step.at:,.3f} s</button> {escape(step.text)}</li>'
    )


_TAGS: Final = {"cause": "cause", "wrong": "went wrong", "effect": "effect"}
