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
from tests.sandbox.applications.application_streams import Running, Streams

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
def running(streams: Streams, shelf: Shelf) -> Running:
    def make(repository: Any, outbox: Any) -> PreservationSystem:
        downloads = Downloads(streams.folder / "staging", {"https": shelf}, streams.clock)
        return PreservationSystem(repository, outbox, downloads, streams.folder / "packages", streams.clock)

    return streams.open(make)


def _file(streams: Streams, checksum: str | None = None) -> dict[str, Any]:
    while not (files := streams.samples.message("MetadataCreate", "dataset")["messageBody"]["objectFile"]):
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


def test_an_object_is_packaged_with_its_files(streams: Streams, running: Running) -> None:
    """The package holds the metadata as it came, the file as it is, and a manifest that is right for both."""
    message = streams.create([_file(streams)])
    streams.put(message)
    running.run()
    (path,) = (streams.folder / "packages").iterdir()
    with ZipFile(path) as package:
        names = package.namelist()
        manifest = dict(reversed(line.split("  ")) for line in _text(package, names[-1]).splitlines())  # type: ignore[arg-type]
        assert json.loads(package.read("data/metadata.json")) == message["messageBody"]
        for name, digest in manifest.items():
            assert sha256(package.read(name.replace("%25", "%"))).hexdigest() == digest
    assert names[0] == "bagit.txt"
    assert names[-1] == "manifest-sha256.txt"
    assert len(manifest) == len(names) - 2 == 2
    assert not [each for each in (streams.folder / "staging").rglob("*") if each.is_file()]


def _text(package: ZipFile, name: str) -> str:
    return package.read(name).decode()


@pytest.mark.parametrize("files", [0, 1])
def test_a_preservation_event_tells_of_the_package(streams: Streams, running: Running, files: int) -> None:
    """An Event of the object's tenant names the object and the package; for metadata only, too."""
    message = streams.create([_file(streams)] * files)
    streams.put(message)
    running.run()
    (event,) = streams.on("output")
    assert event["messageHeader"]["messageType"] == "PreservationEvent"
    assert event["messageHeader"]["messageClass"] == "Event"
    assert event["messageHeader"]["tenantJiscID"] == message["messageHeader"]["tenantJiscID"]
    assert event["messageBody"]["objectUUID"] == message["messageBody"]["objectUUID"]
    (path,) = (streams.folder / "packages").iterdir()
    assert path.stem == event["messageBody"]["packageUUID"]


def test_a_new_version_is_a_package_of_its_own(streams: Streams, running: Running) -> None:
    """Nothing that was preserved is replaced."""
    first = streams.create()
    streams.put(first, streams.update(first["messageBody"]["objectUUID"]))
    running.run()
    assert len(list((streams.folder / "packages").iterdir())) == 2


def test_called_by_itself_it_makes_the_package(streams: Streams, shelf: Shelf) -> None:
    """An application of a function that calls it, as the demonstration's, packages and refuses the same."""

    def make(repository: Any, outbox: Any) -> Any:
        downloads = Downloads(streams.folder / "staging", {"https": shelf}, streams.clock)
        inner = PreservationSystem(repository, outbox, downloads, streams.folder / "packages", streams.clock)
        return inner.__call__  # a method, as a function, has no ``prepare``

    streams.put(streams.create([_file(streams)]), streams.create([_file(streams, "0" * 64)]))
    streams.open(make).run()
    assert len(list((streams.folder / "packages").iterdir())) == 1
    assert streams.errors() == ["APPERRMET004"]


def test_a_delete_only_flags_the_package(streams: Streams, running: Running) -> None:
    """The package stays; a delete of what was never preserved is ignored, without an error."""
    message = streams.create()
    delete = streams.about("MetadataDelete", message["messageBody"]["objectUUID"])
    streams.put(message, delete, streams.about("MetadataDelete", new_uuid()))
    running.run()
    assert len(list((streams.folder / "packages").iterdir())) == 1
    with running.repository.transaction() as store:
        (flag,) = store.execute("SELECT deleteRequested FROM packages").fetchone()
    assert flag == delete["messageHeader"]["messageId"]
    assert streams.errors() == []


def test_a_wrong_checksum_rejects_the_message_as_apperrmet004(streams: Streams, running: Running) -> None:
    """No package, no event; the next object is packaged."""
    streams.put(streams.create([_file(streams, "0" * 64)]), streams.create())
    running.run()
    assert streams.errors() == ["APPERRMET004"]
    assert len(streams.on("output")) == 1


def test_a_file_that_cannot_be_had_rejects_the_message_as_generr006(
    streams: Streams, running: Running, shelf: Shelf
) -> None:
    """After ten retries with growing delays the message is in the error queue."""
    shelf.fails = 11
    before = streams.clock.elapsed()
    streams.put(streams.create([_file(streams)]))
    running.run()
    assert streams.errors() == ["GENERR006"]
    assert streams.clock.elapsed() - before > 204


def test_killed_after_packaging_it_makes_no_second_package(
    streams: Streams, running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message comes again, finds its package, and one event is told."""

    class Killed(BaseException):
        pass

    def keep(*_: object, **__: object) -> str:
        raise Killed

    streams.put(streams.create([_file(streams)]))
    with monkeypatch.context() as patched:
        patched.setattr(running.outbox, "keep", keep)
        with pytest.raises(Killed):
            running.run()
    (package,) = (streams.folder / "packages").iterdir()
    again = streams.open(
        lambda repository, outbox: PreservationSystem(
            repository, outbox, Downloads(Path("none"), {}, streams.clock), package.parent, streams.clock
        )
    )
    again.run()
    assert list(package.parent.iterdir()) == [package]
    assert len(streams.on("output")) == 1
