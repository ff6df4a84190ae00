"""What is advised to add an extra works for how the project was installed."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from rdss_sandbox.machine import installation

HERE = Path(__file__).parents[2]
METADATA = """\
Metadata-Version: 2.4
Name: rdss-sandbox
Version: 9.9
Provides-Extra: tui
Requires-Dist: click>=8
Requires-Dist: textual>=8.2; extra == "tui"
Requires-Dist: textual[syntax]>=8; (python_version >= "3.11") and extra == 'tui'
Requires-Dist: pyspark; extra == "pipeline"
"""


def installed(folder: Path, origin: object = None) -> None:
    """A distribution on the path, with the note of where it came from that pip leaves."""
    info = folder / "rdss_sandbox-9.9.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(METADATA)
    if origin is not None:
        (info / "direct_url.json").write_text(json.dumps(origin))


def wheel(folder: Path) -> Path:
    """A wheel with an extra that needs nothing, which pip can install without an index."""
    path = folder / "rdss_sandbox-9.9-py3-none-any.whl"
    info = "rdss_sandbox-9.9.dist-info"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(f"{info}/METADATA", METADATA.partition("Requires")[0])
        file.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(f"{info}/RECORD", "")
    return path


def advice(folder: Path) -> list[str]:
    """The words of the advice in a Python that finds the distribution in ``folder`` first."""
    code = "from rdss_sandbox.machine.installation import how_to_add; print(how_to_add('tui'))"
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{HERE}"},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return shlex.split(ran.stdout)


@pytest.mark.parametrize(
    ("origin", "wanted"),
    [
        (None, ["rdss-sandbox[tui]"]),
        ({"url": "file://{}", "dir_info": {"editable": True}}, ["--editable", "{}[tui]"]),
        ({"url": "file://{}", "dir_info": {}}, ["{}[tui]"]),
        ({"url": "file:///gone/x.whl", "archive_info": {}}, ["textual>=8.2", "textual[syntax]>=8"]),
        ({"url": "https://h.test/x.whl", "archive_info": {}}, ["rdss-sandbox[tui] @ https://h.test/x.whl"]),
        (
            {
                "url": "https://h.test/r.git",
                "vcs_info": {"vcs": "git", "commit_id": "abc"},
                "subdirectory": "a",
            },
            ["rdss-sandbox[tui] @ git+https://h.test/r.git@abc#subdirectory=a"],
        ),
    ],
    ids=["index", "editable", "folder", "file that is gone", "URL", "repository"],
)
def test_the_advice_names_what_it_was_installed_from(
    tmp_path: Path, origin: dict[str, object] | None, wanted: list[str]
) -> None:
    """Into the Python that runs, from what it came from; the extra's own packages where that is gone."""
    checkout = tmp_path / "a checkout"
    checkout.mkdir()
    if origin is not None:
        origin = {**origin, "url": str(origin["url"]).format(str(checkout).replace(" ", "%20"))}
    installed(tmp_path, origin)

    assert advice(tmp_path) == [
        sys.executable,
        "-m",
        "pip",
        "install",
        *(each.format(checkout) for each in wanted),
    ]


def test_the_advice_for_a_wheel_is_understood_by_pip(tmp_path: Path) -> None:
    """Typed as it stands, pip finds the file and the extra."""
    path = wheel(tmp_path)
    installed(tmp_path, {"url": path.as_uri(), "archive_info": {}})

    words = advice(tmp_path)
    ran = subprocess.run(
        [*words, "--dry-run", "--no-index", "--ignore-installed", "--no-warn-script-location"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stderr
    assert "rdss-sandbox-9.9" in ran.stdout
    assert "does not provide the extra" not in ran.stderr


def test_without_pip_the_advice_is_for_uv(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment that uv made has no pip."""
    monkeypatch.setattr(installation, "find_spec", lambda _: None)

    assert installation.how_to_add("tui").startswith(f"uv pip install --python {sys.executable}")


def test_the_extras_that_are_advised_exist() -> None:
    """Those of pyproject.toml, each with packages that have the modules, and all of them for developers."""
    declared = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    of_developers, everything = declared.pop("dev"), declared.pop("all")
    assert of_developers
    assert everything == [f"rdss-sandbox[{','.join(declared)}]"]
    assert installation.EXTRAS.keys() == declared.keys()
    providers = packages_distributions()
    for extra, modules in installation.EXTRAS.items():
        named = {re.split(r"[<>=\[;]", each)[0].lower().replace("_", "-") for each in declared[extra]}
        for module in modules:
            assert {each.lower().replace("_", "-") for each in providers[module.partition(".")[0]]} & named, (
                module
            )
        assert installation.find_missing(extra) == ()
    page = (HERE / "docs" / "install.md").read_text()
    assert re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE) == ["all", *declared]
    locked = set(re.findall(r"^([\w.-]+)==", (HERE / "locks" / "dev.txt").read_text(), re.MULTILINE))
    asked = {re.split(r"[<>=\[; ]", each)[0].lower() for extra in declared.values() for each in extra}
    assert asked - {"rdss-sandbox"} <= locked


def test_the_page_has_the_figures_of_the_benchmark() -> None:
    """How many packages come, and how much they take: ``make bench ARGS="--area install"`` measures them."""
    rows = json.loads((HERE / "tests" / "bench" / "results.json").read_text())
    packages, size = (round(row["value"]) for row in rows if row["area"] == "install")
    page = (HERE / "docs" / "install.md").read_text()
    assert f"That is {packages} packages, {size} MB on the disk;" in page


def test_a_failed_import_is_explained_by_its_extra() -> None:
    """By the module that is missing; a module of no extra is somebody else's."""
    missing = ModuleNotFoundError("No module named 'lark.lexer'", name="lark.lexer")
    assert installation.explain_missing(missing) == (
        f"lark is not installed; get it with: {installation.how_to_add('topics')}"
    )
    assert installation.explain_missing(ModuleNotFoundError("no", name="theirs")) is None
