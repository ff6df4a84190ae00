"""``sandbox certify handler``: a verdict on a handler of AWS Lambda."""

from __future__ import annotations

from typing import Any, Final

import click

from extensions.functions.command_line import read_variables
from sandbox.cli.options.contract import load_contract
from sandbox.cli.output.exit_codes import CommandFailedError, Exit
from sandbox.cli.verdicts.trial_options import TrialOptions, trial_options

_PATIENCE_SECONDS: Final = 8.0
_LARGEST_BATCH: Final = 10
"""That of a queue without a batching window; of a stream it is enough for every stage."""


@click.command("handler")
@click.argument("handler", metavar="FILE:FUNCTION")
@click.option(
    "--event-source",
    type=click.Choice(["kinesis", "sqs"]),
    default="kinesis",
    help="Where its events come from.",
)
@click.option(
    "--batch-size",
    type=click.IntRange(1, _LARGEST_BATCH),
    metavar="N",
    default=_LARGEST_BATCH,
    help="The most records of an invocation.",
)
@click.option(
    "--retries", type=click.IntRange(0, 5), metavar="N", default=2, help="Retries until a record is given up."
)
@click.option(
    "--bisect", is_flag=True, help="Split a batch of a stream that fails, to isolate the bad record."
)
@click.option("--report-batch-item-failures", is_flag=True, help="The answer says which records failed.")
@click.option(
    "--timeout", type=click.IntRange(1, 30), metavar="N", default=3, help="Seconds of an invocation."
)
@click.option(
    "--memory", type=click.IntRange(128, 10_240), metavar="N", default=256, help="Megabytes of the process."
)
@click.option(
    "--env", "variables", multiple=True, callback=read_variables, metavar="NAME=VALUE", help="A variable."
)
@trial_options("processed")
def handler_(asked: TrialOptions, /, *, handler: str, event_source: str, **settings: Any) -> int:
    """Certify a handler of AWS Lambda, in Python or JavaScript.

    FUNCTION of FILE gets events from a stream or a queue of a sandbox that is started for it. It has
    SANDBOX_STATE_DIR and the like in its environment, besides Lambda's variables, and prints {"processed":
    "<messageId>"} for each message when it has processed it. Several processes of it may run at a time.
    Exit code 0: every clause passes; 1: one fails; 4: none fails, one was not exercised.
    """
    from extensions.functions.verdict.deployment import QUEUE, STREAM, Deployment
    from extensions.functions.verdict.handler_ways import find_way
    from extensions.functions.verdict.source_messages import explain_unqueued
    from extensions.functions.watched_function import BadHandlerError, read_handler

    queued = event_source == "sqs"
    if queued and settings["bisect"]:
        raise CommandFailedError("--bisect is for a stream: a queue has each message retried", Exit.USAGE)
    try:
        found = read_handler(handler)
    except BadHandlerError as error:
        raise CommandFailedError(str(error), Exit.USAGE) from error
    why = explain_unqueued(load_contract().without_headers) if queued and load_contract().samples else None
    if why:
        raise CommandFailedError(why, Exit.USAGE)
    deployment = Deployment(found, QUEUE if queued else STREAM, **settings)
    return asked.certify(
        "consumer",
        (handler,),
        _PATIENCE_SECONDS,
        channel=deployment.channel,
        options=deployment.options,
        way=find_way(deployment),
    )
