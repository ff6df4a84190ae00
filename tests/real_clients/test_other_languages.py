"""The projects on the pages about other languages: their files and last command, as they stand there."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, blocks
from tests.real_clients import install
from tests.real_clients.maven_repository import make_repository
from tests.real_clients.sandbox_process import installed

pytestmark = [pytest.mark.real_client, pytest.mark.timeout(900)]  # a compiler, on whatever machine

_PAGES = ROOT / "docs/how-to"


class Project:
    """The files of a page in a folder of their own."""

    def __init__(self, page: str, folder: Path) -> None:
        self.folder = folder
        self._page = _PAGES / page
        for block in blocks(self._page):
            if "file" in block.said:
                self.file(block.said["file"]).write_text(block.text, encoding="utf-8")

    def file(self, name: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def version(self, artifact: str) -> str:
        """The version of a dependency in the page's POM."""
        pom = (self.folder / "pom.xml").read_text(encoding="utf-8")
        found = re.search(rf"<artifactId>{artifact}</artifactId>\s*<version>(.*?)</version>", pom)
        assert found
        return found[1]

    def test(self, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run the page's line with ``sandbox run``."""
        lines = [line for block in blocks(self._page) for line in block.text.splitlines()]
        words = shlex.split(next(line for line in lines if line.startswith("sandbox run ")))
        return subprocess.run(
            [sys.executable, "-P", "-m", *words],
            cwd=self.folder,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture(scope="session")
def go() -> dict[str, str]:
    """The environment in which ``go`` finds the AWS SDK in the source that Debian has of it."""
    if shutil.which("apt-get") is None:
        pytest.skip("NO APT-GET ON PATH: the AWS SDK for Go is got from Debian")
    command = installed("Go", lambda: install.python_environment("go", install.GO))
    source = installed("the AWS SDK for Go", lambda: install.debian_files("go-sdk", *install.GO_SDK))
    return {
        "PATH": f"{command}:{os.environ['PATH']}",
        "GO111MODULE": "off",
        "GOPATH": str(source / "usr/share/gocode"),
        "GOCACHE": str(install.HOME / "go-cache"),
        "GOTOOLCHAIN": "local",
        # What is compiled once need not be fast.
        "GOFLAGS": "-vet=off -gcflags=all=-N",
        "CGO_ENABLED": "0",
    }


@pytest.fixture
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Project:
    return Project(request.param, tmp_path / "project")


@pytest.mark.parametrize("project", ["test-javascript.md"], indirect=True)
def test_javascript(project: Project, javascript: Path) -> None:
    """Both tests pass; without a look at the children or at the messageId, the one for it fails."""
    (project.folder / "node_modules").symlink_to(javascript / "node_modules")
    ran = project.test()
    assert (ran.returncode, "# pass 2" in ran.stdout) == (0, True), ran.stdout + ran.stderr
    consumer = project.file("consumer.js")
    whole = consumer.read_text(encoding="utf-8")
    for right, wrong, failed in (
        ("answer.ChildShards ?? []", "[]", "a split loses nothing"),
        ("this.#seen.has(messageId)", "false", "a producer's retry is handled once"),
    ):
        assert right in whole
        consumer.write_text(whole.replace(right, wrong), encoding="utf-8")
        ran = project.test()
        assert ran.returncode == 1
        assert re.findall(r"^not ok \d+ - (.*)$", ran.stdout, re.MULTILINE) == [failed]


@pytest.mark.parametrize("project", ["test-java.md"], indirect=True)
def test_java(project: Project, kcl: Path, tmp_path: Path) -> None:
    """With the JUnit of the local Maven repository, and the SDK that comes with the KCL."""
    jars = next(kcl.parent.glob("lib/python*/site-packages/amazon_kclpy/jars"))
    junit = Path.home() / ".m2/repository/org/junit/jupiter/junit-jupiter" / project.version("junit-jupiter")
    if shutil.which("mvn") is None or not junit.exists():
        pytest.skip(f"NO MAVEN WITH {junit.parent.name} {junit.name} IN ITS LOCAL REPOSITORY")
    repository = make_repository(tmp_path / "repository", jars, project.version("kinesis"))
    words = ("--offline", "--batch-mode", f"-Dmaven.repo.local={repository}")
    project.file(".mvn/maven.config").write_text("\n".join(words), encoding="utf-8")
    ran = project.test()
    assert (ran.returncode, "Tests run: 2, Failures: 0" in ran.stdout) == (0, True), ran.stdout + ran.stderr


@pytest.mark.parametrize("project", ["test-go.md"], indirect=True)
def test_go(project: Project, go: dict[str, str]) -> None:
    """With the SDK's source as Debian has it, which is older than the SDK of today."""
    ran = project.test(**go)
    assert (ran.returncode, ran.stdout[:3]) == (0, "ok "), ran.stdout + ran.stderr
