"""What is mutated: the files of each area, and the tests that have to notice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class MutatedArea:
    """``files`` are patterns; ``tests`` the fast ones in one process, and what is left out of them."""

    name: str
    files: tuple[str, ...]
    tests: tuple[str, ...]


AREAS: Final = {
    each.name: each
    for each in (
        MutatedArea(
            "journal",
            ("emulator/journal/*.py",),
            (
                "tests/emulator/journal",
                "--deselect=tests/emulator/journal/test_keyed_log.py::test_what_was_appended_survives_kill_9_and_together",
                "--deselect=tests/emulator/journal/test_payloads.py::test_records_of_any_size_are_read_from_any_place_as_before",
                "--ignore=tests/emulator/journal/test_payloads_against_a_model.py",
            ),
        ),
        MutatedArea(
            "faults",
            ("emulator/faults/*.py",),
            (
                "tests/emulator/faults",
                "--ignore=tests/emulator/faults/test_every_fault.py",
                "--ignore=tests/emulator/faults/test_page.py",
                "--deselect=tests/emulator/faults/test_fault_engine.py::test_a_thousand_random_sets_of_faults_do_the_same_twice",
                "--deselect=tests/emulator/faults/test_fault_engine.py::test_random_sets_do_the_same_on_every_kind_of_channel",
            ),
        ),
        MutatedArea(
            "receiver",
            ("sandbox/receiver/*.py",),
            (
                "tests/sandbox/receiver",
                "--ignore=tests/sandbox/receiver/test_killed.py",
                "--ignore=tests/sandbox/receiver/test_any_interleaving.py",
            ),
        ),
        MutatedArea(
            "clauses",
            ("sandbox/certify/clause*.py", "sandbox/certify/*_clauses/*.py"),
            (
                "tests/sandbox/certify/test_clauses.py",
                "tests/sandbox/certify/test_consumer_evidence.py",
                "tests/sandbox/certify/test_producer_evidence.py",
                "tests/sandbox/certify/test_slow_machines.py",
                "tests/sandbox/certify/test_stage_ends.py",
                "tests/sandbox/certify/test_certificate_page.py",
                "--deselect=tests/sandbox/certify/test_clauses.py::test_the_page_is_up_to_date",
            ),
        ),
    )
}
