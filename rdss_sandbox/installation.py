"""How this project was installed, and the command that adds an extra to that installation."""

from __future__ import annotations

import re
import shlex
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec

NAME = "rdss-sandbox"


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
