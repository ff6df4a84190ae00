"""The table of all commands: name, import path and line of help.

The line of help is here so that ``sandbox --help`` imports no command.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """A command; ``place`` is the ``module:attribute`` of a click command or group."""

    place: str
    help: str


def _row(place: str, line: str) -> Row:
    return Row(f"sandbox.cli.{place}", line)


COMMANDS: dict[str, Row] = {
    "up": _row("environment.up:up", "Start a sandbox: streams, buckets, faults and the control API."),
    "down": _row("environment.down:down", "Stop the sandbox that was started here."),
    "run": _row("environment.run:run", "Run a command with a sandbox of its own, gone afterwards."),
    "status": _row("environment.status:status", "Show where the sandbox answers and what it holds."),
    "wait": _row("environment.wait:wait", "Wait until something is so: a stream has 10 messages."),
    "events": _row("environment.events:events", "Show what happened in the sandbox, and follow it."),
    "logs": _row(
        "environment.logs:logs",
        "Show what happened in the sandbox, or what a container of it wrote.",
    ),
    "repair": _row(
        "environment.repair:repair",
        "Make damaged data readable: keep what can be, put the rest aside.",
    ),
    "doctor": _row(
        "environment.doctor:doctor",
        "Find what is missing here, Docker or RabbitMQ, and say what to do.",
    ),
    "demo": _row(
        "verdicts.demo:demo",
        "Send messages through faults and a reshard, and judge what arrived.",
    ),
    "diagnose": _row("verdicts.diagnose:diagnose", "Say what clients do wrong, with the evidence."),
    "readers": _row("channels.readers:readers", "Show who reads which shard, and what nobody has read."),
    "certify": _row(
        "verdicts.certify:certify", "Certify a client: run it under seeded faults, and judge it."
    ),
    "learn": _row("verdicts.learn:learn", "Learn to write a client, from broken ones to the certificate."),
    "scenario": _row("verdicts.scenario:scenario", "Play bad days by seed, and judge what comes of them."),
    "replay": _row("verdicts.scenario:replay", "Play a run again, and compare the facts."),
    "send": _row("messages.send:send", "Send messages from files, or from standard input with -."),
    "receive": _row("messages.receive:receive", "Receive messages and print them as they arrive."),
    "application": _row(
        "messages.application:application", "Run a simulated repository or preservation system."
    ),
    "adaptor": _row("messages.adaptor:adaptor", "Publish what changes in an application, by a mapping."),
    "files": _row("messages.file_server:files", "Serve files over HTTPS, with faults."),
    "messages": _row("messages.message_list:messages", "List the messages in the streams, filtered."),
    "message": _row("messages.message:message", "Validate messages, or make samples of them."),
    "fault": _row("channels.fault:fault", "Add, list and remove faults."),
    "access": _row(
        "channels.access:access",
        "Limit access keys to streams and operations, and deny them the rest.",
    ),
    "reshard": _row("channels.reshard:reshard", "Split, merge or scale a stream's shards."),
    "claim": Row(
        "extensions.queues.command_line:claim", "Hold messages of a queue for a time: triage the error queue."
    ),
    "topic": Row(
        "extensions.topics.command_line:topic", "Publish to topics, ask their state of the world, subscribe."
    ),
    "process": Row(
        "extensions.processing.command_line:process",
        "Process messages asynchronously: send, find, restart, cancel.",
    ),
    "clock": _row("environment.clock:clock", "Show, set, freeze, advance or speed up the sandbox's clock."),
    "prune": _row("environment.prune:prune", "Remove old objects of the audit log and old events."),
    "reset": _row("environment.reset:reset", "Remove every message and fault and start again."),
    "snapshot": _row("environment.snapshot:snapshot", "Save the state of the whole sandbox, and load it."),
    "pipeline": _row("tables.pipeline:pipeline", "Turn streams and buckets into tables with Spark."),
    "tui": _row("environment.tui:tui", "Watch the sandbox in the terminal."),
    "watch": _row("environment.watch:watch", "Watch the sandbox in a browser, large enough for a class."),
    "image": _row("environment.image:image", "Build the image of the emulator with Docker."),
    "completion": _row("shell.completion:completion", "Print the completion script of a shell."),
    "man": _row("shell.man_page:man", "Print the manual page, made from the commands."),
}
