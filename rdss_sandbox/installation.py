"""How this project was installed, and so how one of its extras is added to it."""

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
    """The command, as it is typed, that installs what an extra brings into the Python that runs now.

    It names what this was installed from, where that is still there: a checkout, a file, a repository, an
    index. What was installed from something that is gone gets the extra's own packages, one by one.
    """
    return shlex.join([*_installer(), *_wanted(extra)])


def _installer() -> list[str]:
    if find_spec("pip") is None:
        return ["uv", "pip", "install", "--python", sys.executable]
    return [sys.executable, "-m", "pip", "install"]


def _wanted(extra: str) -> list[str]:
    """What to install: the specification of PyPA for direct_url.json has the forms (PEP 610)."""
    try:
        installed = distribution(NAME)
    except PackageNotFoundError:  # It runs from its source folder, and was never installed.
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
