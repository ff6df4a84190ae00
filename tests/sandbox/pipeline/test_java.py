"""Finding a Java, and what is said when there is none."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from sandbox.pipeline.spark import java


def _java(home: Path, version: str) -> Path:
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return home


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine without a Java; the project's own folder on it."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path}/none")
    return tmp_path / ".jdk"


def test_java_home_comes_first_and_an_old_one_is_passed_over(
    bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """JAVA_HOME is used when it is 17 or newer; an older one gives way to the project's own."""
    own = _java(bare / "jdk-21", "21.0.2")
    monkeypatch.setenv("JAVA_HOME", str(_java(tmp_path / "eight", "1.8.0_402")))
    assert java.find(bare) == java.Java(own, 21)
    monkeypatch.setenv("JAVA_HOME", str(_java(tmp_path / "seventeen", "17.0.15")))
    assert java.find(bare) == java.Java(tmp_path / "seventeen", 17)


def test_without_java_one_line_says_what_to_do(bare: Path) -> None:
    """The error names where one was looked for and the command that gets one."""
    with pytest.raises(java.JavaMissingError, match=r"needs Java 17\+.* -m sandbox\.pipeline\.spark\.java"):
        java.require(bare)


def test_a_java_that_does_not_answer_is_none(
    bare: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A broken JAVA_HOME is like none."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    assert java.find(bare) is None


def test_setup_says_what_it_does_and_gets_one_into_the_projects_folder(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no package manager can help, a runtime is downloaded into the project's folder, and said so."""
    said: list[str] = []

    class _Jdk:
        JdkError = RuntimeError

        @staticmethod
        def install(version: str, *, jre: bool, path: str) -> None:
            _java(Path(path) / f"jdk-{version}-jre", f"{version}.0.1")

    monkeypatch.setitem(__import__("sys").modules, "jdk", _Jdk)
    found = java.obtain(said.append, bare)
    assert found == java.Java(bare / "jdk-17-jre", 17)
    assert "downloading" in said[0]
    assert str(bare) in said[0]
    assert said[-1] == f"Java 17: {found.home}"
    said.clear()
    assert java.obtain(said.append, bare) == found
    assert len(said) == 1


def test_a_download_that_fails_says_so(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No network is one line, with what to do instead."""

    class _Jdk:
        JdkError = RuntimeError

        @staticmethod
        def install(version: str, *, jre: bool, path: str) -> None:
            raise OSError("no route to host")

    monkeypatch.setitem(__import__("sys").modules, "jdk", _Jdk)
    with pytest.raises(java.JavaMissingError, match=r"no route to host.*set JAVA_HOME"):
        java.obtain(lambda _: None, bare)
