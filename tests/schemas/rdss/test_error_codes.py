"""The 14 error codes and their queues."""

from __future__ import annotations

from schemas.rdss.error_codes import ErrorCode, Queue


def test_the_codes_are_the_specifications() -> None:
    """Ten general codes and four of the metadata application, spelt as the header carries them."""
    general = [f"GENERR{number:03}" for number in range(1, 11)]
    metadata = [f"APPERRMET{number:03}" for number in range(1, 5)]
    assert [str(code) for code in ErrorCode] == general + metadata
    assert ErrorCode("GENERR010") is ErrorCode.GENERR010


def test_each_code_has_a_description_and_a_queue() -> None:
    """What expired, was too large or met a failure goes to the error queue, the rest to the invalid one."""
    assert all(code.description.endswith(".") for code in ErrorCode)
    error = {code for code in ErrorCode if code.queue is Queue.ERROR}
    assert error == {f"GENERR{number:03}" for number in (3, 5, 6, 8, 9)}
