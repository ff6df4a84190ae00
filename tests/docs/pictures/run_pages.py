"""Pages of runs as PNG, each with the digest of the page that it shows.

A page of a run is the same for the same seed, so a picture is stale when its page has another digest. Pixels
are not compared: fonts and browsers differ from machine to machine.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from sandbox.scenarios.scenario import library
from sandbox.scenarios.scenario_client import Client
from sandbox.scenarios.scenario_run import run_scenario
from tests.chromium import chromium
from tests.sandbox.scenarios.wrong_clients import knows_no_children

PAGES: Final[dict[str, tuple[str, Callable[[], Client | None]]]] = {
    "run-passed": ("split-under-load", lambda: None),
    "run-failed": ("split-under-load", lambda: knows_no_children(2)),
}
"""The scenario of each picture, and the client under test; None is the sandbox's own."""
_SEED: Final = 7
_SIZE: Final = (1100, 900)
_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_HEADER_END: Final = len(_SIGNATURE) + 25
"""Where the first chunk of a PNG ends, after which further ones may stand."""
_KEYWORD: Final = b"Source\0"


def play_page(name: str, runs: Path) -> Path:
    """Play the run of a picture into the folder of runs, and return its page."""
    scenario, client = PAGES[name]
    run = run_scenario(library()[scenario], scenario, seed=_SEED, runs=runs, client=client())
    return run.folder / "report.html"


def digest_page(page: Path) -> str:
    return sha256(page.read_bytes()).hexdigest()


def take_run_pages() -> dict[str, bytes]:
    """Each of the pages as a still picture, by a real Chromium."""
    pictures = {}
    with TemporaryDirectory() as folder, chromium(Path(folder, "profile")) as tab:
        tab.size(*_SIZE)
        tab.prefer(prefers_reduced_motion="reduce", prefers_color_scheme="light")
        for name in PAGES:
            page = play_page(name, Path(folder, name))
            tab.open(page.resolve().as_uri())
            pictures[name] = _write_digest(tab.picture(), digest_page(page))
    return pictures


def read_digest(picture: bytes) -> str | None:
    """The digest that a picture bears; None for one that bears none."""
    begin = picture.find(b"tEXt" + _KEYWORD)
    if begin < 0:
        return None
    (length,) = struct.unpack(">I", picture[begin - 4 : begin])
    return picture[begin + 4 + len(_KEYWORD) : begin + 4 + length].decode("latin-1")


def _write_digest(picture: bytes, digest: str) -> bytes:
    """The picture with a text chunk more: length, type, data and check sum."""
    assert picture.startswith(_SIGNATURE)
    data = _KEYWORD + digest.encode()
    chunk = struct.pack(">I", len(data)) + b"tEXt" + data + struct.pack(">I", zlib.crc32(b"tEXt" + data))
    return picture[:_HEADER_END] + chunk + picture[_HEADER_END:]
