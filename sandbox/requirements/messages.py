"""What the specification demands of messages and of those who define, number and version them."""

from __future__ import annotations

from typing import Final

from sandbox.requirements.requirement import Requirement

_RECEIVER: Final = "sandbox/receiver/test_receiver.py"
_OVER_EVERY_QUEUE: Final = "sandbox/gateway/test_over_every_queue.py"
_METADATA: Final = "sandbox/gateway/test_metadata.py"

MESSAGES: Final = (
    Requirement(
        "Introduction",
        "All engineers MUST ensure that",
        "Whatever touches the messaging system conforms to the specification.",
        ("schemas/definitions", "schemas/validation.py"),
        (
            "schemas/test_published.py::test_mutations_get_the_published_verdict",
            "sandbox/requirements/test_requirements.py::test_every_demand_of_the_specification_is_here",
        ),
        "This page is the account of it.",
    ),
    Requirement(
        "Versioning",
        "Vendors MUST implement against a release",
        "One release is implemented: 4.0.0.",
        ("schemas/__init__.py",),
        ("schemas/test_published.py::test_examples_get_the_published_verdict",),
    ),
    Requirement(
        "Versioning",
        "SHOULD make a best effort to implement all MINOR",
        "Minor releases and patches are followed.",
        ("schemas/older_versions.py", "sandbox/receiver/receiver.py"),
        (f"{_RECEIVER}::test_a_message_of_3_x_is_given_to_the_application_as_one_of_4_0_0",),
        "4.0.0 is the last release. A message that is valid in it counts, whatever version it claims.",
    ),
    Requirement(
        "Versioning",
        "MAJOR changes however MUST be coordinated",
        "A major release is not met unprepared.",
        ("schemas/older_versions.py", "sandbox/receiver/receiver.py"),
        (f"{_RECEIVER}::test_a_message_of_an_older_version_that_cannot_be_upgraded_is_rejected_by_name",),
        "The 13 releases before 4.0.0 are known: 3.x is upgraded, 1.x and 2.x are rejected by name.",
    ),
    Requirement(
        "Message Structure",
        "Message MUST NOT exceed 1000KB.",
        "A serialised message has at most 1000KB.",
        ("schemas/envelope.py", "schemas/sequence.py"),
        (
            "schemas/test_envelope.py::test_the_limit_is_a_million_bytes",
            "schemas/test_sequence.py::test_joining_gives_the_message_back_byte_for_byte",
        ),
        "1,000,000 bytes of UTF-8, as in the specification's own code; Kinesis would take 1,048,576.",
    ),
    Requirement(
        "UUID",
        "SHOULD defer to language specific SDKs",
        "UUIDs come from an established library.",
        ("emulator/rng.py",),
        ("emulator/test_rng.py::test_a_drawn_uuid_is_a_version_4_uuid_that_the_seed_repeats",),
    ),
    Requirement(
        "UUID",
        "that Message MUST be moved to the Invalid Message Queue",
        "A message with an invalid UUID goes to the Invalid Message Queue as GENERR010.",
        ("schemas/violations.py", "sandbox/receiver/receiver.py"),
        (f"{_RECEIVER}::test_a_bad_message_goes_to_the_queue_of_its_code",),
        "In lower case and of version 1 to 5, as the regular expression has it, though the prose allows any. "
        "Several faults: GENERR007, 004, 010, 002, 003, 001, the first that applies.",
    ),
    Requirement(
        "Timestamp",
        "MUST be provided in RFC3339 format",
        "Timestamps are in the form of RFC 3339.",
        ("schemas/formats.py",),
        ("schemas/test_formats.py::test_corner_cases",),
        "The published schemas name the format and leave it unchecked; here it is checked.",
    ),
    Requirement(
        "Timestamp",
        "MUST contain both the date and time",
        "Timestamps have a date and a time, with seconds.",
        ("schemas/formats.py",),
        ("schemas/test_formats.py::test_corner_cases",),
    ),
    Requirement(
        "Timestamp",
        "this MUST be provided in all instances",
        "Timestamps have a zone.",
        ("schemas/formats.py",),
        ("schemas/test_formats.py::test_corner_cases",),
    ),
    Requirement(
        "Email Address",
        "MUST be provided in RFC5322 Section",
        "Email addresses are in the form of RFC 5322, section 3.4.1.",
        ("schemas/formats.py",),
        ("schemas/test_formats.py::test_corner_cases",),
    ),
    Requirement(
        "Message Header: errorCode",
        "this field MUST be populated",
        "A message in an error queue has an errorCode.",
        ("schemas/decoration.py", "sandbox/receiver/rejects.py"),
        (
            "schemas/test_decoration.py::test_the_header_says_what_was_wrong",
            f"{_RECEIVER}::test_a_bad_message_goes_to_the_queue_of_its_code",
        ),
    ),
    Requirement(
        "Message Header: errorCode",
        "The value MUST be one of",
        "An errorCode is one of the 14.",
        ("schemas/error_codes.py", "schemas/violations.py"),
        (
            "schemas/test_error_codes.py::test_the_codes_are_the_specifications",
            "schemas/test_validation.py::TestBeyondThePublishedFiles::test_knows_all_fourteen_codes",
        ),
        "Refused with GENERR004. With --as-published any text is taken, as the published schemas do.",
    ),
    Requirement(
        "Message Header: errorDescription",
        "applications SHOULD populate",
        "An errorDescription says what was wrong.",
        ("schemas/decoration.py", "schemas/explanation.py"),
        (
            "schemas/test_decoration.py::test_an_empty_description_becomes_the_codes_own",
            "schemas/test_validation.py::test_violations_say_which_value_and_what_was_expected",
        ),
        "Always there: Error Queues says MUST of the same field.",
    ),
    Requirement(
        "Message Body",
        "the correlationId MUST be provided",
        "An answer has a correlationId.",
        ("sandbox/gateway/outbox.py", "sandbox/applications/institutional_repository.py"),
        (
            "sandbox/applications/test_institutional_repository.py::test_a_read_is_answered_with_the_object",
            "sandbox/applications/test_answers.py::test_who_asks_for_what_is_not_there_is_told_so",
        ),
        "Word that there is no answer has one, too.",
    ),
    Requirement(
        "Message Body",
        "MUST match the messageId provided",
        "The correlationId is the messageId of the request.",
        ("sandbox/applications/institutional_repository.py", "sandbox/gateway/answers.py"),
        (
            "sandbox/applications/test_institutional_repository.py::test_a_read_is_answered_with_the_object",
            f"{_OVER_EVERY_QUEUE}::test_a_read_gets_the_answer_to_its_own_request",
        ),
        "The published example of an answer repeats the messageId instead; the prose counts.",
    ),
    Requirement(
        "Digital Object Identification",
        "MUST contain a unique objectUUID",
        "Every object that is published has an objectUUID of its own.",
        ("sandbox/gateway/metadata.py",),
        (f"{_OVER_EVERY_QUEUE}::test_a_created_work_is_published_under_an_object_uuid_of_its_own",),
    ),
    Requirement(
        "Digital Object Identification",
        "MUST NOT be duplicated when publishing",
        "No later version has the objectUUID of an earlier one.",
        ("sandbox/gateway/metadata.py",),
        (f"{_OVER_EVERY_QUEUE}::test_an_update_is_a_new_version_and_whole",),
    ),
    Requirement(
        "Digital Object Versioning",
        "A digital object MUST generate a new version",
        "A change of an object is a new version of it, in a MetadataUpdate.",
        ("sandbox/gateway/metadata.py",),
        (
            f"{_OVER_EVERY_QUEUE}::test_an_update_is_a_new_version_and_whole",
            f"{_METADATA}::test_what_is_published_of_a_change_is_settled_by_who_may_see_it",
        ),
    ),
    Requirement(
        "Digital Object Versioning",
        "the producer MUST utilise the objectRelatedIdentifier",
        "A new version names the one before with isNewVersionOf.",
        ("sandbox/gateway/metadata.py",),
        (f"{_OVER_EVERY_QUEUE}::test_an_update_is_a_new_version_and_whole",),
    ),
)
