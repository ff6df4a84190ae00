"""The extras of this project, how it was installed, and the command that adds an extra to that."""

from __future__ import annotations

import re
import shlex
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import msgspec

NAME = "rdss-sandbox"
EXTRAS: Final[dict[str, tuple[str, ...]]] = {
    "pages": ("jinja2",),
    "messages": ("jsonschema_rs", "jsonschema", "markdown_it", "rich", "jinja2", "pika"),
    "avro": ("fastavro", "jsonschema_rs", "jsonschema"),
    "topics": ("lark", "uvicorn", "websockets"),
    "metrics": ("prometheus_client",),
    "partiql": ("py_partiql_parser",),
    "sam": ("samtranslator",),
    "fast": ("uvloop",),
    "compose": ("docker", "rich"),
    "tui": ("textual", "jsonschema_rs", "jsonschema"),
    "serve": ("textual", "textual_serve", "jsonschema_rs", "jsonschema"),
    "mcp": ("mcp",),
    "pipeline": (
        "pyspark",
        "pyarrow",
        "pandas",
        "google.protobuf",
        "deltalake",
        "duckdb",
        "jdk",
        "jsonschema_rs",
        "jsonschema",
        "rich",
    ),
}
"""The extras of ``pyproject.toml``, each with the modules that it brings; ``all`` is all of them.

A module that several extras bring is explained by the first of them.
"""


def find_missing(*extras: str) -> tuple[str, ...]:
    """The modules of these extras that are not installed."""
    modules = dict.fromkeys(module for extra in extras for module in EXTRAS[extra])
    return tuple(module for module in modules if not _is_installed(module))


def explain_missing_extras(*extras: str) -> str | None:
    """Name what is not installed of these extras, and the command that adds it; None if nothing is."""
    if not (missing := find_missing(*extras)):
        return None
    short = [extra for extra in extras if find_missing(extra)]
    return f"{list_absent(missing)}; get {'it' if len(missing) == 1 else 'them'} with: {how_to_add(*short)}"


def explain_missing(error: ModuleNotFoundError) -> str | None:
    """What to install after a failed import; None when the module is of no extra."""
    top = (error.name or "").partition(".")[0]
    extra = next((extra for extra, modules in EXTRAS.items() if top in modules), None)
    if extra is None:
        return None
    return explain_missing_extras(extra) or f"{list_absent((top,))}; get it with: {how_to_add(extra)}"


def list_absent(modules: tuple[str, ...]) -> str:
    """The sentence that these modules, at least one, are not installed."""
    *rest, last = modules
    return f"{', '.join(rest)} and {last} are not installed" if rest else f"{last} is not installed"


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # the package that it is in
        return False


def how_to_add(*extras: str) -> str:
    """The shell command that installs extras into the running Python.

    It names the origin of this installation: a checkout, a file, a repository or an index. Where that origin
    no longer exists, it names the packages of the extra instead.
    """
    if find_spec("pip") is None:
        installer = ["uv", "pip", "install", "--python", sys.executable]
    else:
        installer = [sys.executable, "-m", "pip", "install"]
    return shlex.join([*installer, *_targets(",".join(extras))])


def _targets(extras: str) -> list[str]:
    """The installer's arguments; the forms are those of direct_url.json (PEP 610)."""
    try:
        installed = distribution(NAME)
    except PackageNotFoundError:  # It runs from its source folder without an installation.
        return ["--editable", f"{Path(__file__).parents[2]}[{extras}]"]
    written = installed.read_text("direct_url.json")
    if written is None:
        return [f"{NAME}[{extras}]"]
    origin: dict[str, Any] = msgspec.json.decode(written)
    url = origin["url"]
    if url.startswith("file:"):
        path = Path(unquote(urlsplit(url).path))
        if not path.exists():
            return [package for extra in extras.split(",") for package in _packages(installed, extra)]
        if "dir_info" in origin:
            folder = f"{path}[{extras}]"
            return ["--editable", folder] if origin["dir_info"].get("editable") else [folder]
    if "vcs_info" in origin:
        url = f"{origin['vcs_info']['vcs']}+{url}@{origin['vcs_info']['commit_id']}"
    if "subdirectory" in origin:
        url += f"#subdirectory={origin['subdirectory']}"
    return [f"{NAME}[{extras}] @ {url}"]


def _packages(installed: Distribution, extra: str) -> list[str]:
    """The requirements of an extra, from the distribution's own metadata."""
    of_extra = re.compile(rf"""\s*;.*\bextra\s*==\s*["']{extra}["'].*""")
    return [of_extra.sub("", each) for each in installed.requires or () if of_extra.search(each)]
