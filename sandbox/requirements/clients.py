"""What the specification demands of clients: sequences, error queues, transactions, retries, the gateway."""

from __future__ import annotations

from typing import Final

from sandbox.requirements.requirement import Requirement

_INSTITUTIONAL_REPOSITORY: Final = "sandbox/applications/test_institutional_repository.py"
_PRESERVATION_SYSTEM: Final = "sandbox/applications/test_preservation_system.py"
_ARCHIVES: Final = "emulator/test_archives.py"
_SHARDS: Final = "emulator/channels/test_shards.py"
_EVERY_QUEUE: Final = "sandbox/gateway/test_over_every_queue.py"
_GATEWAY: Final = "sandbox/gateway/test_gateway.py"
_KILLED: Final = "sandbox/receiver/test_killed.py"
_RECEIVER: Final = "sandbox/receiver/test_receiver.py"
_DEMO: Final = "sandbox/demo/test_demonstration.py::test_every_line_holds_and_the_same_seed_says_the_same"

CLIENTS: Final = (
    Requirement(
        "Multi-Message Sequence",
        "producers MUST support Message sequences",
        "Larger messages go out, and are taken in, as sequences.",
        ("schemas/sequence.py", "sandbox/gateway/gateway.py", "sandbox/receiver/receiver.py"),
        (
            f"{_GATEWAY}::test_a_large_message_goes_out_as_a_sequence",
            f"{_RECEIVER}::test_parts_are_joined_in_any_order_across_shards_and_restarts",
        ),
        "The body's JSON text is cut between code points and measured in bytes of the final message; the "
        "specification's own code makes text that is no JSON and parts that are too large.",
    ),
    Requirement(
        "Multi-Message Sequence",
        "they MUST inspect the messageSequence",
        "A consumer looks whether a message is one of several.",
        ("sandbox/receiver/receiver.py",),
        (
            f"{_RECEIVER}::test_parts_are_joined_in_any_order_across_shards_and_restarts",
            "schemas/test_validation.py::TestParts::test_a_part_is_judged_by_its_header_alone",
            f"{_RECEIVER}::test_parts_that_share_a_message_id_are_joined_and_counted",
        ),
        "A part is judged by its header, since no published schema takes one; the joined message whole. "
        "Parts that share a messageId, as the specification's own code makes them, are known by position.",
    ),
    Requirement(
        "Multi-Message Sequence",
        "the consumer MUST wait for all",
        "Nothing of a sequence is processed before all of it is there.",
        ("sandbox/receiver/receiver.py",),
        (
            "sandbox/receiver/test_any_interleaving.py::test_exactly_once_whatever_happens",
            f"{_RECEIVER}::test_parts_whose_others_never_come_are_given_up_in_time",
        ),
        "Not for ever: parts whose others do not come within a day are rejected as GENERR001.",
    ),
    Requirement(
        "Error Queues",
        "MUST contain the errorCode and errorDescription",
        "Both fields are in every message of both queues.",
        ("schemas/decoration.py", "sandbox/receiver/rejects.py"),
        (
            f"{_RECEIVER}::test_a_bad_message_goes_to_the_queue_of_its_code",
            f"{_RECEIVER}::test_malformed_bytes_are_kept_in_the_invalid_queue",
        ),
        "Bytes that have no readable header get one that says that it was made up; the bytes are its body.",
    ),
    Requirement(
        "Error Message Queue",
        "SHOULD move the erroneous Message",
        "Failures of the infrastructure, and messages that are too large, go to the Error Message Queue.",
        ("schemas/error_codes.py", "sandbox/receiver/receiver.py", "sandbox/receiver/originals.py"),
        (
            f"{_RECEIVER}::test_an_oversize_message_is_kept_whole_in_the_error_bucket",
            f"{_RECEIVER}::test_a_failing_store_is_a_failure_of_the_underlying_system",
        ),
        "No queue can hold a message that is too large: the bucket keeps it whole, and the message in the "
        "queue (GENERR006) says where. What has expired (GENERR003) goes here as well; no queue is named.",
    ),
    Requirement(
        "Invalid Message Queue",
        "SHOULD move the invalid Message",
        "Messages that are malformed, or lack a mandatory field, go to the Invalid Message Queue.",
        ("schemas/validation.py", "sandbox/receiver/receiver.py"),
        (
            f"{_RECEIVER}::test_malformed_bytes_are_kept_in_the_invalid_queue",
            f"{_EVERY_QUEUE}::test_a_receiver_gets_each_message_once_and_whole",
        ),
    ),
    Requirement(
        "General Error Codes",
        "error codes that MUST be utilised when a Message is moved",
        "The codes of the tables are used, in the queues and in the log.",
        ("schemas/error_codes.py", "sandbox/demo/failure_cases.py"),
        (
            "schemas/test_error_codes.py::test_each_code_has_a_description_and_a_queue",
            _DEMO,
        ),
    ),
    Requirement(
        "Application Error Codes",
        "error codes that MUST be utilised when an application",
        "Applications use the codes APPERRMET001 to 004.",
        ("sandbox/applications", "sandbox/download"),
        (
            f"{_INSTITUTIONAL_REPOSITORY}::test_an_unknown_object_has_its_error_code",
            f"{_PRESERVATION_SYSTEM}::test_a_wrong_checksum_rejects_the_message_as_apperrmet004",
            _DEMO,
        ),
    ),
    Requirement(
        "Audit Log",
        "Messages MUST be in serialised JSON",
        "What the audit log holds is JSON.",
        ("emulator/archive/audit_tap.py", "rdss_sandbox/record_lines.py"),
        (
            f"{_ARCHIVES}::test_json_stands_in_its_line_as_it_was_written",
            f"{_ARCHIVES}::test_every_byte_of_a_message_can_be_had_back_from_its_line",
        ),
        "What was dispatched and is no JSON is logged too, as text or base64 within JSON: every message "
        "dispatched is routed there.",
    ),
    Requirement(
        "Audit Log",
        "and MUST NOT exceed 1000KB.",
        "Messages within the limit are in the audit log once and whole.",
        ("emulator/archive/audit_tap.py",),
        (
            f"{_ARCHIVES}::test_every_message_of_every_tapped_stream_is_in_the_audit_bucket_once",
            f"{_ARCHIVES}::test_a_message_as_large_as_a_stream_takes_is_audited",
        ),
        "A producer here sends none above the limit; what others send, and the stream takes, is audited.",
    ),
    Requirement(
        "Transactional Behaviour",
        "All clients MUST implement transactional",
        "Sending and receiving are transactional.",
        ("sandbox/repository.py", "sandbox/gateway/gateway.py", "sandbox/receiver/receiver.py"),
        (
            f"{_KILLED}::test_a_receiver_killed_at_any_read_or_write_loses_and_repeats_nothing",
            "sandbox/test_repository.py::test_what_fails_leaves_nothing_behind",
        ),
    ),
    Requirement(
        "Receiving",
        "all Shards in the Stream MUST be queried",
        "Every shard is read, parents before children.",
        ("emulator/channels/shards.py", "sandbox/gateway/answers.py"),
        (
            f"{_SHARDS}::test_everything_comes_in_order_and_nothing_that_was_committed_comes_again",
            f"{_EVERY_QUEUE}::test_an_answer_is_found_on_a_shard_that_came_while_waiting",
        ),
    ),
    Requirement(
        "Receiving",
        "a client MUST keep track of all Shards",
        "The shards are kept track of, also while they split and merge.",
        ("emulator/channels/shards.py",),
        (f"{_SHARDS}::test_everything_comes_in_order_and_nothing_that_was_committed_comes_again",),
    ),
    Requirement(
        "Receiving",
        "and MUST keep track of the Sequence ID",
        "The last processed sequence number of each shard is kept.",
        ("sandbox/repository.py", "sandbox/receiver/receiver.py"),
        (
            f"{_RECEIVER}::test_nothing_is_read_again_after_a_restart",
            f"{_KILLED}::test_a_receiver_ended_by_kill_9_loses_and_repeats_nothing",
        ),
    ),
    Requirement(
        "Receiving",
        "the behaviour that clients SHOULD adopt when consuming",
        "Consuming goes on behind the last record that was processed.",
        ("sandbox/receiver/receiver.py",),
        (f"{_EVERY_QUEUE}::test_a_receiver_that_is_stopped_goes_on_where_it_was",),
        "The behaviour, not the code: as printed it never leaves the first shard and ends at a reshard.",
    ),
    Requirement(
        "Receiving",
        "MUST be written to a Local Data Repository",
        "Every message that is received is in the Local Data Repository.",
        ("sandbox/repository.py",),
        ("sandbox/test_repository.py::test_it_is_all_there_when_it_is_opened_again",),
    ),
    Requirement(
        "Receiving",
        "which MUST be referenced when deciding",
        "The Local Data Repository decides whether a message is processed.",
        ("sandbox/receiver/receiver.py",),
        (
            f"{_RECEIVER}::test_a_message_is_processed_once_however_often_it_comes",
            f"{_RECEIVER}::test_a_message_repaired_under_its_id_is_processed",
        ),
        "A message that was rejected does not count as processed: it may be repaired under its messageId.",
    ),
    Requirement(
        "Sending",
        "a sender MUST NOT consider a Message as sent",
        "A message is sent when the broker has said so.",
        ("sandbox/gateway/gateway.py", "emulator/channels/channel.py"),
        (
            f"{_GATEWAY}::test_a_message_is_sent_once_the_broker_has_answered",
            f"{_GATEWAY}::test_no_answer_is_tried_again_with_the_delays_of_the_specification",
        ),
        "No answer is no yes and no no: the message is sent again, and its receiver drops the duplicate.",
    ),
    Requirement(
        "Sending",
        "a Message sent by a client MUST be saved",
        "A message is TO_SEND in the Local Data Repository before it is sent.",
        ("sandbox/repository.py", "sandbox/gateway/gateway.py"),
        (f"{_GATEWAY}::test_a_message_is_sent_once_the_broker_has_answered",),
        "The sequence diagrams log it after the answer; the prose counts.",
    ),
    Requirement(
        "Sending",
        "this MUST be changed to SENT",
        "A message is SENT after the broker's answer.",
        ("sandbox/repository.py", "sandbox/gateway/gateway.py"),
        (f"{_GATEWAY}::test_a_message_is_sent_once_the_broker_has_answered",),
    ),
    Requirement(
        "Local Data Repository",
        "clients MUST maintain a local data repository",
        "There is a Local Data Repository, and by it one's own messages are dropped too.",
        ("sandbox/repository.py",),
        (
            f"{_EVERY_QUEUE}::test_an_application_drops_its_own_messages",
            "sandbox/test_repository.py::test_it_is_all_there_when_it_is_opened_again",
        ),
    ),
    Requirement(
        "Network Failure Behaviour",
        "the client SHOULD attempt to resend",
        "What could not be sent is sent again.",
        ("sandbox/gateway/gateway.py",),
        (f"{_GATEWAY}::test_no_answer_is_tried_again_with_the_delays_of_the_specification",),
    ),
    Requirement(
        "Network Failure Behaviour",
        "they MUST employ an exponential backoff",
        "Retries have growing delays.",
        ("sandbox/gateway/gateway.py",),
        (f"{_GATEWAY}::test_no_answer_is_tried_again_with_the_delays_of_the_specification",),
    ),
    Requirement(
        "Network Failure Behaviour",
        "algorithm that SHOULD be adopted",
        "Ten retries, with delays of 2^n x 100 ms before each.",
        ("sandbox/gateway/gateway.py",),
        (
            f"{_GATEWAY}::test_the_waits_are_those_of_the_specification",
            f"{_GATEWAY}::test_after_ten_retries_the_error_is_generr005_and_the_message_is_kept",
        ),
        "The code as printed computes the delay and never waits.",
    ),
    Requirement(
        "Network Failure Behaviour",
        "clients MUST write a log entry",
        "When the retries are over, the log says so with the code.",
        ("sandbox/gateway/gateway.py",),
        (f"{_GATEWAY}::test_after_ten_retries_the_error_is_generr005_and_the_message_is_kept",),
        "GENERR005, as the table has it: GENERR010, in the prose, is an invalid UUID since 1.3.0.",
    ),
)
