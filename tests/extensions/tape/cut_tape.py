"""A tape, which is promised once it is closed, with a workload that is cut."""

from __future__ import annotations

from pathlib import Path

from emulator.rng import Draws
from extensions.tape.tape_format import FORMAT
from extensions.tape.tape_reader import BadTapeError, TapeFile
from extensions.tape.tape_writer import TapeWriter
from rdss_sandbox.shapes.tape import TapedMessage, TapeMark
from tests.power.cut_runs import Found
from tests.power.journal_stores import NOW
from tests.power.recorded_disk import RecordedDisk


class Tapes:
    """A tape that is flushed now and then, and closed."""

    name = "tapes"

    def work(self, disk: RecordedDisk, chance: Draws, *, fsync: bool) -> None:
        del fsync  # It is a file of a person's, and on the disk in any case once it is closed.
        bodies = {
            f"message {number}": b"%d|" % number + chance.randbytes(chance.choice((20, 9000)))
            for number in range(24)
        }
        disk.let(bodies)
        with disk.asking():
            tape = TapeWriter(disk.folder / "t.tape", TapeMark(FORMAT, "0", NOW, "a test"))
            with disk.asking(bodies):
                for number, body in enumerate(bodies.values()):
                    tape.add(TapedMessage(NOW + number, "input", body, len(body)))
                    if not number % 3:
                        tape.flush()
                tape.close()

    def read(self, folder: Path, *, fsync: bool) -> Found:
        del fsync
        try:
            tape = TapeFile.open(folder / "t.tape")
            read = [each.body for each in tape.read() if isinstance(each, TapedMessage) and each.body]
        except BadTapeError as error:
            return Found({}, [str(error)])
        return Found({f"message {data.split(b'|')[0].decode()}": data for data in read}, tape.troubles)


STORE = Tapes()
