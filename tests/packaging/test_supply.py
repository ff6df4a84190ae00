"""What is installed, what is released, and what a stranger can check of both."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.packaging.environment import ROOT

LOCKS = sorted((ROOT / "locks").glob("*.txt"))
_PIN = re.compile(r"^([A-Za-z0-9][\w.-]*)==([^\s;\\]+)", re.MULTILINE)
_AUDIT = ROOT / ".ci" / "audit"


def read_pins(path: Path) -> dict[str, set[str]]:
    pins: dict[str, set[str]] = {}
    for name, version in _PIN.findall(path.read_text(encoding="utf-8")):
        pins.setdefault(canonicalize_name(name), set()).add(version)
    return pins


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_every_pin_has_hashes_and_the_version_of_the_constraints(lock: Path) -> None:
    """For every wheel of a version, so that any machine has one; no registry and no machine is named."""
    text = lock.read_text(encoding="utf-8")
    lines = text.splitlines()
    for line, after in pairwise([*lines, ""]):
        if _PIN.match(line):
            assert line.endswith("\\")
            assert after.lstrip().startswith("--hash=sha256:"), line
    assert "://" not in text
    constraints = read_pins(ROOT / "constraints.txt")
    assert {
        name: versions for name, versions in read_pins(lock).items() if versions - constraints[name]
    } == {}


def test_the_locks_have_what_the_project_asks_for() -> None:
    """A requirement that was added to pyproject.toml and not locked would be installed unpinned, or not."""
    document = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    dependencies = document["project"]["dependencies"]
    extras = document["project"]["optional-dependencies"]
    own = dependencies + [each for extra in extras.values() for each in extra]
    groups = document["dependency-groups"]
    for asked, lock in (
        (document["build-system"]["requires"], "build"),
        (own, "dev"),
        (groups["docs"], "docs"),
        (groups["supply"], "supply"),
        (dependencies + extras["messages"] + extras["topics"] + extras["compose"], "emulator"),
        (dependencies + extras["tui"], "tui"),
        (dependencies + extras["pipeline"], "pipeline"),
    ):
        pins = read_pins(ROOT / "locks" / f"{lock}.txt")
        for requirement in map(Requirement, asked):
            if requirement.name != "rdss-sandbox":
                versions = pins[canonicalize_name(requirement.name)]
                assert all(requirement.specifier.contains(each) for each in versions), requirement


@pytest.mark.parametrize("file", ["compose/Dockerfile", "action.yml", "Makefile"])
def test_nothing_is_installed_without_hashes(file: str) -> None:
    """But what we build ourselves, and the release that the action is asked for."""
    text = (ROOT / file).read_text(encoding="utf-8").replace("\\\n", " ")
    installed = re.findall(r"pip[_ ]install (.*)", text)
    assert len(installed) > 1
    for arguments in installed:
        ours = any(each in arguments for each in ("--no-deps", '"rdss-sandbox[$EXTRAS]=='))
        passed_on = '"$@"' in arguments
        assert "--require-hashes" in arguments or ours or passed_on, arguments


def test_actions_are_pinned_by_commit() -> None:
    """A tag can be moved to another commit; the version stands behind it for people."""
    used = [
        step
        for path in (ROOT / ".github" / "workflows").glob("*.yml")
        for step in re.findall(r"uses: (.*)", path.read_text(encoding="utf-8"))
    ]
    assert used
    for step in used:
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", step), step


def test_a_release_is_audited_listed_and_attested() -> None:
    """In this order: what is attested is all that is in dist/, with the list of what it is made of."""
    release = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8"))
    job = release["jobs"]["release"]
    steps = [step.get("run") or step["uses"].partition("@")[0] for step in job["steps"]]
    wanted = [
        "make audit",
        "make dist",
        "make sbom",
        "actions/attest-build-provenance",
        "actions/upload-artifact",
    ]
    assert [step for step in steps if step in wanted] == wanted
    assert job["permissions"] == {"contents": "read", "id-token": "write", "attestations": "write"}


def test_the_image_is_audited_pushed_and_attested_by_its_digest() -> None:
    """What is attested is what was pushed; the image is the emulator's, which the other ways start."""
    image = yaml.safe_load((ROOT / ".github" / "workflows" / "image.yml").read_text(encoding="utf-8"))
    job = image["jobs"]["image"]
    steps = {step.get("run") or step["uses"].partition("@")[0]: step for step in job["steps"]}
    order = ["make audit", "docker/build-push-action", "actions/attest-build-provenance"]
    assert [each for each in steps if each in order] == order
    build, attest = (steps[each] for each in order[1:])
    assert (build["with"]["file"], build["with"]["target"]) == ("compose/Dockerfile", "emulator")
    assert attest["with"]["subject-digest"] == f"${{{{ steps.{build['id']}.outputs.digest }}}}"
    assert build["with"]["tags"].startswith(attest["with"]["subject-name"])
    assert attest["with"]["push-to-registry"]
    assert build["with"]["push"]


def _copy_audit(folder: Path, advisories: object) -> Path:
    """The audit in a folder of its own, with one lock and these advisories; None for no file."""
    (folder / ".ci").mkdir()
    (folder / "locks").mkdir()
    shutil.copy(_AUDIT, folder / ".ci" / "audit")
    (folder / "locks" / "dev.txt").write_text("click==8.5.1 \\\n    --hash=sha256:0\n")
    if advisories is not None:
        (folder / ".ci" / "advisories.json").write_text(json.dumps(advisories))
    return folder / ".ci" / "audit"


@pytest.mark.parametrize(
    ("ranges", "code"),
    [([["8.0", "8.5.2"]], 1), ([["8.0", "8.5.1"]], 0), ([["8.6", None]], 0), ([["0", None]], 1)],
)
def test_an_audit_without_a_network_reads_the_file(tmp_path: Path, ranges: object, code: int) -> None:
    """It names what is affected, and says how old what it knows is."""
    advisory = {"id": "PYSEC-1", "aliases": ["CVE-1"], "ranges": ranges, "versions": []}
    audit = _copy_audit(tmp_path, {"newest": "2026-01-01", "advisories": {"click": [advisory]}})
    ran = subprocess.run([sys.executable, audit, "--offline"], capture_output=True, text=True, check=False)
    assert ran.returncode == code
    assert ("click 8.5.1: PYSEC-1 CVE-1" in ran.stdout) == bool(code)
    assert "newest advisory is of 2026-01-01" in ran.stderr


def test_an_audit_with_neither_says_so_and_passes_nothing(tmp_path: Path) -> None:
    audit = _copy_audit(tmp_path, None)
    ran = subprocess.run([sys.executable, audit, "--offline"], capture_output=True, text=True, check=False)
    assert ran.returncode == 3
    assert "not audited" in ran.stderr


def test_nothing_that_is_locked_has_a_known_advisory() -> None:
    """By the file that is committed."""
    ran = subprocess.run([sys.executable, _AUDIT, "--offline"], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.xdist_group("wheel")
def test_a_release_built_twice_is_equal_to_the_byte(distributions: Path, tmp_path: Path) -> None:
    """The second time from a copy in another folder, with other times of its files."""
    copy = tmp_path / "copy"
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    for name in filter(None, files.decode().split("\0")):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, copy / name)
    shutil.copyfile(ROOT / ".gitignore", copy / ".gitignore")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", tmp_path / "dist", copy]
    subprocess.run(command, check=True, capture_output=True)

    def digests(folder: Path) -> dict[str, str]:
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}

    assert digests(tmp_path / "dist") == digests(distributions)
