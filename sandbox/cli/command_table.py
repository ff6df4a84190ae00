"""The table of all commands: name, module and line of help.

The line of help is here so that ``sandbox --help`` imports no command.
"""

from __future__ import annotations

from typing import Final

from rdss_sandbox.extension import Command
from rdss_sandbox.installed_extensions import list_extensions

_OURS: Final = {
    "up": ("environment.up", "Start a sandbox: streams, buckets, faults and the control API."),
    "down": ("environment.down", "Stop the sandbox that was started here."),
    "env": ("environment.env_command", "Print what points clients at the sandbox that was started here."),
    "run": ("environment.run_command", "Run a command with a sandbox of its own, gone afterwards."),
    "status": ("environment.status_command", "Show where the sandbox answers and what it holds."),
    "wait": ("environment.wait", "Wait until something is so: a stream has 10 messages."),
    "events": ("environment.events_command", "Show what happened in the sandbox, and follow it."),
    "logs": ("environment.logs", "Show what happened in the sandbox, or what a container of it wrote."),
    "repair": (
        "environment.repair_command",
        "Make damaged data readable: keep what can be, put the rest aside.",
    ),
    "doctor": ("environment.doctor", "Find what is missing here, Docker or RabbitMQ, and say what to do."),
    "demo": ("verdicts.demo", "Send messages through faults and a reshard, and judge what arrived."),
    "diagnose": ("verdicts.diagnose", "Say what clients do wrong, with the evidence."),
    "readers": ("channels.readers_command", "Show who reads which shard, and what nobody has read."),
    "certify": ("verdicts.certify", "Certify a client: run it under seeded faults, and judge it."),
    "learn": ("verdicts.learn", "Learn to write a client, from broken ones to the certificate."),
    "scenario": ("verdicts.scenario_command", "Play bad days by seed, and judge what comes of them."),
    "replay": ("verdicts.scenario_command", "Play a run again, and compare the facts."),
    "send": ("messages.send", "Send messages from files, or from standard input with -."),
    "receive": ("messages.receive", "Receive messages and print them as they arrive."),
    "application": ("messages.application", "Run a simulated repository or preservation system."),
    "adaptor": ("messages.adaptor_command", "Publish what changes in an application, by a mapping."),
    "files": ("messages.file_server", "Serve files over HTTPS, with faults."),
    "messages": ("messages.messages_command", "List the messages in the streams, filtered."),
    "message": ("messages.message_command", "Validate messages, or make samples of them."),
    "redrive": ("messages.redrive_command", "Send messages of the error or invalid queue again."),
    "contract": ("messages.contract", "Check, show and export contracts as AsyncAPI documents."),
    "fault": ("channels.fault_command", "Add, list and remove faults."),
    "access": (
        "channels.access_command",
        "Limit access keys to streams and operations, and deny them the rest.",
    ),
    "reshard": ("channels.reshard_command", "Split, merge or scale a stream's shards."),
    "clock": ("environment.clock_command", "Show, set, freeze, advance or speed up the sandbox's clock."),
    "prune": ("environment.prune", "Remove old objects of the audit log and old events."),
    "reset": ("environment.reset", "Remove every message and fault and start again."),
    "snapshot": ("environment.snapshot", "Save the state of the whole sandbox, and load it."),
    "pipeline": ("tables.pipeline", "Turn streams and buckets into tables with Spark."),
    "tui": ("environment.tui", "Watch the sandbox in the terminal."),
    "watch": ("environment.watch_command", "Watch the sandbox in a browser, large enough for a class."),
    "image": ("environment.image", "Build the image of the emulator with Docker."),
    "completion": ("shell.completion", "Print the completion script of a shell."),
    "man": ("shell.man_page", "Print the manual page, made from the commands."),
}


def _list_commands() -> list[Command]:
    ours = [Command(name, f"sandbox.cli.{module}:{name}", line) for name, (module, line) in _OURS.items()]
    return [*ours, *(command for extension in list_extensions() for command in extension.commands)]


_EVERY: Final = _list_commands()
COMMANDS: Final = {command.name: command for command in _EVERY if " " not in command.name}


def list_commands_of(group: str) -> list[Command]:
    """The commands that extensions add to one of our groups."""
    return [command for command in _EVERY if command.name.startswith(f"{group} ")]
