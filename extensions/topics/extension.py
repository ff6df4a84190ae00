"""Topics with a state of the world: what they add to the sandbox."""

from __future__ import annotations

from typing import Final

from rdss_sandbox.extension import Command, Extension, Port, Screen, ScreenAction

EXTENSION: Final = Extension(
    name="topics",
    component="extensions.topics.component:TopicComponent",
    settings="extensions.topics.settings:TopicSettings",
    ports={"topics": Port(9007, "WebSocket at /topics/ws, and HTTP")},
    commands=(
        Command(
            "topic",
            "extensions.topics.command_line:topic",
            "Publish to topics, ask their state of the world, subscribe.",
        ),
    ),
    screens=(
        Screen(
            "topics",
            "extensions.topics.screen:TopicsScreen",
            "9",
            "Topics",
            "Topics: their records, what changes in them, what leaves and why.",
            actions=(
                ScreenAction(
                    "filter", "slash", "Filter", "Only records that match, and what changes among them.", 8
                ),
                ScreenAction("all", "escape", "All", "Every record again.", 3),
            ),
        ),
    ),
    files=("topics",),
    repair="extensions.topics.topics_repair:repair_file",
    held={
        "topics/": "what happened to topics, from entry {first} on",
        "topics/messages/replication/identity.log": (
            "by what name sandboxes downstream know this log; they are sent it from its beginning"
        ),
        "topics/positions.log": "how far the topic objects had read the streams; it reads them again",
    },
)
