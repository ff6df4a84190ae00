"""The control API as a page in HTML, made of its OpenAPI description."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from emulator.pages.frame import CONTROL_PLACES, COPY_BUTTONS, PageFrame

_HERE: Final = Path(__file__).parent
_FRAME: Final = PageFrame(
    here="Control API",
    places=CONTROL_PLACES,
    styles=(_HERE / "api_page.css",),
    scripts=(_HERE / "api_page.js", COPY_BUTTONS),
    # A trial of an endpoint asks the port that the page comes from.
    allow=("connect-src 'self'",),
)
HEADERS: Final = _FRAME.headers()
_BOUNDS: Final = {"minimum": "from", "maximum": "to", "exclusiveMaximum": "below", "maxLength": "length to"}


def render_page(description: Mapping[str, Any]) -> str:
    """The HTML page of an OpenAPI description. It loads nothing, and asks its own port alone."""

    def write(text: str) -> Markup:
        return Markup(re.sub(r"``(.+?)``", r"<code>\1</code>", str(escape(text))))  # noqa: S704 -- escaped

    environment = Environment(
        loader=FileSystemLoader(_HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    link = Markup('<a href="#{0}">{0}</a>')
    environment.filters |= {"write": write, "type": partial(describe_type, link=link)}
    body = environment.get_template("api_page.html.jinja").render(description)
    return _FRAME.render(description["info"]["title"], body)


def describe_type(schema: Mapping[str, Any], link: Markup) -> Markup:
    """The type that a JSON schema describes, in words; ``link`` is how a shape is referred to."""
    if reference := schema.get("$ref"):
        name = reference.rpartition("/")[2]
        return link.format(name, name.lower())
    if choices := schema.get("anyOf"):
        return Markup(" or ").join(describe_type(each, link) for each in choices)
    if values := schema.get("enum"):
        return Markup(" or ").join(map(str, values))
    type_, inner = schema.get("type", "anything"), schema.get("items") or schema.get("additionalProperties")
    if isinstance(inner, dict):
        return Markup("{} of {}").format(type_, describe_type(inner, link))
    bounds = [f"{word} {schema[name]}" for name, word in _BOUNDS.items() if name in schema]
    return Markup(" ").join([type_, *bounds])
