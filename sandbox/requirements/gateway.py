"""What the specification demands of the Message Gateway, and of applications without one."""

from __future__ import annotations

from typing import Final

from sandbox.requirements.requirement import Requirement

_SETTINGS: Final = "sandbox/gateway/test_settings.py"
_ADAPTOR: Final = "sandbox/adaptor/test_adaptor.py"
_EVERY_QUEUE: Final = "sandbox/gateway/test_over_every_queue.py"

GATEWAY: Final = (
    Requirement(
        "Message Gateway & Channel Adaptor",
        "such applications MUST still expose",
        "An application without a gateway has an API that the adaptor can ask.",
        ("sandbox/adaptor",),
        (
            f"{_ADAPTOR}::test_new_public_works_are_created",
            f"{_ADAPTOR}::test_every_page_is_read",
        ),
        "A demand on the application: the example has an HTTP API, and nothing in it knows of messages.",
    ),
    Requirement(
        "Message Gateway",
        "The Message Gateway MUST be synchronous",
        "Calls of the gateway return when the broker, or whoever answers, has answered.",
        ("sandbox/gateway/metadata.py", "sandbox/gateway/answers.py"),
        (
            f"{_EVERY_QUEUE}::test_a_created_work_is_published_under_an_object_uuid_of_its_own",
            f"{_EVERY_QUEUE}::test_a_read_gets_the_answer_to_its_own_request",
            "sandbox/gateway/test_metadata.py::test_a_read_gives_up_on_the_clock",
        ),
        "A read that nobody answers ends with its time-out, which the specification leaves out.",
    ),
    Requirement(
        "Message Gateway",
        "Gateway implementations MUST be configurable",
        "The type of queue, the addresses of the channels and the retry interval are settings.",
        ("sandbox/gateway/settings.py", "sandbox/gateway/queues.py"),
        (
            f"{_SETTINGS}::test_the_queue_type_the_channels_and_the_retry_interval_are_settings",
            f"{_EVERY_QUEUE}::test_a_receiver_gets_each_message_once_and_whole",
        ),
    ),
)
