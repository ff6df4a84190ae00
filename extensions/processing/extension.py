"""Asynchronous processing: what it adds to the sandbox."""

from __future__ import annotations

from typing import Final

from rdss_sandbox.extension import Command, Extension, Screen, ScreenAction

EXTENSION: Final = Extension(
    name="processing",
    component="extensions.processing.component:ProcessingComponent",
    settings="extensions.processing.settings:ProcessingSettings",
    later_application="extensions.processing.asynchronous_application:Asynchronous",
    commands=(
        Command(
            "process",
            "extensions.processing.command_line:process",
            "Process messages asynchronously: send, find, restart, cancel.",
        ),
    ),
    screens=(
        Screen(
            "processing",
            "extensions.processing.screen:ProcessingScreen",
            "0",
            "Processing",
            "Asynchronous messages: states, calls and retries in time.",
            short="Proc",
            actions=(
                ScreenAction(
                    "filter", "slash", "Filter", "Only messages like state:FAILED source:CRM text:invoice", 8
                ),
                ScreenAction("all", "escape", "All", "Every message again.", 3),
                ScreenAction(
                    "restart",
                    "r",
                    "Restart",
                    "Process the message again, without the calls that succeeded.",
                    7,
                ),
                ScreenAction("restart_totally", "R", "Restart whole", "The same with all its calls.", 6),
                ScreenAction(
                    "cancel", "delete,backspace", "Cancel", "End the message, if it has not ended.", 7
                ),
            ),
        ),
    ),
)
