"""The control API as a page, in HTML and in Markdown.

``python -m emulator.listeners.control.page docs/control-api.md`` writes the page of the documentation anew.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from emulator.listeners.control.openapi import describe_api
from rdss_sandbox.api.control_api import SUBJECTS
from rdss_sandbox.api.endpoint import list_endpoints

_BOUNDS: Final = {"minimum": "from", "maximum": "to", "exclusiveMaximum": "below", "maxLength": "length to"}


def render_page(description: Mapping[str, Any]) -> str:
    """The HTML page of an OpenAPI description. It needs nothing from elsewhere."""

    def write(text: str) -> Markup:
        return Markup(re.sub(r"``(.+?)``", r"<code>\1</code>", str(escape(text))))  # noqa: S704 -- escaped

    return _render("page.html", description, write, Markup('<a href="#{0}">{0}</a>'))


def render_markdown() -> str:
    """The page of every endpoint in Markdown."""
    endpoints = [endpoint for subject in SUBJECTS for endpoint in list_endpoints(subject)]
    description = describe_api(endpoints, "1", notes={})
    return _render("page.md", description, lambda text: text.replace("``", "`"), Markup("[{0}](#{1})"))


def _render(template: str, description: Mapping[str, Any], write: Callable[[str], str], link: Markup) -> str:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=template.endswith(".html"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"write": write, "type": partial(_write_type, link=link)}
    return environment.get_template(f"{template}.jinja").render(description)


def _write_type(schema: Mapping[str, Any], link: Markup) -> Markup:
    """The type that a JSON schema describes, in words."""
    if reference := schema.get("$ref"):
        name = reference.rpartition("/")[2]
        return link.format(name, name.lower())
    if choices := schema.get("anyOf"):
        return Markup(" or ").join(_write_type(each, link) for each in choices)
    if values := schema.get("enum"):
        return Markup(" or ").join(map(str, values))
    type_, inner = schema.get("type", "anything"), schema.get("items") or schema.get("additionalProperties")
    if isinstance(inner, dict):
        return Markup("{} of {}").format(type_, _write_type(inner, link))
    bounds = [f"{word} {schema[name]}" for name, word in _BOUNDS.items() if name in schema]
    return Markup(" ").join([type_, *bounds])


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(render_markdown(), encoding="utf-8")
