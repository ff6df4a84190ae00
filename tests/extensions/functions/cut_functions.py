"""The functions, with a workload that is cut."""

from __future__ import annotations

from pathlib import Path

from emulator.journal import DamagedLogError
from emulator.rng import Draws
from extensions.functions.engine.function import Function, Place, Version
from extensions.functions.engine.function_code import zip_files
from extensions.functions.engine.functions import Functions
from tests.power.cut_runs import Found
from tests.power.journal_stores import opened
from tests.power.recorded_disk import RecordedDisk


class FunctionLog:
    """Functions with their code, changed and removed."""

    name = "functions"

    def work(self, disk: RecordedDisk, chance: Draws, *, fsync: bool) -> None:
        with opened(disk.folder, fsync=fsync):
            functions = Functions(disk.folder / "functions.log", fsync=fsync)
            for number in range(24):
                place = Place("0", "r", f"f{chance.randrange(4)}")
                if functions.find(place) and chance.random() < 0.3:
                    with disk.asking({place.name: None}):
                        functions.remove(place)
                    continue
                archive = zip_files({"h.py": chance.randbytes(3000)})
                version = Version(
                    runtime="p",
                    handler=f"{number}",
                    role="r",
                    code=functions.code.keep(archive),
                    modified=0.0,
                    revision="",
                )
                with disk.asking({place.name: archive}):
                    functions.store(Function(account="0", region="r", name=place.name, latest=version))

    def read(self, folder: Path, *, fsync: bool) -> Found:
        told: list[str] = []
        try:
            with opened(folder, fsync=fsync, told=told):
                functions = Functions(folder / "functions.log", fsync=fsync)
                if functions.torn_bytes:
                    told.append("functions.log")
                found = {}
                for place in functions.places():
                    version = functions.resolve(place, "")[1]
                    found[place.name] = bytes(functions.code.archive_of(version.code.digest))
        except DamagedLogError as error:
            return Found({}, told, str(error))
        return Found(found, told)


STORE = FunctionLog()
