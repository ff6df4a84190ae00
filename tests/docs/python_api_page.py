"""The page of the Python API, made of its signatures and docstrings.

``python -m tests.docs.python_api_page`` writes it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, Final, Literal, get_origin
from unittest import TestCase

import rdss_sandbox
from rdss_sandbox import aws_environment, process, pytest_plugin, tables, testing
from rdss_sandbox.api.control_api import SUBJECTS
from rdss_sandbox.api.endpoint import Endpoint
from rdss_sandbox.testing import control
from tests.docs.control_api_page import render_markdown

PAGE: Final = Path(__file__).parents[2] / "docs/python-api.md"

_HEAD: Final = """\
# The Python API

What `rdss_sandbox` offers to other people's Python. It needs Python 3.11 and has types for mypy and pyright.
[In your test suite](testing.md) shows it at work.

<!-- made of signatures and docstrings: python -m tests.docs.python_api_page -->

| module | what it is for |
|---|---|
{modules}
"""
_MODULES: Final[dict[ModuleType, tuple[str, ...]]] = {
    rdss_sandbox: tuple(rdss_sandbox.__all__),
    testing: tuple(testing.__all__),
    control: ("Faults", "SandboxClock", "Resharding"),
    pytest_plugin: (),
    process: ("sandbox_process", "RunningSandbox", "SandboxNotStartedError"),
    aws_environment: ("aws_environment", "pointed_at"),
    tables: ("read_table", "open_table"),
}
"""The public modules, with the names of each that are for other people."""
_BEFORE_EXAMPLES: Final = {
    rdss_sandbox: "<!-- slow: a sandbox -->\n```sh\nsandbox up --detach\n```\n\n<!-- slow: a sandbox -->\n",
    testing: "<!-- slow: a sandbox -->\n",
    tables: "<!-- not run: it needs tables; the notebook has the same, and tests/docs/test_tables_page.py "
    "runs that -->\n",
}
"""What stands before the example of a module's docstring, for the test that runs it."""


class _Written:
    """An annotation or a default as it is written in the source."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def page() -> str:
    """The page as it should be."""
    rows = (
        f"| [`{module.__name__}`](#{_anchor(module.__name__)}) | {_summary(module)} |" for module in _MODULES
    )
    sections = [_HEAD.format(modules="\n".join(rows))]
    for module, names in _MODULES.items():
        sections += _module(module, names)
    return "\n".join(sections)


def _module(module: ModuleType, names: tuple[str, ...]) -> Iterator[str]:
    yield f"## {module.__name__}\n"
    yield from _paragraphs(module, _BEFORE_EXAMPLES.get(module, ""))
    if module is pytest_plugin:
        yield from _fixtures()
    values = {name: getattr(module, name) for name in names}
    described = render_markdown()
    shapes = {name: value for name, value in values.items() if f"\n### {name}\n" in described}
    for name, value in values.items():
        if name not in shapes:
            yield from _class(name, value) if inspect.isclass(value) else _function(value)
    if module is rdss_sandbox:
        yield from _endpoints()
    if shapes:
        yield "### Shapes\n\nThe control API's page has their fields.\n"
        yield "| shape | |\n|---|---|"
        for name, value in shapes.items():
            yield f"| [`{name}`](control-api.md#{name.lower()}) | {_cell(_summary(value))} |"
        yield ""


def _class(name: str, class_: type) -> Iterator[str]:
    """A class with its signature, its docstring and its public members; endpoints are listed elsewhere.

    An exception has its base instead, as has what only ``rdss_sandbox`` or a test runner makes.
    """
    yield f"### {name}\n"
    base = class_.__bases__[0]
    if issubclass(class_, Exception | TestCase):
        yield f"`{name}({base.__name__})`\n"
    elif "client" not in inspect.signature(class_).parameters:
        yield f"`{name}{_signature(class_)}`\n"
    elif base is not object:
        yield f"`{name}({base.__name__})`\n"
    yield from _paragraphs(class_, "")
    members = [line for name, value in vars(class_).items() if (line := _member(name, value))]
    if members:
        yield "\n".join(members) + "\n"


def _member(name: str, value: Any) -> str:
    """A member in a line of a list; empty for one that is not public."""
    if name.startswith("_") or hasattr(TestCase, name):
        return ""
    if isinstance(value, property | cached_property):
        getter = value.fget if isinstance(value, property) else value.func
        return f"- `{name}: {getter.__annotations__['return']}`{_told(value)}"
    if isinstance(value, classmethod | staticmethod):
        value = value.__func__
    if inspect.isfunction(value):
        awaited = "async " if inspect.iscoroutinefunction(value) else ""
        return f"- `{awaited}{name}{_signature(value, bound=True)}`{_told(value)}"
    return ""


def _function(function: Callable[..., Any]) -> Iterator[str]:
    yield f"### {function.__name__}()\n"
    yield f"`{function.__name__}{_signature(function)}`\n"
    yield from _paragraphs(function, "")


def _fixtures() -> Iterator[str]:
    """The fixtures of the plugin, with the scope of each, and its mark."""
    yield "| fixture | scope | |\n|---|---|---|"
    for name, value in vars(pytest_plugin).items():
        if isinstance(value, type(pytest_plugin.sandbox)):
            scope = value._fixture_function_marker.scope
            yield f"| `{name}` | {scope} | {_cell(' '.join(_texts(value)))} |"
    yield ""


def _endpoints() -> Iterator[str]:
    """What ``Client`` has for each endpoint, by subject."""
    yield "### Methods of the clients\n"
    yield (
        "Of `Client`; with `AsyncClient` each is awaited. [The control API](control-api.md) has the "
        "endpoint of each, its refusals and the shapes.\n"
    )
    for subject, client in SUBJECTS.items():
        yield f"**{_summary(subject)}**\n"
        yield f"| of `{client}` | |\n|---|---|"
        members = {name: value for base in reversed(subject.__mro__) for name, value in vars(base).items()}
        for name, endpoint in members.items():
            if isinstance(endpoint, Endpoint):
                signature = _cell(_signature(endpoint._call, bound=True))
                doc = endpoint.take if endpoint.partial else endpoint.declared
                yield f"| `.{name}{signature}` | {_cell(_summary(doc))} |"
        yield ""


def _signature(value: Callable[..., Any], *, bound: bool = False) -> str:
    """The signature as in the source; of a ``bound`` one without its first parameter."""
    signature = inspect.signature(value)
    parameters = [*signature.parameters.values()][bound:]
    fields = _fields(value) if inspect.isclass(value) else {}
    written = [
        each.replace(
            annotation=_annotation(fields.get(each.name, each.annotation), value),
            default=_default(each.default),
        )
        for each in parameters
    ]
    result = signature.return_annotation
    if inspect.isclass(value) or result in (None, "None"):
        result = inspect.Signature.empty
    return str(inspect.Signature(written, return_annotation=_annotation(result, value)))


def _fields(class_: type) -> dict[str, Any]:
    """The annotations of a shape's fields, as they are written."""
    shapes = [base for base in reversed(class_.__mro__) if base.__module__.startswith("rdss_sandbox")]
    return {name: type_ for base in shapes for name, type_ in base.__annotations__.items()}


def _annotation(annotation: Any, of: Any) -> Any:
    """An annotation as it is written, but for names of bounded or listed values: these are told."""
    if not isinstance(annotation, str):
        return annotation
    names = getattr(inspect.unwrap(of), "__globals__", {})
    return _Written(re.sub(r"\b[A-Z]\w+", lambda name: _alias(names.get(name[0]), name[0]), annotation))


def _alias(value: Any, name: str) -> str:
    """The plain type behind ``Limit`` and its like; every other name as it is."""
    if get_origin(value) is Annotated:
        return _alias(value.__origin__, value.__origin__.__name__)
    return repr(value).replace("typing.", "") if get_origin(value) is Literal else name


def _default(default: Any) -> Any:
    return _Written("...") if inspect.isroutine(default) else default


def _texts(value: Any) -> list[str]:
    """The paragraphs of a docstring, in Markdown; the lines of an example stand as they are."""
    paragraphs = re.split(r"\n\n(?=\S)", (inspect.getdoc(value) or "").replace("``", "`"))
    return [each if "\n    " in each else " ".join(each.split()) for each in paragraphs if each]


def _paragraphs(value: Any, before_example: str) -> Iterator[str]:
    for text in _texts(value):
        words, _, example = text.partition("\n\n    ")
        yield words + "\n"
        if example:
            code = inspect.cleandoc(f"\n    {example}")
            yield f"{before_example}```python\n{code}\n```\n"


def _told(value: Any) -> str:
    """What a docstring says, after the signature that it is of."""
    return f": {' '.join(_texts(value))}" if inspect.getdoc(value) else ""


def _summary(value: Any) -> str:
    return _texts(value)[0].partition("\n")[0]


def _cell(text: str) -> str:
    return text.replace("|", r"\|")


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
