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


COMMANDS: dict[str, Row] = {
    "up": Row("sandbox.cli.up:up", "Start a sandbox: streams, buckets, faults and the control API."),
    "down": Row("sandbox.cli.down:down", "Stop the sandbox that was started here."),
    "run": Row("sandbox.cli.run:run", "Run a command with a sandbox of its own, gone afterwards."),
    "status": Row("sandbox.cli.status:status", "Show where the sandbox answers and what it holds."),
    "wait": Row("sandbox.cli.wait:wait", "Wait until something is so: a stream has 10 messages."),
    "events": Row("sandbox.cli.events:events", "Show what happened in the sandbox, and follow it."),
    "logs": Row(
        "sandbox.cli.logs:logs", "Show what happened in the sandbox, or what a container of it wrote."
    ),
    "repair": Row(
        "sandbox.cli.repair:repair", "Make damaged data readable: keep what can be, put the rest aside."
    ),
    "doctor": Row(
        "sandbox.cli.doctor:doctor", "Find what is missing here, Docker or RabbitMQ, and say what to do."
    ),
    "demo": Row(
        "sandbox.cli.demo:demo", "Send messages through faults and a reshard, and judge what arrived."
    ),
    "diagnose": Row("sandbox.cli.diagnose:diagnose", "Say what clients do wrong, with the evidence."),
    "readers": Row("sandbox.cli.readers:readers", "Show who reads which shard, and what nobody has read."),
    "certify": Row(
        "sandbox.cli.certify:certify", "Certify a client: run it under seeded faults, and judge it."
    ),
    "learn": Row("sandbox.cli.learn:learn", "Learn to write a client, from broken ones to the certificate."),
    "scenario": Row("sandbox.cli.scenario:scenario", "Play bad days by seed, and judge what comes of them."),
    "replay": Row("sandbox.cli.scenario:replay", "Play a run again, and compare the facts."),
    "send": Row("sandbox.cli.send:send", "Send messages from files, or from standard input with -."),
    "receive": Row("sandbox.cli.receive:receive", "Receive messages and print them as they arrive."),
    "application": Row(
        "sandbox.cli.application:application", "Run a simulated repository or preservation system."
    ),
    "adaptor": Row("sandbox.cli.adaptor:adaptor", "Publish what changes in an application, by a mapping."),
    "files": Row("sandbox.cli.file_server:files", "Serve files over HTTPS, with faults."),
    "messages": Row("sandbox.cli.messages:messages", "List the messages in the streams, filtered."),
    "message": Row("sandbox.cli.message:message", "Validate messages, or make samples of them."),
    "fault": Row("sandbox.cli.fault:fault", "Add, list and remove faults."),
    "access": Row(
        "sandbox.cli.access:access", "Limit access keys to streams and operations, and deny them the rest."
    ),
    "reshard": Row("sandbox.cli.reshard:reshard", "Split, merge or scale a stream's shards."),
    "claim": Row("sandbox.cli.claim:claim", "Hold messages of a queue for a time: triage the error queue."),
    "topic": Row("sandbox.cli.topic:topic", "Publish to topics, ask their state of the world, subscribe."),
    "process": Row(
        "sandbox.cli.process:process", "Process messages asynchronously: send, find, restart, cancel."
    ),
    "clock": Row("sandbox.cli.clock:clock", "Show, set, freeze, advance or speed up the sandbox's clock."),
    "prune": Row("sandbox.cli.prune:prune", "Remove old objects of the audit log and old events."),
    "reset": Row("sandbox.cli.reset:reset", "Remove every message and fault and start again."),
    "snapshot": Row("sandbox.cli.snapshot:snapshot", "Save the state of the whole sandbox, and load it."),
    "pipeline": Row("sandbox.cli.pipeline:pipeline", "Turn streams and buckets into tables with Spark."),
    "tui": Row("sandbox.cli.tui:tui", "Watch the sandbox in the terminal."),
    "watch": Row("sandbox.cli.watch:watch", "Watch the sandbox in a browser, large enough for a class."),
    "image": Row("sandbox.cli.image:image", "Build the image of the emulator with Docker."),
    "completion": Row("sandbox.cli.completion:completion", "Print the completion script of a shell."),
    "man": Row("sandbox.cli.man_page:man", "Print the manual page, made from the commands."),
}
