"""docs/control-api.md, made of the declarations: ``python -m tests.docs.control_api_page`` writes it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from emulator.listeners.control.api_page import describe_type
from emulator.listeners.control.openapi import describe_api
from rdss_sandbox.api.control_api import SUBJECTS
from rdss_sandbox.api.endpoint import list_endpoints
from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "control-api.md"


def render_markdown() -> str:
    """The page of every endpoint."""
    endpoints = [endpoint for subject in SUBJECTS for endpoint in list_endpoints(subject)]
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "write": lambda text: text.replace("``", "`"),
        "type": partial(describe_type, link=Markup("[{0}](#{1})")),
    }
    return environment.get_template("control_api.md.jinja").render(describe_api(endpoints, "1", notes={}))


if __name__ == "__main__":
    PAGE.write_text(render_markdown(), encoding="utf-8")
