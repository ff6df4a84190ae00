"""The preservation system packages metadata with files, tells of it, and flags what is deleted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from emulator.rng import new_uuid
from sandbox.applications import PreservationSystem
from sandbox.download.download import Downloads
from sandbox.download.download_errors import DownloadInterruptedError
from sandbox.download.file_source import Fetch
from tests.sandbox.applications.application_streams import Running, Town

CONTENT = b"depth,coral\n3,acropora\n" * 100


class Shelf:
    """A source of files that are in memory; ``fails`` so many times first."""

    def __init__(self) -> None:
        self.files = {"https://files.example/reef.csv": CONTENT}
        self.fails = 0

    @contextmanager
    def fetch(self, location: str, start: int, tag: str | None) -> Iterator[Fetch]:
        if self.fails:
            self.fails -= 1
            raise DownloadInterruptedError("the network is gone")
        content = self.files[location]
        yield Fetch(start, len(content), "tag", iter([content[start:]]))


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture
def running(town: Town, shelf: Shelf) -> Running:
    def make(repository: Any, outbox: Any) -> PreservationSystem:
        downloads = Downloads(town.folder / "staging", {"https": shelf}, town.clock)
        return PreservationSystem(repository, outbox, downloads, town.folder / "packages", town.clock)

    return town.open(make)


def _file(town: Town, checksum: str | None = None) -> dict[str, Any]:
    while not (files := town.samples.message("MetadataCreate", "dataset")["messageBody"]["objectFile"]):
        pass
    value = checksum or sha256(CONTENT).hexdigest()
    return {
        **files[0],
        "fileName": "reef 100%.csv",
        "fileSize": len(CONTENT),
        "fileStorageLocation": "https://files.example/reef.csv",
        "fileChecksum": [
            {"checksumUUID": new_uuid(), "checksumType": "sha256", "checksumValue": value},
        ],
    }


def test_an_object_is_packaged_with_its_files(town: Town, running: Running) -> None:
    """The package holds the metadata as it came, the file as it is, and a manifest that is right for both."""
    message = town.create([_file(town)])
    town.put(message)
    running.run()
    (path,) = (town.folder / "packages").iterdir()
    with ZipFile(path) as package:
        names = package.namelist()
        manifest = dict(reversed(line.split("  ")) for line in _text(package, names[-1]).splitlines())  # type: ignore[arg-type]
        assert json.loads(package.read("data/metadata.json")) == message["messageBody"]
        for name, digest in manifest.items():
            assert sha256(package.read(name.replace("%25", "%"))).hexdigest() == digest
    assert names[0] == "bagit.txt"
    assert names[-1] == "manifest-sha256.txt"
    assert len(manifest) == len(names) - 2 == 2
    assert not [each for each in (town.folder / "staging").rglob("*") if each.is_file()]


def _text(package: ZipFile, name: str) -> str:
    return package.read(name).decode()


@pytest.mark.parametrize("files", [0, 1])
def test_a_preservation_event_tells_of_the_package(town: Town, running: Running, files: int) -> None:
    """An Event of the object's tenant names the object and the package; for metadata only, too."""
    message = town.create([_file(town)] * files)
    town.put(message)
    running.run()
    (event,) = town.on("output")
    assert event["messageHeader"]["messageType"] == "PreservationEvent"
    assert event["messageHeader"]["messageClass"] == "Event"
    assert event["messageHeader"]["tenantJiscID"] == message["messageHeader"]["tenantJiscID"]
    assert event["messageBody"]["objectUUID"] == message["messageBody"]["objectUUID"]
    (path,) = (town.folder / "packages").iterdir()
    assert path.stem == event["messageBody"]["packageUUID"]


def test_a_new_version_is_a_package_of_its_own(town: Town, running: Running) -> None:
    """Nothing that was preserved is replaced."""
    first = town.create()
    town.put(first, town.update(first["messageBody"]["objectUUID"]))
    running.run()
    assert len(list((town.folder / "packages").iterdir())) == 2


def test_called_by_itself_it_makes_the_package(town: Town, shelf: Shelf) -> None:
    """An application of a function that calls it, as the demonstration's, packages and refuses the same."""

    def make(repository: Any, outbox: Any) -> Any:
        downloads = Downloads(town.folder / "staging", {"https": shelf}, town.clock)
        inner = PreservationSystem(repository, outbox, downloads, town.folder / "packages", town.clock)
        return inner.__call__  # a method, as a function, has no ``prepare``

    town.put(town.create([_file(town)]), town.create([_file(town, "0" * 64)]))
    town.open(make).run()
    assert len(list((town.folder / "packages").iterdir())) == 1
    assert town.errors() == ["APPERRMET004"]


def test_a_delete_only_flags_the_package(town: Town, running: Running) -> None:
    """The package stays; a delete of what was never preserved is ignored, without an error."""
    message = town.create()
    delete = town.about("MetadataDelete", message["messageBody"]["objectUUID"])
    town.put(message, delete, town.about("MetadataDelete", new_uuid()))
    running.run()
    assert len(list((town.folder / "packages").iterdir())) == 1
    with running.repository.transaction() as store:
        (flag,) = store.execute("SELECT deleteRequested FROM packages").fetchone()
    assert flag == delete["messageHeader"]["messageId"]
    assert town.errors() == []


def test_a_wrong_checksum_rejects_the_message_as_apperrmet004(town: Town, running: Running) -> None:
    """No package, no event; the next object is packaged."""
    town.put(town.create([_file(town, "0" * 64)]), town.create())
    running.run()
    assert town.errors() == ["APPERRMET004"]
    assert len(town.on("output")) == 1


def test_a_file_that_cannot_be_had_rejects_the_message_as_generr006(
    town: Town, running: Running, shelf: Shelf
) -> None:
    """After ten retries with growing delays the message is in the error queue."""
    shelf.fails = 11
    before = town.clock.elapsed()
    town.put(town.create([_file(town)]))
    running.run()
    assert town.errors() == ["GENERR006"]
    assert town.clock.elapsed() - before > 204


def test_killed_after_packaging_it_makes_no_second_package(
    town: Town, running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message comes again, finds its package, and one event is told."""

    class Killed(BaseException):
        pass

    def keep(*_: object, **__: object) -> str:
        raise Killed

    town.put(town.create([_file(town)]))
    with monkeypatch.context() as patched:
        patched.setattr(running.outbox, "keep", keep)
        with pytest.raises(Killed):
            running.run()
    (package,) = (town.folder / "packages").iterdir()
    again = town.open(
        lambda repository, outbox: PreservationSystem(
            repository, outbox, Downloads(Path("none"), {}, town.clock), package.parent, town.clock
        )
    )
    again.run()
    assert list(package.parent.iterdir()) == [package]
    assert len(town.on("output")) == 1
