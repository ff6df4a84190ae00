"""What an adaptor of the fault engine does not support, and why: all that the suite of faults leaves out."""

from __future__ import annotations

from typing import Final

TOPIC: Final = "topic"
OUTSIDE: Final = "outside system"
GETS: Final = "rabbitmq got through the relay"
PARCELS_SENT: Final = "memory, with parcels"

_NO_DELIVERY: Final = "it is called, and delivers nothing that a fault could strike"
_NO_STATUS: Final = "an acknowledgement has a code and no status, so no outcome is said to be unknown"

UNSUPPORTED: Final[dict[str, dict[str, str]]] = {
    TOPIC: {
        "test_partial_failure_fails_the_chosen_entries_of_a_batch": (
            "each publish is a command with an acknowledgement of its own, and partial_failure is refused"
        ),
        "test_error_fails_a_call_as_told[503]": _NO_STATUS,
        "test_a_call_that_fails_after_it_took_effect_leaves_the_message_there[error]": _NO_STATUS,
        "test_corrupt_damages_the_bytes": (
            "a topic's message is JSON in a JSON frame: damaged, it is refused, or its frame cannot be read"
        ),
        "test_mutate_makes_a_message_bad_in_the_way_of_its_code": (
            "topics carry any JSON, and mutate, which is for RDSS messages, is refused"
        ),
    },
    OUTSIDE: {
        "test_duplicate_on_deliver_is_the_record_again_with_the_same_number": _NO_DELIVERY,
        "test_latency_on_a_read_is_waited_for": _NO_DELIVERY,
        "test_latency_on_a_record_hides_it_and_those_behind_it": _NO_DELIVERY,
        "test_reorder_lets_later_messages_go_first": _NO_DELIVERY,
        "test_reorder_does_not_hold_the_last_message_for_ever": _NO_DELIVERY,
        "test_throttle_on_deliver_only_delays": _NO_DELIVERY,
        "test_error_on_deliver_leaves_the_message_for_the_next_read": _NO_DELIVERY,
        "test_disconnect_on_deliver_brings_the_message_again": _NO_DELIVERY,
        "test_corrupt_damages_the_bytes[deliver]": _NO_DELIVERY,
        "test_partial_failure_fails_the_chosen_entries_of_a_batch": "it is called with one request at a time",
    },
    GETS: {},
    PARCELS_SENT: {
        "test_mutate_makes_a_message_bad_in_the_way_of_its_code": (
            "its codes are RDSS's; test_second_contract.py has those of both"
        ),
        "test_fragments_of_a_sequence_keep_their_bytes": "a parcel comes in one piece",
    },
}
"""By adaptor: the name of a test, or of its case in brackets, and the reason why it is left out there."""
