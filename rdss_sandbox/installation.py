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
    "messages": ("jsonschema_rs", "jsonschema", "markdown_it", "rich"),
    "amqp": ("pamqp", "pika"),
    "topics": ("lark", "websockets"),
    "metrics": ("prometheus_client",),
    "pages": ("jinja2",),
    "partiql": ("py_partiql_parser",),
    "fast": ("uvloop",),
    "compose": ("docker", "rich"),
    "tui": ("textual", "jsonschema_rs", "jsonschema"),
    "serve": ("textual", "textual_serve", "jsonschema_rs", "jsonschema"),
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
"""The extras of ``pyproject.toml``, each with the modules that it brings."""


def find_missing(extra: str) -> str | None:
    """The first module of an extra that is not installed; None when all are."""
    return next((module for module in EXTRAS[extra] if not _is_installed(module)), None)


def explain_missing(error: ModuleNotFoundError) -> str | None:
    """What to install after a failed import; None when the module is of no extra."""
    top = (error.name or "").partition(".")[0]
    extra = next((extra for extra, modules in EXTRAS.items() if top in modules), None)
    return extra and f"{top} is not installed; get it with: {how_to_add(extra)}"


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # the package that it is in
        return False


def how_to_add(extra: str) -> str:
    """The shell command that installs an extra into the running Python.

    It names the origin of this installation: a checkout, a file, a repository or an index. Where that origin
    no longer exists, it names the packages of the extra instead.
    """
    if find_spec("pip") is None:
        installer = ["uv", "pip", "install", "--python", sys.executable]
    else:
        installer = [sys.executable, "-m", "pip", "install"]
    return shlex.join([*installer, *_targets(extra)])


def _targets(extra: str) -> list[str]:
    """The installer's arguments; the forms are those of direct_url.json (PEP 610)."""
    try:
        installed = distribution(NAME)
    except PackageNotFoundError:  # It runs from its source folder without an installation.
        return ["--editable", f"{Path(__file__).parents[1]}[{extra}]"]
    written = installed.read_text("direct_url.json")
    if written is None:
        return [f"{NAME}[{extra}]"]
    origin: dict[str, Any] = msgspec.json.decode(written)
    url = origin["url"]
    if url.startswith("file:"):
        path = Path(unquote(urlsplit(url).path))
        if not path.exists():
            return _packages(installed, extra)
        if "dir_info" in origin:
            folder = f"{path}[{extra}]"
            return ["--editable", folder] if origin["dir_info"].get("editable") else [folder]
    if "vcs_info" in origin:
        url = f"{origin['vcs_info']['vcs']}+{url}@{origin['vcs_info']['commit_id']}"
    if "subdirectory" in origin:
        url += f"#subdirectory={origin['subdirectory']}"
    return [f"{NAME}[{extra}] @ {url}"]


def _packages(installed: Distribution, extra: str) -> list[str]:
    """The requirements of an extra, from the distribution's own metadata."""
    of_extra = re.compile(rf"""\s*;.*\bextra\s*==\s*["']{extra}["'].*""")
    return [of_extra.sub("", each) for each in installed.requires or () if of_extra.search(each)]
