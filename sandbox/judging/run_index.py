"""``runs/index.html``: the recorded runs with verdict, seed and duration, and two of them side by side."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from html import unescape
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import msgspec
from jinja2 import Environment

from emulator.pages.frame import CONTROL_PLACES, PageFrame, embed_json
from rdss_sandbox.files.rewriting import rewriting
from sandbox.judging.runs import RUNS

INDEX: Final = "index.html"
_SUMMARY: Final = "summary.json"
_REPORT: Final = "report.html"
MOST_RUNS: Final = 200


class RecordedRun(msgspec.Struct, kw_only=True):
    """A run as its ``summary.json`` tells it. Runs that are not of a scenario lack some fields.

    ``folder`` is relative to the folder of all runs. ``seconds`` is the duration: of a scenario on its own
    clock, of a demonstration in real time; None where the summary does not tell it.
    """

    name: str = ""
    verdict: str = ""
    seed: int | None = None
    channel: str = ""
    facts: dict[str, float] = {}
    seconds: float | None = None
    folder: str = ""
    report: bool = False


_FRAME: Final = PageFrame(
    here="Runs",
    styles=(Path(__file__).with_name("run_index.css"),),
    scripts=(Path(__file__).with_name("run_index.js"),),
    allow=("frame-src 'self' file:",),
)
SERVED_FRAME: Final = replace(_FRAME, places=CONTROL_PLACES)
"""The frame where the control port shows the runs."""
_TITLE: Final = re.compile(r"<title>([^<]*)</title>")
_HEAD: Final = 1 << 20
_decode = msgspec.json.Decoder(RecordedRun).decode


def read_runs(runs: Path = RUNS, most: int = MOST_RUNS) -> list[RecordedRun]:
    """The last ``most`` runs in the folder, newest first; what cannot be read is left out."""
    # The link to the latest run is the same run a second time.
    folders = [path.parent for path in runs.glob(f"*/*/{_SUMMARY}") if not path.parent.is_symlink()]
    folders.sort(key=lambda folder: (folder.name, folder.parent.name), reverse=True)
    return [found for folder in folders[:most] if (found := _read_run(folder)) is not None]


def _read_run(folder: Path) -> RecordedRun | None:
    try:
        found = _decode((folder / _SUMMARY).read_bytes())
    except (OSError, msgspec.MsgspecError):
        return None
    found.name = found.name or folder.parent.name
    found.folder = f"{folder.parent.name}/{folder.name}"
    found.report = (folder / _REPORT).is_file()
    if found.seconds is None:
        found.seconds = found.facts.get("took")
    return found


def read_pages(runs: Path = RUNS, most: int = MOST_RUNS) -> list[tuple[str, str]]:
    """The other pages in the folder, such as certificates: title and address, by their addresses.

    What cannot be read is left out, and so is what is more than two folders below.
    """
    files = chain.from_iterable(runs.glob(depth) for depth in ("*.html", "*/*.html", "*/*/*.html"))
    others = (file for file in sorted(files) if not (_is_of_runs(file, runs) or _is_linked(file, runs)))
    titled = ((_read_title(file), quote(file.relative_to(runs).as_posix())) for file in others)
    return list(islice(((title, address) for title, address in titled if title), most))


def _is_of_runs(file: Path, runs: Path) -> bool:
    """Whether it is the list of the runs, or the report of one of them."""
    return file == runs / INDEX or (file.name == _REPORT and (file.parent / _SUMMARY).is_file())


def _is_linked(file: Path, runs: Path) -> bool:
    return any(each.is_symlink() for each in (file, *file.parents) if each.is_relative_to(runs))


def _read_title(page: Path) -> str:
    try:
        with page.open(encoding="utf-8") as file:
            found = _TITLE.search(file.read(_HEAD))
    except (OSError, UnicodeDecodeError):
        return ""
    return unescape(found[1]) if found else ""


def write_index(runs: Path = RUNS) -> None:
    """Write the page over all runs of the folder. Raises OSError."""
    with rewriting(runs / INDEX, fsync=False) as draft:
        draft.write_text(index_page(read_runs(runs), read_pages(runs)), encoding="utf-8")


def index_page(
    runs: Sequence[RecordedRun], pages: Sequence[tuple[str, str]] = (), frame: PageFrame = _FRAME
) -> str:
    """The whole HTML document. ``pages`` are others, each with title and address."""
    template = Path(__file__).with_name("run_index.html.jinja").read_text(encoding="utf-8")
    listed = [_data(run) for run in runs]
    body = (
        Environment(autoescape=True)
        .from_string(template)
        .render(
            runs=listed,
            count=_count(len(listed)),
            pages=pages,
            data=embed_json("runs-data", listed),
        )
    )
    return frame.render("Runs", body)


def _count(number: int) -> str:
    if number < MOST_RUNS:
        return f"{number} run{'' if number == 1 else 's'}, the newest first."
    return f"The last {number} runs, the newest first; older ones are in their folders."


def _data(run: RecordedRun) -> dict[str, Any]:
    """A run for the table and for the comparison."""
    return {
        "name": run.name,
        "folder": run.folder,
        "verdict": run.verdict,
        "seed": run.seed,
        "channel": run.channel,
        "duration": "" if run.seconds is None else f"{run.seconds:,.1f} s",
        "facts": run.facts,
        "page": f"{quote(run.folder)}/{_REPORT}" if run.report else "",
    }
