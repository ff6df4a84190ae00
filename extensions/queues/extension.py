"""Queues with claims: what they add to the sandbox."""

from __future__ import annotations

from typing import Final

from rdss_sandbox.extension import Command, Extension, Port, Screen, ScreenAction

EXTENSION: Final = Extension(
    name="queues",
    component="extensions.queues.component:QueueComponent",
    settings="extensions.queues.settings:QueueSettings",
    ports={"queues": Port(8888, "OpenStack messaging: v1, v1.1, v2")},
    commands=(
        Command(
            "claim",
            "extensions.queues.command_line:claim",
            "Hold messages of a queue for a time: triage the error queue.",
        ),
    ),
    screens=(
        Screen(
            "queues",
            "extensions.queues.screen:QueuesScreen",
            "8",
            "Queues",
            "Queues with claims: who holds which messages, and for how long still.",
            actions=(
                ScreenAction(
                    "release", "r", "Release", "Give up the claim under the cursor in its worker's stead.", 8
                ),
            ),
        ),
    ),
    lessons="extensions.queues.lessons",
    scenarios="extensions.queues.scenarios",
    scenario_workers="extensions.queues.scenario_workers:OUR_WORKERS",
    files=("queues.log", "queue-positions.log"),
    held={
        "queues.log": "the queues with their messages, claims and subscriptions",
        "queue-positions.log": "how far queues that show a stream had read it; they read it again",
    },
)
